package sink

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

func (w *sinkWorker) isInitialized() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.initialized
}

// sourceGeneration is the head of the position at initMarker. It rises when sinks begin to
// deliver kinds of sources that they did not deliver before.
const sourceGeneration = 1

// isOlder reports whether sinks delivered a source before generation 1.
func isOlder(name string) bool {
	s, ok := event.ParseSource(name)
	return ok && !s.Config && !s.ForStaff()
}

// initializeOnce makes what exists when the sink is new count as delivered, once for
// all processes; of a sink that an earlier release initialized, what that release did not
// deliver. It reports false while another process does so.
//
// Until the position at initMarker is there, the position of a source means that the source counted
// as delivered at that moment. So after a kill the next process keeps the positions it finds and
// adds those that are missing. After initMarker no process may add one: it would count changes as
// delivered that were not. That is why each step happens under a lease.
func (w *sinkWorker) initializeOnce() (done bool, err error) {
	known, err := w.positions.loadPositions(w.ctx, initMarker)
	if err != nil {
		return false, err
	}
	if known[0].Head < sourceGeneration {
		err := w.recordExisting()
		if errors.Is(err, errInitializedElsewhere) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	w.mu.Lock()
	w.initialized = true
	w.mu.Unlock()
	close(w.begun)
	return true, nil
}

// errInitializedElsewhere means that another process has the lease, or may have had it meanwhile.
var errInitializedElsewhere = errors.New("another process initializes the sink")

// leaseStep returns a context that ends before another process may initialize the sink.
func (w *sinkWorker) leaseStep(first bool) (context.Context, context.CancelFunc, error) {
	if w.m.options.Alone {
		ctx, cancel := context.WithCancel(w.ctx)
		return ctx, cancel, nil
	}
	span := w.m.tuning.leaseFor
	wait, lost, err := w.initialize.acquire(w.ctx, span/2, span)
	if err != nil {
		return nil, nil, err
	}
	if wait > 0 || lost && !first {
		return nil, nil, errInitializedElsewhere
	}
	ctx, cancel := context.WithTimeout(w.ctx, w.initialize.remainingTime())
	return ctx, cancel, nil
}

// reportEvery is the interval at which the initialization of a sink logs its progress.
const reportEvery = 10 * time.Second

// recordExisting saves the positions of all sources, and then that it has done so.
func (w *sinkWorker) recordExisting() error {
	ctx, cancel, err := w.leaseStep(true)
	if err != nil {
		return err
	}
	defer cancel()
	known, err := w.positions.loadPositions(ctx, initMarker) // once more, under the lease
	if err != nil || known[0].Head >= sourceGeneration {
		return err
	}
	sources, reported := 0, time.Now()
	err = w.eachSources(func(names []string) error {
		ctx, cancel, err := w.leaseStep(false)
		if err != nil {
			return err
		}
		defer cancel()
		sources += len(names)
		if now := time.Now(); now.Sub(reported) >= reportEvery {
			reported = now
			w.logger.Info("a new sink notes what exists, which it does not deliver", "sources", sources)
		}
		if known[0].version > 0 {
			names = slices.DeleteFunc(names, isOlder)
		}
		return w.recordCurrent(ctx, names)
	})
	if err != nil {
		return err
	}
	ctx, cancel, err = w.leaseStep(false)
	if err != nil {
		return err
	}
	defer cancel()
	done := position{Knowledge: event.Knowledge{Head: sourceGeneration}}
	return w.positions.savePosition(ctx, initMarker, done, known[0].version)
}

// recordCurrent makes sources as they are count as delivered, unless they have a
// position. It saves their positions side by side, which a store makes durable together.
func (w *sinkWorker) recordCurrent(ctx context.Context, names []string) error {
	known, err := w.positions.loadPositions(ctx, names...)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for i, name := range names {
		s, ok := event.ParseSource(name)
		if !ok || known[i].version > 0 || !w.receives(s) {
			continue
		}
		group.Go(func() error {
			current, err := w.m.options.Reader.Current(ctx, s, w.m.tuning.clock.Now(), w.sender.side())
			if err != nil || current == (event.Knowledge{}) {
				return err
			}
			return w.positions.savePosition(ctx, name, position{Knowledge: current}, 0)
		})
	}
	return group.Wait()
}
