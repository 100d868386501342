package sink

import (
	"slices"

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

// isRecent reports whether sinks deliver a source since generation 1 only.
func isRecent(s event.Source) bool { return s.Config || s.ForStaff() }

// initializeOnce makes what exists when the sink is new count as delivered, once for
// all processes; of a sink that an earlier release initialized, what that release did not
// deliver. It reports false while another process does so.
func (w *sinkWorker) initializeOnce() (done bool, err error) {
	known, err := w.positions.loadPositions(w.ctx, initMarker)
	if err != nil {
		return false, err
	}
	if known[0].Head < sourceGeneration {
		if !w.m.options.Alone {
			span := w.m.tuning.leaseFor
			if wait, _, err := w.initialize.acquire(w.ctx, span/2, span); err != nil || wait > 0 {
				return false, err
			}
		}
		record := w.recordCurrent
		if known[0].version > 0 {
			record = w.recordRecent
		}
		if err := w.eachSources(record); err != nil {
			return false, err
		}
		done := position{Knowledge: event.Knowledge{Head: sourceGeneration}}
		if err := w.positions.savePosition(w.ctx, initMarker, done, known[0].version); err != nil {
			return false, err
		}
	}
	w.mu.Lock()
	w.initialized = true
	w.mu.Unlock()
	close(w.begun)
	return true, nil
}

// recordRecent is recordCurrent for sources of the last generation.
func (w *sinkWorker) recordRecent(names []string) error {
	return w.recordCurrent(slices.DeleteFunc(names, func(name string) bool {
		s, ok := event.ParseSource(name)
		return !ok || !isRecent(s)
	}))
}

// recordCurrent makes sources as they are count as delivered, unless they have a
// position.
func (w *sinkWorker) recordCurrent(names []string) error {
	known, err := w.positions.loadPositions(w.ctx, names...)
	if err != nil {
		return err
	}
	for i, name := range names {
		s, ok := event.ParseSource(name)
		if !ok || known[i].version > 0 || !w.receives(s) {
			continue
		}
		current, err := w.m.options.Reader.Current(w.ctx, s, w.m.tuning.clock.Now(), w.sender.side())
		if err != nil {
			return err
		}
		if current == (event.Knowledge{}) {
			continue
		}
		if err := w.positions.savePosition(w.ctx, name, position{Knowledge: current}, 0); err != nil {
			return err
		}
	}
	return nil
}
