package pebblestore

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// memoryConfig is of a store in memory.
func memoryConfig(fs vfs.FS) config {
	c := smallConfig()
	c.fs, c.queue, c.batch, c.page, c.log = fs, 64, 64, 64<<10, slog.New(slog.DiscardHandler)
	c.measure = 0 // each write, so that what a test takes away counts at once
	return c
}

// load runs writers of a store and records the answers to their writes.
type load struct {
	mu      sync.Mutex
	acks    acknowledged
	left    int           // writes until reached is closed
	reached chan struct{} // so many writes were answered
	end     func()
}

func (l *load) report(name string, number uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acks[name] = number
	if l.left--; l.left == 0 {
		close(l.reached)
	}
	return nil
}

// state returns what is acknowledged.
func (l *load) state() acknowledged {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.acks)
}

// startLoad writes to a store until end is called.
func startLoad(t *testing.T, s *Store, acks acknowledged, writes int) *load {
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{acks: maps.Clone(acks), left: writes, reached: make(chan struct{})}
	var all sync.WaitGroup
	for writer := range crashWriters {
		all.Go(func() {
			if err := writeForever(ctx, s, writer, l.report); ctx.Err() == nil {
				t.Errorf("writer %d: %v", writer, err)
			}
		})
	}
	l.end = func() { cancel(); all.Wait() }
	return l
}

// TestPowerLoss lets a store lose power at random points of a load, dozens of
// times, each time on what the last one left. What was not synced is lost, or a
// random part of it. All that was acknowledged is there, and nothing half.
func TestPowerLoss(t *testing.T) {
	const shards, losses = 8, 12
	for shard := range shards {
		t.Run(fmt.Sprint("seed=", shard), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(uint64(shard), 2))
			disk, acks := vfs.NewCrashableMem(), acknowledged{}
			for loss := range losses {
				disk, acks = losePower(t, random, disk, acks)
				if t.Failed() {
					t.Fatalf("at power loss %d", loss)
				}
			}
		})
	}
}

// losePower returns what a power loss leaves on a disk, and what is stored there.
func losePower(t *testing.T, random *rand.Rand, disk *vfs.MemFS, acks acknowledged) (*vfs.MemFS, acknowledged) {
	t.Helper()
	s, err := open("/data", memoryConfig(disk), true)
	if err != nil {
		t.Fatal(err)
	}
	l := startLoad(t, s, acks, 1+random.IntN(400))
	<-l.reached
	least := l.state()
	left := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: random.IntN(3) * 50, RNG: random})
	most := l.state()
	l.end()
	mustClose(t, s)

	if s, err = open("/data", memoryConfig(left), true); err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, s)
	return left, wantBetween(t, s, least, most)
}

// wantBetween makes sure that a store holds at least the least and at most one more
// of each than the most, whole, and returns what it holds.
func wantBetween(t *testing.T, s *Store, least, most acknowledged) acknowledged {
	t.Helper()
	found := acknowledged{}
	for writer := range crashWriters {
		for _, name := range crashStreams(writer) {
			found[name] = lastOf(t, s, name)
			wantStream(t, s, name, found[name])
		}
		key := crashDocument(writer)
		d, err := s.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		found[key] = d[0].Version
		wantDocument(t, s, key, found[key])
	}
	for name, number := range found {
		if number < least[name] || number > most[name]+1 {
			t.Errorf("%s is at %d, acknowledged were %d to %d", name, number, least[name], most[name])
		}
	}
	return found
}
