package live

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Tail tells what other processes have written. All it tells is durable.
type Tail interface {
	// Grown returns which of the streams, given with the sequence number of a chunk,
	// have one after that.
	Grown(ctx context.Context, heads map[string]uint64) ([]string, error)
	// Versions returns the newest versions of those of the documents that exist.
	Versions(ctx context.Context, keys []string) (map[string]uint64, error)
}

// Of how many rounds there is one in which the tail is asked for new polls and for
// quiet ones, and one in which it is asked at all while the store is watched.
const (
	discoverEvery = 4
	watchedEvery  = 2 * discoverEvery
)

// follow asks the tail all the time for what is listened to. It costs a question
// for all streams together, one lookup for each in it, another for all documents,
// and now and then one for each channel or extension whose polls are all listened
// to.
func (h *Hub) follow() {
	ticker := time.NewTicker(h.options.TailEvery)
	defer ticker.Stop()
	w := &watch{hub: h, changed: make(chan struct{}, 1)}
	defer w.end()
	failing := false
	for round := 0; ; round++ {
		select {
		case <-ticker.C:
			w.tend()
			if h.watched.Load() && round%watchedEvery != 0 {
				continue
			}
		case <-w.changed:
			round = 0 // what was written before is asked for at once
		case <-h.ctx.Done():
			return
		}
		err := h.ask(round%discoverEvery == 0)
		if err != nil && !failing && h.ctx.Err() == nil {
			h.options.Logger.Warn("the tail of the store cannot be read; events wait", "error", err)
		}
		failing = err != nil
	}
}

// ask asks the tail once.
func (h *Hub) ask(discover bool) error {
	streams, documents := h.followed(discover)
	if len(streams) > 0 {
		grown, err := h.options.Tail.Grown(h.ctx, streams)
		if err != nil {
			return err
		}
		for _, name := range grown {
			h.Touch(name, streams[name]+1)
		}
	}
	if len(documents) > 0 {
		versions, err := h.options.Tail.Versions(h.ctx, slices.Sorted(maps.Keys(documents)))
		if err != nil {
			return err
		}
		for key, version := range versions {
			h.Touch(key, version)
		}
	}
	return nil
}

// followed returns what there is to ask for and how far each is known. With
// discover, polls that are new are looked for, and those that are quiet asked for,
// too.
func (h *Hub) followed(discover bool) (streams, documents map[string]uint64) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	streams, documents = map[string]uint64{}, map[string]uint64{}
	for name, s := range h.sources {
		switch s.sort {
		case ofPoll:
			if discover || !s.quiet() {
				streams[name] = s.place()
			}
		case ofFeed:
			streams[name] = s.place()
		case ofDocument:
			documents[name] = s.place()
		case ofSiblings:
			if discover && !h.closed {
				s.mark()
			}
		}
	}
	return streams, documents
}
