package voting_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// colliding holds a service's first append until every service has one to make, so
// that all of these were decided on the same state.
type colliding struct {
	stream.Store
	first     sync.Once
	together  *sync.WaitGroup
	conflicts *atomic.Int64
}

func (c *colliding) Append(ctx context.Context, chunk stream.Chunk) error {
	c.first.Do(func() {
		c.together.Done()
		c.together.Wait()
	})
	err := c.Store.Append(ctx, chunk)
	if errors.Is(err, stream.ErrConflict) {
		c.conflicts.Add(1)
	}
	return err
}

func serviceOver(t *testing.T, store stream.Store) *voting.Service {
	return newService(t, store, stream.Options{})
}

func newService(t *testing.T, store stream.Store, options stream.Options) *voting.Service {
	s := voting.NewService(store, stream.SystemClock(), options)
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// TestReplicasKeepEveryLimit: voters who vote through two services at once get
// exactly what the limits of section 2.4 leave them, by the log.
func TestReplicasKeepEveryLimit(t *testing.T) {
	const voters, values, tries = 8, 4, 2
	const distinct, total, each = 2, 5, 3 // of each voter's 16 attempts
	poll := voting.Poll{Environment: "production", Extension: "e", Channel: "c", ID: "p"}
	memory := storetest.NewMemory()
	reader := serviceOver(t, memory)
	config := voting.Config{DistinctOptionsPerUser: distinct, TotalVotesPerUser: total, VotesPerOption: each}
	if err := reader.Configure(t.Context(), poll, config); err != nil {
		t.Fatal(err)
	}

	var together, all sync.WaitGroup
	var conflicts, accepted atomic.Int64
	together.Add(2)
	for range 2 {
		s := serviceOver(t, &colliding{Store: memory, together: &together, conflicts: &conflicts})
		for i := range voters * values * tries {
			all.Go(func() {
				voter := voting.Voter{OpaqueID: fmt.Sprint("U", i%voters)}
				_, err := s.Vote(t.Context(), poll, voter, int64(i/voters%values), 1)
				if err == nil {
					accepted.Add(1)
				} else if err.Error() != "unacceptable vote" {
					t.Errorf("vote: %v", err)
				}
			})
		}
	}
	all.Wait()

	if conflicts.Load() == 0 {
		t.Error("the services never met")
	}
	if accepted.Load() != voters*total {
		t.Errorf("%d votes were accepted, want %d", accepted.Load(), voters*total)
	}
	ballots := map[string]map[int64]int{}
	for record, err := range reader.Log(t.Context(), poll, voting.Cursor{}) {
		if err != nil {
			t.Fatal(err)
		}
		if ballots[record.Opaque] == nil {
			ballots[record.Opaque] = map[int64]int{}
		}
		ballots[record.Opaque][record.Value]++
	}
	if len(ballots) != voters {
		t.Errorf("%d voters are in the log, want %d", len(ballots), voters)
	}
	for voter, options := range ballots {
		n := 0
		for value, times := range options {
			n += times
			if times > each {
				t.Errorf("%s has %d votes for %d, want at most %d", voter, times, value, each)
			}
		}
		if n != total || len(options) != distinct {
			t.Errorf("%s has %v, want %d votes for %d options", voter, options, total, distinct)
		}
	}
}
