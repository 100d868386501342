package voting

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// The ballot tree of a large poll grows with several queries, also at the same time, and then proves
// ballots. One of the voters got a modifier before the votes, so that records and numbers differ in order.
func TestBallotsGrow(t *testing.T) {
	const voters = ballotsPerQuery + 600
	w, ctx := newListWorld(t), t.Context()
	w.must(w.configure(Config{}))
	w.must(w.polls.Modify(ctx, listedPoll, "v400", 2))
	votes := make([]Submission, voters)
	for i := range votes {
		votes[i] = Submission{Voter: Voter{OpaqueID: fmt.Sprint("v", i)}, Value: int64(i % 5), Count: 1}
	}
	var places []*Listed
	for some := range slices.Chunk(votes, 1000) {
		verdicts, err := w.polls.VoteAll(ctx, listedPoll, some, false, nil)
		w.must(err)
		places = append(places, verdicts.Listed...)
	}
	w.must(w.configure(Config{Schedule: contract.Schedule{EndsAt: time.Now().Unix() - 1}}))
	w.must(w.polls.CloseList(ctx, listedPoll))

	w.wantGrowth(listQuery{}, false, false)
	w.wantGrowth(listQuery{Ballots: true}, true, false)
	w.wantGrowth(listQuery{}, true, false)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if l, err := w.polls.ReadResult(ctx, listedPoll); err != nil || l.Ballots == nil || l.Growing {
				t.Errorf("%+v, %v", l, err)
			}
		})
	}
	group.Wait()
	w.wantGrowth(listQuery{}, false, true)
	l, _ := w.check()

	for _, i := range []int{0, 1, 400, ballotsPerQuery, voters - 1} {
		proof, err := w.polls.ListBallot(ctx, listedPoll, places[i].Voter)
		w.must(err)
		ballot, err := verifiable.CheckBallotProof(proof, places[i].Voter, l.Ballots.N, l.Ballots.Hash, *l.Sums)
		weight := uint64(1)
		if i == 400 {
			weight = 3
		}
		if err != nil || ballot.Choices[0].Value != int16(i%5) || ballot.Weight != weight {
			t.Errorf("voter %d: %+v, %v", i, ballot, err)
		}
	}
	if _, err := w.polls.ListBallot(ctx, listedPoll, 1); fault.KindOf(err) != fault.NotFound || !errors.Is(err, errNoEntries) {
		t.Errorf("a number without a ballot: %v", err)
	}
	w.restart()
	w.wantGrowth(listQuery{}, false, false)
	if proof, err := w.polls.ListBallot(ctx, listedPoll, places[9].Voter); err != nil || len(proof) == 0 {
		t.Errorf("after a restart: %v", err)
	}
}

func (w *listWorld) wantGrowth(query listQuery, growing, grown bool) {
	w.t.Helper()
	l, err := w.polls.readList(w.t.Context(), listedPoll, query)
	w.must(err)
	if !l.Final || l.Growing != growing || (l.Ballots != nil) != grown {
		w.t.Errorf("final %v, growing %v, grown %v; want growing %v, grown %v", l.Final, l.Growing, l.Ballots != nil, growing, grown)
	}
}
