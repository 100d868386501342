package sink

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

const noSinks = "extensions: []"

// failingPositions is a store that takes some positions only.
type failingPositions struct {
	document.Store
	left atomic.Int64
}

func (f *failingPositions) Put(ctx context.Context, writes ...document.Write) error {
	if strings.Contains(writes[0].Key, "/"+string(key.Position)+"/") && f.left.Add(-1) < 0 {
		return errors.New("killed")
	}
	return f.Store.Put(ctx, writes...)
}

func countPositions(t *testing.T, store *storetest.Memory) (positions int) {
	t.Helper()
	for name, err := range store.Keys(t.Context(), "sink/") {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(name, "/"+string(key.Position)+"/") {
			positions++
		}
	}
	return positions
}

// A process that is killed while it initializes a sink leaves positions behind. The next process
// keeps them and adds the others: what has changed since a position was saved is delivered, and
// from then on each change is.
func TestInitializationIsResumed(t *testing.T) {
	const polls = sourcesAtOnce + 4
	for _, alone := range []bool{true, false} {
		for _, saved := range []int{0, sourcesAtOnce / 4, sourcesAtOnce + 1} {
			in(t, func(t *testing.T) {
				store, to := storetest.NewMemory(), &system{t: t}
				writer := start(t, store, noSinks, to, true)
				for n := range polls {
					writer.vote(fmt.Sprintf("p%04d", n), 1)
				}
				writer.kill()

				tuned := defaultTuning(false)
				tuned.transport = to
				p := boot(t, store, webhooks, alone, tuned, func(o *Options) {
					failing := &failingPositions{Store: o.Store}
					failing.left.Store(int64(saved))
					o.Store = failing
				})
				pass(10 * time.Second)
				p.kill()
				// The first write that fails withdraws those beside it.
				if n := countPositions(t, store); n > saved || n == 0 && saved > 0 {
					t.Fatalf("%d positions, want %d at most", n, saved)
				}

				var want []string
				writer = start(t, store, noSinks, to, true)
				for n := range polls {
					if name := fmt.Sprintf("p%04d", n); hasPosition(t, store, name) {
						want = append(want, fmt.Sprintf("vote_update:%s 2", name))
					}
					writer.vote(fmt.Sprintf("p%04d", n), 2)
				}
				writer.kill()

				p = start(t, store, webhooks, to, alone)
				pass(40 * time.Second)
				got := to.received()
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("with %d positions %d events came, want %d: %.100q", saved, len(got), len(want), got)
				}
				if n := countPositions(t, store); n != polls+1 {
					t.Errorf("%d positions, want those of %d polls and the mark", n, polls)
				}
				for n := range polls {
					p.vote(fmt.Sprintf("p%04d", n), 3)
				}
				pass(40 * time.Second)
				if got := to.received(); len(got) != polls {
					t.Errorf("%d events came of votes in %d polls", len(got), polls)
				}
			})
		}
	}
}

func hasPosition(t *testing.T, store *storetest.Memory, poll string) bool {
	t.Helper()
	positions := positionStore{store, key.Name{Kind: Kind, Environment: "production", Extension: "ext", Sink: "hook", Transport: "webhook"}}
	known, err := positions.loadPositions(t.Context(), pollOf(poll).Stream())
	if err != nil {
		t.Fatal(err)
	}
	return known[0].version > 0
}

// A process that was suspended while it initialized a sink, and that another process has overtaken,
// does not count as delivered what came after the end of the initialization.
func TestInitializationIsOvertaken(t *testing.T) {
	in(t, func(t *testing.T) {
		const stalls = time.Minute
		store, to := storetest.NewMemory(), &system{t: t}
		writer := start(t, store, noSinks, to, true)
		writer.vote("old", 1)
		tuned := defaultTuning(false)
		tuned.transport = to
		var listings atomic.Int64
		boot(t, store, webhooks, false, tuned, func(o *Options) {
			o.Streams = func(ctx context.Context, prefix string) iter.Seq2[string, error] {
				if listings.Add(1) == 1 {
					_ = stream.SystemClock().Sleep(ctx, stalls) // ends with the test
				}
				return store.Streams(ctx, prefix)
			}
		})
		other := start(t, store, webhooks, to, false)
		pass(stalls / 2)
		other.kill()
		if !hasPosition(t, store, "old") {
			t.Fatal("the second process has not initialized the sink")
		}
		writer.vote("new", 1)
		pass(stalls)
		to.want("vote_update:new 1")
	})
}
