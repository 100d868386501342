package live

import (
	"context"
	"sync/atomic"
)

// changeWatch runs Options.Watch as long as there are subscribers. It shortens the wait
// for the tail; the tail stays complete without it.
type changeWatch struct {
	broker  *Broker
	changed chan struct{} // 1: broker.watched has changed, or something may have been missed
	never   atomic.Bool   // the store has refused to be watched

	// Both are nil while nothing runs.
	stop context.CancelFunc
	done chan struct{}
}

// adjust starts or stops watching where that is due. It starts no second one before
// the first has ended.
func (w *changeWatch) adjust() {
	if w.done != nil {
		select {
		case <-w.done:
			w.stop, w.done = nil, nil
		default:
		}
	}
	needed := w.broker.hasSources()
	switch {
	case needed && w.done == nil && w.broker.options.Watch != nil && !w.never.Load():
		ctx, cancel := context.WithCancel(w.broker.ctx)
		done := make(chan struct{})
		w.stop, w.done = cancel, done
		w.broker.work.Go(func() { defer close(done); w.run(ctx) })
	case !needed:
		w.end()
	}
}

func (w *changeWatch) end() {
	if w.stop != nil {
		w.stop()
	}
}

func (w *changeWatch) run(ctx context.Context) {
	logger := w.broker.options.Logger
	failing := false
	err := w.broker.options.Watch(ctx, w.broker.notifySource, func(err error) {
		if err != nil && !failing {
			logger.Info("not every change is reported; polling the tail of the store more often", "reason", err)
		}
		failing = err != nil
		if w.broker.watched.Swap(!failing) || !failing {
			w.signalChange()
		}
	})
	w.broker.watched.Store(false)
	if ctx.Err() == nil {
		w.never.Store(true)
		logger.Info("the store has no change stream; polling its tail instead", "reason", err)
	}
	w.signalChange()
}

func (w *changeWatch) signalChange() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// hasSources reports whether anything is followed.
func (b *Broker) hasSources() bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.sources) > 0
}
