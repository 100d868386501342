package accumulation_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// However many replicas write and read, a reader that passes latest back as start
// misses nothing and sees nothing twice.
func TestCursorsMissNothing(t *testing.T) {
	store := storetest.NewMemory()
	follow(t, []*accumulation.Service{newService(t, store), newService(t, store), newService(t, store)}, 60)
}

// That holds whatever the replicas' clocks show: they are seconds apart and step by
// seconds, forwards and back, at every reading.
func TestCursorsWithUnsteadyClocks(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			store := storetest.NewMemory()
			var replicas []*accumulation.Service
			for i := range uint64(3) {
				clock := &unsteadyClock{Clock: stream.SystemClock(), rng: rand.New(rand.NewPCG(seed, i))}
				clock.step()
				replicas = append(replicas, accumulation.NewService(store, clock, stream.Options{}))
			}
			follow(t, replicas, 15)
			for _, s := range replicas {
				if err := s.Close(t.Context()); err != nil {
					t.Errorf("close: %v", err)
				}
			}
		})
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}

// follow lets writers and readers use all replicas and checks what each reader
// has seen.
func follow(t *testing.T, replicas []*accumulation.Service, each int) {
	t.Helper()
	const writers, readers = 6, 4
	done := make(chan struct{})
	var writing, reading sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for n := range each {
				submit(t, replicas[w%len(replicas)], "1", fmt.Sprintf(`{"w":%d,"n":%d}`, w, n))
			}
		})
	}
	for r := range readers {
		reading.Go(func() {
			seen, start := map[string]int{}, int64(0)
			for last, n := false, r; ; n++ {
				data, latest := page(t, replicas[n%len(replicas)], start, nil)
				for _, d := range data {
					seen[d]++
				}
				if len(data) > 0 {
					start = latest
				} else if last {
					break
				}
				select {
				case <-done:
					last = true
				case <-time.After(time.Millisecond):
				}
			}
			for d, n := range seen {
				if n != 1 {
					t.Errorf("reader %d saw %s %d times", r, d, n)
				}
			}
			if len(seen) != writers*each {
				t.Errorf("reader %d saw %d entries of %d", r, len(seen), writers*each)
			}
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()
}

// unsteadyClock is off by some seconds, and by others every now and then.
type unsteadyClock struct {
	stream.Clock
	mu     sync.Mutex
	rng    *rand.Rand
	offset time.Duration
}

func (c *unsteadyClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rng.IntN(20) == 0 {
		c.step()
	}
	return c.Clock.Now().Add(c.offset)
}

// step gives the clock another offset. The caller holds c.mu if the clock is shared.
func (c *unsteadyClock) step() {
	c.offset = time.Duration(c.rng.Int64N(int64(6*time.Second))) - 3*time.Second
}
