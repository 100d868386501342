package sink

import "github.com/acclaim-dev/acclaim/services/internal/feed/event"

// sweepStore enqueues everything that has changed since it was delivered.
func (w *sinkWorker) sweepStore() error {
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

// receives reports whether the other system receives the events of a source.
func (w *sinkWorker) receives(s event.Source) bool {
	return !s.ForStaff() || w.sender.side() == event.Staff
}
