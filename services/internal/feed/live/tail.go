package live

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

const (
	// discoverEvery: new polls are listed, and quiet ones polled for, every n-th round.
	discoverEvery = 4
	// watchedEvery: the tail is polled every n-th round while the store is watched, which is
	// each 2 s, and watchedDiscoverEvery for new polls and all that is quiet: each minute.
	watchedEvery         = 2 * discoverEvery
	watchedDiscoverEvery = 60 * discoverEvery
)

// followTail polls the tail for changes of all sources. A round costs one query for
// all streams, with a lookup for each, and another for all documents; now and then
// one more for each group of polls.
func (b *Broker) followTail() {
	ticker := time.NewTicker(b.tuning.tailEvery)
	defer ticker.Stop()
	w := &changeWatch{broker: b, changed: make(chan struct{}, 1)}
	defer w.end()
	failing := false
	for round := 0; ; round++ {
		watched, every, discover := b.watched.Load(), 1, discoverEvery
		if watched {
			every, discover = watchedEvery, watchedDiscoverEvery
		}
		select {
		case <-ticker.C:
			w.adjust()
			if round%every != 0 {
				continue
			}
		case <-w.changed:
			round = 0 // what was written before is polled for at once
		case <-b.ctx.Done():
			return
		}
		err := b.pollTail(b.ctx, round%discover == 0, watched)
		if err != nil && !failing && b.ctx.Err() == nil {
			b.options.Logger.Warn("reading the tail of the store failed; retrying", "error", err)
		}
		failing = err != nil
	}
}

// pollTail polls the tail once.
func (b *Broker) pollTail(ctx context.Context, discover, watched bool) error {
	streams, documents := b.followedHeads(discover, watched)
	if len(streams) > 0 {
		grown, err := b.options.Tail.Advanced(ctx, streams)
		if err != nil {
			return err
		}
		for _, name := range grown {
			b.notifySource(name, streams[name]+1)
		}
	}
	if len(documents) > 0 {
		versions, err := b.options.Tail.Versions(ctx, slices.Sorted(maps.Keys(documents)))
		if err != nil {
			return err
		}
		for key, version := range versions {
			b.notifySource(key, version)
		}
	}
	return nil
}

// followedHeads returns the heads of the sources to poll for. With discover these are all, and
// groups of polls list new ones. Without it, polls that are quiet are left out, and while the
// store is watched whatever is quiet.
func (b *Broker) followedHeads(discover, watched bool) (streams, documents map[string]uint64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	streams, documents = map[string]uint64{}, map[string]uint64{}
	for name, s := range b.sources {
		if !discover && (watched || s.kind == event.Poll) && s.isQuiet() {
			continue
		}
		switch s.kind {
		case 0: // a group of polls
			if discover && !b.closed {
				s.scheduleRefresh(true)
			}
		case event.Document:
			documents[name] = s.currentHead()
		default:
			streams[name] = s.currentHead()
		}
	}
	return streams, documents
}
