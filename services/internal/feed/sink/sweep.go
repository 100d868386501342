package sink

import (
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

// sweepStore enqueues everything that has changed since it was delivered.
func (w *sinkWorker) sweepStore() error {
	if !w.isInitialized() {
		if done, err := w.initializeOnce(); err != nil || !done {
			return err
		}
	}
	return w.eachSources(func(names []string) error {
		changed, err := w.findChanged(names)
		for name, hinted := range changed {
			w.enqueueName(name, hinted)
		}
		return err
	})
}

// sourcesAtOnce limits the sources in one query to the store.
const sourcesAtOnce = 256

// eachSources calls do with the names of all sources, some at a time.
func (w *sinkWorker) eachSources(do func(names []string) error) error {
	environment, extension := string(w.name.environment), w.name.extension
	var names []string
	for _, d := range event.DocumentSources(event.Audience{Environment: environment, Extension: extension, Global: true}) {
		names = append(names, d.Name)
	}
	add := func(name string, err error) error {
		if err != nil {
			return err
		}
		if names = append(names, name); len(names) < sourcesAtOnce {
			return nil
		}
		full := names
		names = nil
		return do(full)
	}
	for _, prefix := range event.StreamPrefixes(environment, extension) {
		for name, err := range w.m.options.Streams(w.ctx, prefix) {
			if err := add(name, err); err != nil {
				return err
			}
		}
	}
	for _, prefix := range event.DocumentPrefixes(environment, extension) {
		for name, err := range w.m.options.Keys(w.ctx, prefix) {
			if err := add(name, err); err != nil {
				return err
			}
		}
	}
	return do(names)
}

// findChanged returns the sources that have changed since they were delivered, with
// heads that they have reached at least, or readAgain.
func (w *sinkWorker) findChanged(names []string) (changed map[string]uint64, err error) {
	if changed, err = w.loadDelivered(names); err != nil {
		return nil, err
	}
	streams, documents := map[string]uint64{}, []string{}
	w.mu.Lock()
	for _, name := range names {
		s, ok := event.ParseSource(name)
		switch {
		case !ok || !w.receives(s):
		case s.Kind == event.Document:
			documents = append(documents, name)
		default:
			streams[name] = w.delivered[name]
		}
	}
	w.mu.Unlock()
	grown, err := w.m.options.Tail.Advanced(w.ctx, streams)
	if err != nil {
		return nil, err
	}
	versions, err := w.m.options.Tail.Versions(w.ctx, documents)
	if err != nil {
		return nil, err
	}
	for _, name := range grown {
		changed[name] = streams[name] + 1
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, version := range versions {
		if version > w.delivered[name] {
			changed[name] = version
		}
	}
	return changed, nil
}

// loadDelivered reads the positions of sources that are not known yet. It returns the
// polls that began or ended meanwhile.
func (w *sinkWorker) loadDelivered(names []string) (ended map[string]uint64, err error) {
	ended = map[string]uint64{}
	var unknown []string
	w.mu.Lock()
	for _, name := range names {
		if _, ok := w.delivered[name]; !ok {
			unknown = append(unknown, name)
		}
	}
	w.mu.Unlock()
	if len(unknown) == 0 {
		return ended, nil
	}
	known, err := w.positions.loadPositions(w.ctx, unknown...)
	if err != nil {
		return nil, err
	}
	for i, name := range unknown {
		if known[i].IsDue(w.m.tuning.clock.Now()) {
			ended[name] = readAgain
		}
		w.recordDelivered(name, known[i].position)
	}
	return ended, nil
}

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

// receives reports whether the other system receives the events of a source.
func (w *sinkWorker) receives(s event.Source) bool {
	return !s.ForStaff() || w.sender.side() == event.Staff
}

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
