package sink

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// changeStream models the change stream of a database.
type changeStream struct {
	mu       sync.Mutex
	notify   func(name string, head uint64)
	watching func(error)
	broken   bool // it reports nothing
}

func (c *changeStream) follow(ctx context.Context, notify func(name string, head uint64), watching func(error)) error {
	c.mu.Lock()
	c.notify, c.watching = notify, watching
	c.mu.Unlock()
	watching(nil)
	<-ctx.Done()
	return ctx.Err()
}

// report is the hint that the database makes of a write.
func (c *changeStream) report(name string, head uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.broken {
		c.notify(name, head)
	}
}

// turn breaks the stream or restores it. What was written meanwhile is not reported.
func (c *changeStream) turn(broken bool, known error) {
	c.mu.Lock()
	c.broken = broken
	watching := c.watching
	c.mu.Unlock()
	if known != nil || !broken {
		watching(known)
	}
}

// followed is a process whose store has a change stream, and another one that writes.
type followed struct {
	t        *testing.T
	changes  *changeStream
	to       *system
	other    *voting.Service
	voters   int
	listings atomic.Int64
}

func follow(t *testing.T, store *storetest.Memory) *followed {
	t.Helper()
	f := &followed{t: t, changes: &changeStream{}, to: &system{t: t}}
	tuned := defaultTuning(false)
	tuned.transport = f.to
	boot(t, store, webhooks, false, tuned, func(o *Options) {
		o.Watch = f.changes.follow
		o.Streams = func(ctx context.Context, prefix string) iter.Seq2[string, error] {
			f.listings.Add(1)
			return store.Streams(ctx, prefix)
		}
	})
	synctest.Wait()
	f.other = voting.NewService(store, stream.SystemClock(), stream.Options{Applied: f.changes.report})
	t.Cleanup(func() {
		if err := f.other.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	pass(time.Minute)
	return f
}

// vote has a viewer vote in the other process, and expects the event within a time.
func (f *followed) vote(within time.Duration) {
	f.t.Helper()
	f.voters++
	if _, err := f.other.Vote(f.t.Context(), pollOf("p"), voting.Voter{OpaqueID: fmt.Sprint("U", f.voters)}, 1, 1); err != nil {
		f.t.Fatal(err)
	}
	pass(within)
	f.to.want(fmt.Sprint("vote_update:p ", f.voters))
}

// A change in another process is delivered when the change stream reports it, and the store is
// not swept for it.
func TestChangeStreamReplacesSweeps(t *testing.T) {
	in(t, func(t *testing.T) {
		f := follow(t, storetest.NewMemory())
		swept := f.listings.Load()
		for range 3 {
			f.vote(1100 * time.Millisecond)
			pass(time.Minute)
		}
		if n := f.listings.Load() - swept; n != 0 {
			t.Errorf("the store was swept %d times in three minutes", n)
		}
		pass(2 * time.Minute)
		if f.listings.Load() == swept {
			t.Error("the store was not swept within five minutes")
		}
	})
}

// While the change stream is interrupted the store is swept as without it, and what was written
// before it reports again is found by one more sweep.
func TestChangeStreamIsInterrupted(t *testing.T) {
	in(t, func(t *testing.T) {
		f := follow(t, storetest.NewMemory())
		f.changes.turn(true, errors.New("an election"))
		pass(10 * time.Second)
		f.vote(3100 * time.Millisecond)

		pass(time.Minute)
		f.changes.turn(false, nil)
		pass(10 * time.Second)
		f.changes.turn(true, nil) // it does not know yet that it is broken
		f.voters++
		if _, err := f.other.Vote(t.Context(), pollOf("p"), voting.Voter{OpaqueID: "Ulost"}, 1, 1); err != nil {
			t.Fatal(err)
		}
		pass(30 * time.Second)
		f.to.want()
		f.changes.turn(false, nil)
		pass(1100 * time.Millisecond)
		f.to.want(fmt.Sprint("vote_update:p ", f.voters))
	})
}

// A process that waits for another one to initialize a sink does so itself soon after that one has
// died, though each change is hinted at.
func TestInitializationIsTakenOver(t *testing.T) {
	in(t, func(t *testing.T) {
		store := storetest.NewMemory()
		positions := positionStore{store, key.Name{Kind: Kind, Environment: string(tenant.Production), Extension: "ext", Sink: "hook", Transport: "webhook"}}
		dead := leaseRecord{Owner: "dead", For: (20 * time.Second).Milliseconds()}
		if err := putJSON(t.Context(), store, positions.leaseKey(initMarker), dead, 0); err != nil {
			t.Fatal(err)
		}
		f := follow(t, store)
		f.vote(1100 * time.Millisecond)
	})
}

// A later setting of a transition replaces the earlier one, and many settings take no room.
func TestTransitionSchedule(t *testing.T) {
	s := newTransitionSchedule()
	for n := range 10_000 {
		s.set("often", int64(1_000_000+n))
	}
	s.set("early", 5)
	s.set("late", 7)
	s.set("late", 9)
	s.set("again", 9)
	s.set("again", 6)
	if len(s.order) > 200 {
		t.Errorf("%d entries for 4 polls", len(s.order))
	}
	var got []string
	for {
		name, at, ok := s.takeUntil(9)
		if !ok {
			break
		}
		got = append(got, fmt.Sprint(name, " ", at))
	}
	if want := []string{"early 5", "again 6", "late 9"}; !slices.Equal(got, want) {
		t.Errorf("due are %q, want %q", got, want)
	}
	if name, at, ok := s.takeUntil(2_000_000); name != "often" || at != 1_009_999 || !ok {
		t.Errorf("then %s at %d, %v", name, at, ok)
	}
}
