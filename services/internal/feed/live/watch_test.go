package live

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/message"
)

// watched is a store whose change stream the test plays.
type watched struct {
	*storetest.Memory
	asked    atomic.Int64 // how often the tail was
	begun    atomic.Int64
	running  atomic.Int64
	refusal  chan error // ends watching
	touch    func(string, uint64)
	watching func(error)
}

func newWatched() *watched { return &watched{Memory: storetest.NewMemory(), refusal: make(chan error)} }

func (w *watched) Advanced(ctx context.Context, heads map[string]uint64) ([]string, error) {
	w.asked.Add(1)
	return w.Memory.Advanced(ctx, heads)
}

func (w *watched) watch(ctx context.Context, touch func(string, uint64), watching func(error)) error {
	w.begun.Add(1)
	w.running.Add(1)
	defer w.running.Add(-1)
	w.touch, w.watching = touch, watching
	select {
	case err := <-w.refusal:
		return err
	case <-ctx.Done():
		return nil
	}
}

// asks returns how often the tail is asked in 8 s.
func (w *watched) asks() int64 {
	synctest.Wait()
	before := w.asked.Load()
	pass(8 * time.Second)
	synctest.Wait()
	return w.asked.Load() - before
}

// follow starts a process that watches a store, with a subscriber, and another one
// that writes.
func (w *watched) follow(t *testing.T) (here, there *process, e *client) {
	here = start(t, w.Memory, false, func(o *Options, _ *tuning) { o.Tail, o.Watch = w, w.watch })
	there = start(t, w.Memory, false)
	e = here.subscribe(subscription())
	pass(time.Second + time.Millisecond) // not to ask together with the tail
	synctest.Wait()
	return here, there, e
}

func (p *process) tick() {
	p.t.Helper()
	p.publish(message.Feed{Channel: "1"}, "", "tick", "1")
}

const ticked = "broadcast tick 1"

// While the store reports writes, events come at once, and the tail is polled less
// often; often enough for writes that the store does not report.
func TestWatchedStore(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWatched()
		here, there, e := w.follow(t)
		if n := w.asks(); n != 32 || here.broker.Stats().ChangeStreamActive {
			t.Errorf("asked %d times in 8 s before it is watched", n)
		}
		w.watching(nil)
		pass(time.Second)
		if n := w.asks(); n != 4 || !here.broker.Stats().ChangeStreamActive {
			t.Errorf("asked %d times in 8 s while it is watched", n)
		}
		there.tick()
		e.want()
		w.touch(message.Feed{Environment: "production", Extension: "ext", Channel: "1"}.Stream(), 1)
		e.want(ticked)
		there.vote("new", "U1")
		w.touch(pollOf("new").Stream(), 1)
		e.want("broadcast vote_update:new 1 votes")
		there.tick() // is not reported
		pass(2 * time.Second)
		e.want(ticked)
	})
}

// The tail is polled as often as before while the change stream fails, and at once
// when it works again.
func TestWatchingFails(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWatched()
		_, there, e := w.follow(t)
		w.watching(nil)
		pass(300 * time.Millisecond)
		there.tick()
		e.want()
		w.watching(nil) // started again
		e.want(ticked)
		pass(time.Second)
		there.tick()
		w.watching(errors.New("down"))
		pass(100 * time.Millisecond) // reads take their time where others write
		e.want(ticked)
		if n := w.asks(); n != 32 {
			t.Errorf("asked %d times in 8 s while it cannot be watched", n)
		}
		w.watching(errors.New("down still"))
		w.watching(nil)
		pass(time.Second)
		if n := w.asks(); n != 4 {
			t.Errorf("asked %d times in 8 s when it is watched again", n)
		}
	})
}

// A store is watched while there are subscribers, once at a time.
func TestWatchedWhileThereAreSubscribers(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWatched()
		here, _, e := w.follow(t)
		w.watching(nil)
		e.Close()
		pass(2 * time.Minute)
		synctest.Wait()
		if w.begun.Load() != 1 || w.running.Load() != 0 || here.broker.Stats().ChangeStreamActive {
			t.Errorf("begun %d times, %d are running, without subscribers", w.begun.Load(), w.running.Load())
		}
		here.subscribe(subscription())
		pass(time.Second)
		synctest.Wait()
		if w.begun.Load() != 2 || w.running.Load() != 1 {
			t.Errorf("begun %d times, %d are running", w.begun.Load(), w.running.Load())
		}
	})
}

// A store that refuses to be watched is not watched again.
func TestStoreThatCannotBeWatched(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWatched()
		_, there, e := w.follow(t)
		w.refusal <- errors.New("no change streams")
		pass(time.Second)
		if n := w.asks(); n != 32 || w.begun.Load() != 1 {
			t.Errorf("asked %d times in 8 s, begun %d times", n, w.begun.Load())
		}
		there.tick()
		pass(time.Second)
		e.want(ticked)
	})
}
