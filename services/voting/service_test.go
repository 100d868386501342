package voting

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// serve runs a test against a service in a bubble, where time is the test's.
func serve(t *testing.T, test func(t *testing.T, s *Service)) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, storetest.NewMemory(), stream.Options{})
		test(t, s)
	})
}

func open(t *testing.T, store stream.Store, options stream.Options) *Service {
	s := NewService(store, stream.SystemClock(), options)
	t.Cleanup(func() { shut(t, s) })
	return s
}

func shut(t *testing.T, s *Service) {
	t.Helper()
	if err := s.Close(t.Context()); err != nil && t.Context().Err() == nil {
		t.Errorf("close: %v", err)
	}
}

var local = Poll{Environment: "production", Extension: "ext", Channel: "c1", ID: "default"}

func mustVote(t *testing.T, s *Service, p Poll, v Voter, value, count int64) answer {
	t.Helper()
	tally, err := s.Vote(t.Context(), p, v, value, count)
	if err != nil {
		t.Fatalf("vote: %v", err)
	}
	return read(t, tally)
}

func mustTally(t *testing.T, s *Service, p Poll, v Voter) answer {
	t.Helper()
	tally, err := s.Tally(t.Context(), p, v)
	if err != nil {
		t.Fatalf("tally: %v", err)
	}
	return read(t, tally)
}

func wantFigures(t *testing.T, got answer, want figures) {
	t.Helper()
	if diff := cmp.Diff(want, got.figures()); diff != "" {
		t.Errorf("statistics (-want +got):\n%s", diff)
	}
}

func TestVoteAnswersWithItself(t *testing.T) {
	serve(t, func(t *testing.T, s *Service) {
		got := mustVote(t, s, local, ann, 5, 1)
		want := figures{Count: "1", Sum: "5", Specific: map[int]string{5: "1"}, Vote: "5"}
		wantFigures(t, got, want)
		wantFigures(t, mustTally(t, s, local, ann), want)
		if now := time.Now().UnixMilli(); got.Decay.LastNudged != now {
			t.Errorf("last_nudged is %d, want %d", got.Decay.LastNudged, now)
		}
		if _, err := s.Vote(t.Context(), local, ann, 129, 1); !errors.Is(err, errValueOutOfBounds) {
			t.Errorf("a value out of bounds gives %v", err)
		}
	})
}

// TestSection21Scope checks which requests share a poll.
func TestSection21Scope(t *testing.T) {
	at := func(environment, extension, channel, id string) Poll {
		return Poll{environment, extension, channel, id}
	}
	tests := map[string]struct {
		a, b   Poll
		shared bool
	}{
		"the same":                    {at("p", "e", "c", "i"), at("p", "e", "c", "i"), true},
		"another id":                  {at("p", "e", "c", "i"), at("p", "e", "c", "j"), false},
		"another channel":             {at("p", "e", "c", "i"), at("p", "e", "d", "i"), false},
		"another channel, global":     {at("p", "e", "c", "globali"), at("p", "e", "d", "globali"), true},
		"another id, global":          {at("p", "e", "c", "global"), at("p", "e", "c", "globali"), false},
		"another extension, global":   {at("p", "e", "c", "global"), at("p", "f", "c", "global"), false},
		"another environment":         {at("p", "e", "c", "i"), at("s", "e", "c", "i"), false},
		"another environment, global": {at("p", "e", "c", "global"), at("s", "e", "c", "global"), false},
		"a channel called global":     {at("p", "e", "", "global"), at("p", "e", "global", ""), false},
		"slashes":                     {at("p", "e", "a/b", "i"), at("p", "e", "a", "b/i"), false},
		"Global":                      {at("p", "e", "c", "Global"), at("p", "e", "d", "Global"), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			serve(t, func(t *testing.T, s *Service) {
				mustVote(t, s, test.a, ann, 5, 1)
				if got := mustTally(t, s, test.b, ann).Count.String() == "1"; got != test.shared {
					t.Errorf("shared is %v, want %v", got, test.shared)
				}
			})
		})
	}
}

func TestSection41Config(t *testing.T) {
	serve(t, func(t *testing.T, s *Service) {
		wantConfig := func(when string, wantSaved bool, want contract.Status) {
			t.Helper()
			config, status, saved, err := s.Config(t.Context(), local)
			if err != nil || saved != wantSaved || saved && (status != want || config.TotalVotesPerUser != 7) {
				t.Errorf("%s: %+v, %s, %v, %v, want %v, %s", when, config, status, saved, err, wantSaved, want)
			}
		}
		wantConfig("before", false, "")
		mustVote(t, s, local, ann, 5, 1)
		wantConfig("after a vote alone", false, "")
		now := time.Now().Unix()
		config := Config{DistinctOptionsPerUser: 1, TotalVotesPerUser: 7, VotesPerOption: 7, Schedule: contract.Schedule{StartsAt: now + 5, EndsAt: now + 9}}
		if err := s.Configure(t.Context(), local, config); err != nil {
			t.Fatal(err)
		}
		wantConfig("saved", true, contract.Pending)
		time.Sleep(5 * time.Second) //nolint:forbidigo // time is fake in the bubble
		wantConfig("at the start", true, contract.Active)
		time.Sleep(4 * time.Second) //nolint:forbidigo // time is fake in the bubble
		wantConfig("at the end", true, contract.Expired)
		if _, err := s.Vote(t.Context(), local, ann, 5, 1); !errors.Is(err, errPollClosed) {
			t.Errorf("a vote after the end gives %v", err)
		}
		if err := s.Reset(t.Context(), local); err != nil {
			t.Fatal(err)
		}
		wantConfig("after DELETE", false, "")
		config.VotesPerOption = 0
		if err := s.Configure(t.Context(), local, config); fault.KindOf(err) != fault.Invalid {
			t.Errorf("no votes for an option gives %v", err)
		}
	})
}

func TestModifyAndReset(t *testing.T) {
	serve(t, func(t *testing.T, s *Service) {
		mustVote(t, s, local, ann, 5, 1)
		if err := s.Modify(t.Context(), local, "Uann", 2); err != nil {
			t.Fatal(err)
		}
		wantFigures(t, mustTally(t, s, local, bob), figures{Count: "3", Sum: "15", Specific: map[int]string{5: "3"}})
		if err := s.Reset(t.Context(), local); err != nil {
			t.Fatal(err)
		}
		wantFigures(t, mustTally(t, s, local, ann), figures{Count: "0", Sum: "0"})
	})
}

// TestRestartKeepsEverything: from the log, and from a snapshot with a tail.
func TestRestartKeepsEverything(t *testing.T) {
	for name, options := range map[string]stream.Options{
		"log": {SnapshotTail: 1 << 30}, "snapshot": {SnapshotTail: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := storetest.NewMemory()
				s := open(t, store, options)
				if err := s.Configure(t.Context(), local, limits(9, 9, 9).config); err != nil {
					t.Fatal(err)
				}
				for i := range int64(200) {
					mustVote(t, s, local, Voter{OpaqueID: fmt.Sprint("U", i%50)}, i%40-5, 1+i%2)
				}
				if err := s.Modify(t.Context(), local, "U7", -1); err != nil {
					t.Fatal(err)
				}
				voter := Voter{OpaqueID: "U7"}
				want := mustTally(t, s, local, voter)
				shut(t, s)

				again := open(t, store, options)
				if diff := cmp.Diff(want, mustTally(t, again, local, voter)); diff != "" {
					t.Errorf("after a restart (-before +after):\n%s", diff)
				}
				_, found, err := store.LoadSnapshot(t.Context(), local.Stream())
				if err != nil || found != (name == "snapshot") {
					t.Errorf("snapshot found: %v, %v", found, err)
				}
			})
		})
	}
}

// TestConcurrentVotesAreExact: the limit holds, and no vote is lost, for any number of
// voters at once through two services over one store.
func TestConcurrentVotesAreExact(t *testing.T) {
	const voters, total, attempts = 12, 5, 8
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory()
		services := []*Service{open(t, store, stream.Options{}), open(t, store, stream.Options{})}
		if err := services[0].Configure(t.Context(), local, limits(9, total, 9).config); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		accepted := map[string]int{}
		var all sync.WaitGroup
		for i := range voters * attempts {
			all.Go(func() {
				v := Voter{OpaqueID: fmt.Sprint("U", i%voters)}
				_, err := services[i/voters%2].Vote(t.Context(), local, v, 1, 1)
				if err != nil && !errors.Is(err, errUnacceptable) {
					t.Errorf("vote: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					accepted[v.OpaqueID]++
				}
			})
		}
		all.Wait()
		for id, n := range accepted {
			if n != total {
				t.Errorf("%s had %d votes accepted, want %d", id, n, total)
			}
		}
		for _, s := range services {
			if got := mustTally(t, s, local, ann).Count.String(); got != fmt.Sprint(voters*total) {
				t.Errorf("count is %s, want %d", got, voters*total)
			}
		}
	})
}

// TestTruncationFinishedElsewhere: whatever process finishes a truncation that was
// cut off, the decayed sum stays what it is, because nothing that the fold needs is
// a process's own.
func TestTruncationFinishedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &cutOff{Memory: storetest.NewMemory()}
		first := open(t, store, stream.Options{})
		for _, voter := range []Voter{ann, bob, {OpaqueID: "Ueve"}} {
			mustVote(t, first, local, voter, 5, 1)
			time.Sleep(4 * HalfLife) //nolint:forbidigo // time is fake in the bubble
		}
		before := mustTally(t, first, local, ann)
		store.off = true
		if _, err := first.Truncate(t.Context(), local.Stream(), time.Now().Add(-time.Minute)); err == nil {
			t.Fatal("the truncation was not cut off")
		}
		store.off = false
		second := open(t, store, stream.Options{})
		if _, err := second.Erase(t.Context(), local.Stream(), rewrite.Viewer{IDs: []string{"U9"}}); err != nil {
			t.Fatal(err)
		}
		report, err := second.Verify(t.Context(), local.Stream())
		if err != nil || report.Truncated == 0 {
			t.Fatalf("the truncation was not finished: %+v, %v", report, err)
		}
		third := open(t, store, stream.Options{})
		if diff := cmp.Diff(before, mustTally(t, third, local, ann)); diff != "" {
			t.Errorf("the tally changed (-before +after):\n%s", diff)
		}
	})
}

// cutOff is a store that replaces nothing while it is off, as if the process were
// killed.
type cutOff struct {
	*storetest.Memory
	off bool
}

func (c *cutOff) Replace(ctx context.Context, chunk stream.Chunk, expect stream.Digest) error {
	if c.off {
		return fault.New(fault.Unavailable, "killed")
	}
	return c.Memory.Replace(ctx, chunk, expect)
}
