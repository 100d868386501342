package voting_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// Votes that are submitted together are decided as one after the other would be, and stored
// in one chunk.
func TestVotesTogetherAreThoseOneByOne(t *testing.T) {
	for seed := range uint64(20) {
		ctx, random := t.Context(), rand.New(rand.NewPCG(seed, 1))
		together, alone := storetest.NewMemory(), storetest.NewMemory()
		batched, single := serviceOver(t, together), serviceOver(t, alone)
		config := voting.Config{DistinctOptionsPerUser: 2, TotalVotesPerUser: 1 + random.Int64N(4), VotesPerOption: 2, UserIDVoting: seed%3 == 0}
		for _, s := range []*voting.Service{batched, single} {
			if err := s.Configure(ctx, forwardedPoll, config); err != nil {
				t.Fatal(err)
			}
		}
		votes := make([]voting.Submission, 1+random.IntN(60))
		want := make([]error, len(votes))
		for i := range votes {
			votes[i] = voting.Submission{
				Voter: voting.Voter{OpaqueID: fmt.Sprint("U", random.IntN(9)), UserID: []string{"", "1", "2"}[random.IntN(3)]},
				Value: random.Int64N(4)*50 - 10, Count: random.Int64N(4),
			}
			_, want[i] = single.Vote(ctx, forwardedPoll, votes[i].Voter, votes[i].Value, votes[i].Count)
		}
		before := chunksIn(t, together)
		got, err := batched.VoteAll(ctx, forwardedPoll, votes, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range votes {
			if fmt.Sprint(got.Refusals[i]) != fmt.Sprint(want[i]) {
				t.Errorf("seed %d: vote %d is answered %v, alone %v", seed, i, got.Refusals[i], want[i])
			}
		}
		tally, err := single.Tally(ctx, forwardedPoll, voting.Voter{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(withoutTimes(tally.Statistics), withoutTimes(got.After)); diff != "" {
			t.Errorf("seed %d: statistics (-alone +together):\n%s", seed, diff)
		}
		if n := chunksIn(t, together) - before; n > 1 {
			t.Errorf("seed %d: %d chunks, want 1", seed, n)
		}
	}
}

// withoutTimes returns what a vote changes but for the times of decay.
func withoutTimes(s *voting.Statistics) []any { return []any{s.Mean(), s.Stddev(), s.Empty()} }

func chunksIn(t *testing.T, store stream.Store) (n int) {
	t.Helper()
	for _, err := range store.Chunks(t.Context(), forwardedPoll.Stream(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// Votes of an unknown poll store nothing where it must exist.
func TestVotesTogetherOfAnUnknownPoll(t *testing.T) {
	store := storetest.NewMemory()
	votes := []voting.Submission{{Voter: voting.Voter{OpaqueID: "U1"}, Value: 200, Count: 1}, {Voter: voting.Voter{OpaqueID: "U2"}, Count: 1}}
	verdicts, err := serviceOver(t, store).VoteAll(t.Context(), forwardedPoll, votes, true, nil)
	got := verdicts.Refusals
	if err != nil || fault.KindOf(got[0]) != fault.Invalid || fault.KindOf(got[1]) != fault.NotFound || chunksIn(t, store) > 0 {
		t.Errorf("answered %v, %v, with %d chunks", got, err, chunksIn(t, store))
	}
}

// Forwarded votes are answered one by one and count once, though answers are lost.
func TestVotesTogetherWhoseAnswerIsLostCountOnce(t *testing.T) {
	ctx, store := t.Context(), storetest.NewMemory()
	away, o := passing(t, store, func(n int) bool { return n%2 == 0 })
	if err := away.Configure(ctx, forwardedPoll, voting.Config{DistinctOptionsPerUser: 1, TotalVotesPerUser: 2, VotesPerOption: 2}); err != nil {
		t.Fatal(err)
	}
	want := 0
	for round := range 6 {
		votes := make([]voting.Submission, 300)
		for i := range votes {
			votes[i] = voting.Submission{Voter: voting.Voter{OpaqueID: fmt.Sprint("U", i%100)}, Value: 1, Count: 1}
		}
		votes[7].Voter.OpaqueID = fmt.Sprint("late", round)
		verdicts, err := away.VoteAll(ctx, forwardedPoll, votes, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, refusal := range verdicts.Refusals {
			if refusal == nil {
				want++
			} else if fault.KindOf(refusal) != fault.Invalid {
				t.Errorf("refused with %v", refusal)
			}
		}
	}
	if len(o.late) == 0 {
		t.Fatal("no answer was lost")
	}
	records := 0
	for _, err := range o.service.Log(ctx, forwardedPoll, voting.Cursor{}) {
		if err != nil {
			t.Fatal(err)
		}
		records++
	}
	if records != want || want != 206 {
		t.Errorf("the log has %d votes, %d were accepted, want 206", records, want)
	}
}
