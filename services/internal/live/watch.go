package live

import (
	"context"
	"sync/atomic"
)

// watch has the store itself tell what is written, as long as somebody listens. It
// shortens the wait for the tail, and takes nothing's place.
type watch struct {
	hub     *Hub
	changed chan struct{} // 1: hub.watched has changed, or something may have been missed
	never   atomic.Bool   // the store has said that it cannot be watched

	// Both are nil while nothing runs.
	stop context.CancelFunc
	done chan struct{}
}

// tend begins or ends watching where that is due. The one before has ended then.
func (w *watch) tend() {
	if w.done != nil {
		select {
		case <-w.done:
			w.stop, w.done = nil, nil
		default:
		}
	}
	listened := w.hub.listened()
	switch {
	case listened && w.done == nil && w.hub.options.Watch != nil && !w.never.Load():
		ctx, cancel := context.WithCancel(w.hub.ctx)
		done := make(chan struct{})
		w.stop, w.done = cancel, done
		w.hub.work.Go(func() { defer close(done); w.run(ctx) })
	case !listened:
		w.end()
	}
}

func (w *watch) end() {
	if w.stop != nil {
		w.stop()
	}
}

func (w *watch) run(ctx context.Context) {
	logger := w.hub.options.Logger
	failing := false
	err := w.hub.options.Watch(ctx, w.hub.Touch, func(err error) {
		if err != nil && !failing {
			logger.Warn("the store cannot be watched for now; its tail is asked more often", "error", err)
		}
		failing = err != nil
		if w.hub.watched.Swap(!failing) || !failing {
			w.tell()
		}
	})
	w.hub.watched.Store(false)
	if ctx.Err() == nil {
		w.never.Store(true)
		logger.Info("the store cannot be watched; its tail is asked instead", "reason", err)
	}
	w.tell()
}

func (w *watch) tell() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// listened reports whether anything is followed.
func (h *Hub) listened() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.sources) > 0
}
