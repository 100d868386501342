package live_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/live"
	"github.com/acclaim-dev/acclaim/services/internal/storetest"
	"github.com/acclaim-dev/acclaim/services/message"
)

// watched is a store that tells what is written in it, or not, as the test wants.
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

func (w *watched) Grown(ctx context.Context, heads map[string]uint64) ([]string, error) {
	w.asked.Add(1)
	return w.Memory.Grown(ctx, heads)
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

// follow starts a process that watches a store and has somebody listen, and another
// that writes.
func (w *watched) follow(t *testing.T) (here, there *process, e *ear) {
	here = start(t, w.Memory, false, func(o *live.Options) { o.Tail, o.Watch = w, w.watch })
	there = start(t, w.Memory, false)
	e = here.listen(subscription())
	pass(time.Second + time.Millisecond) // not to ask together with the tail
	synctest.Wait()
	return here, there, e
}

func (p *process) tick() {
	p.t.Helper()
	p.say(message.Feed{Channel: "1"}, "", "tick", "1")
}

const ticked = "broadcast tick 1"

// Where the store tells what is written it is heard at once, and the tail is asked
// less often; often enough for what the store does not tell.
func TestWatchedStore(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWatched()
		here, there, e := w.follow(t)
		if n := w.asks(); n != 32 || here.hub.Stats().Watched {
			t.Errorf("asked %d times in 8 s before it is watched", n)
		}
		w.watching(nil)
		pass(time.Second)
		if n := w.asks(); n != 4 || !here.hub.Stats().Watched {
			t.Errorf("asked %d times in 8 s while it is watched", n)
		}
		there.tick()
		e.want()
		w.touch(message.Feed{Environment: "production", Extension: "ext", Channel: "1"}.Stream(), 1)
		e.want(ticked)
		there.vote("new", "U1")
		w.touch(pollOf("new").Stream(), 1)
		e.want("broadcast vote_update:new 1 votes")
		there.tick() // is not told
		pass(2 * time.Second)
		e.want(ticked)
	})
}

// What was written while nobody told of it is asked for as soon as somebody does
// again, and meanwhile the tail is asked as often as ever.
func TestWatchingFails(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWatched()
		_, there, e := w.follow(t)
		w.watching(nil)
		pass(300 * time.Millisecond)
		there.tick()
		e.want()
		w.watching(nil) // begun anew
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

// A store is watched while somebody listens, by one at a time.
func TestWatchedWhileSomebodyListens(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWatched()
		here, _, e := w.follow(t)
		w.watching(nil)
		e.Close()
		pass(2 * time.Minute)
		synctest.Wait()
		if w.begun.Load() != 1 || w.running.Load() != 0 || here.hub.Stats().Watched {
			t.Errorf("begun %d times, %d are running, with nobody listening", w.begun.Load(), w.running.Load())
		}
		here.listen(subscription())
		pass(time.Second)
		synctest.Wait()
		if w.begun.Load() != 2 || w.running.Load() != 1 {
			t.Errorf("begun %d times, %d are running", w.begun.Load(), w.running.Load())
		}
	})
}

// A store that cannot be watched is not asked to again.
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
