package stream_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ledger"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// TestOwnersOverlap lets a busy replica commit for as long as it does not know of the new
// owner of a stream: a member learns of another within a few heartbeats. The new owner, which
// knows of no other, loses most races against it: it has to read what the winner has
// committed, and the winner reads nothing. All the same, none of its callers is refused.
func TestOwnersOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const overlap, clients = 4 * time.Second, 15
		c := &contest{Memory: storetest.NewMemory(), rng: rand.New(rand.NewPCG(1, 2))}
		open := func(seed uint64) *ledger.Engine {
			return ledger.Open(c, stream.SystemClock(), stream.Options{}.Tuned(stream.Tuning{Random: rand.NewPCG(seed, 2)}))
		}
		old, next := open(1), open(2)
		start := time.Now()
		var work sync.WaitGroup
		for id := range uint64(clients) {
			work.Go(func() {
				for n := uint64(0); time.Since(start) < overlap; n++ {
					if _, err := old.Do(t.Context(), testStream, ledger.Post{ID: id<<32 | n}); err != nil {
						t.Error(err)
					}
				}
			})
			work.Go(func() {
				for n := uint64(0); time.Since(start) < overlap; n++ {
					if _, err := next.Do(t.Context(), testStream, ledger.Post{ID: 1<<63 | id<<32 | n}); err != nil {
						t.Errorf("after %s: %v", time.Since(start), err)
					}
				}
			})
		}
		work.Wait()
		t.Logf("%d of %d appends lost a race", c.conflicts, c.appends)
		mustClose(t, old)
		mustClose(t, next)
	})
}

// headsOfSnapshots notes where snapshots are taken.
type headsOfSnapshots struct {
	*storetest.Memory
	heads []uint64
}

func (s *headsOfSnapshots) SaveSnapshot(ctx context.Context, name string, snapshot stream.Snapshot) error {
	s.heads = append(s.heads, snapshot.Head.Seq)
	return s.Memory.SaveSnapshot(ctx, name, snapshot)
}

// TestSnapshotsAreFrequent commits small chunks. What a new owner of the stream has to read after
// its snapshot, while all callers wait, is bounded by their number, not by their bytes alone.
func TestSnapshotsAreFrequent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const commits, most = 2000, 256
		store := &headsOfSnapshots{Memory: storetest.NewMemory()}
		engine := ledger.Open(store, stream.SystemClock(), stream.Options{})
		for id := range uint64(commits) {
			if _, err := engine.Do(t.Context(), testStream, ledger.Post{ID: id}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // until the snapshot that is due is written
		}
		mustClose(t, engine)
		last := uint64(0)
		for _, head := range append(store.heads, commits) {
			if head-last > most {
				t.Errorf("%d chunks from the snapshot at %d to the one at %d, at most %d", head-last, last, head, most)
			}
			last = head
		}
	})
}
