package live

import "sync/atomic"

// Stats are the figures of a hub.
type Stats struct {
	Listeners, Sources int
	// Watched says whether the store tells what any process writes.
	Watched bool
	// Looks counts reads of what is listened to, Failures those that failed.
	Looks, Failures uint64
	// Events counts what was published, Delivered how often to a listener.
	Events, Delivered uint64
	// Slow counts listeners that were cut off because they did not keep up.
	Slow uint64
}

type counters struct {
	looks, failures, events, delivered, slow atomic.Uint64
}

// Stats returns the figures as they are now.
func (h *Hub) Stats() Stats {
	h.mu.RLock()
	sources := len(h.sources)
	h.mu.RUnlock()
	h.publishing.Lock()
	listeners := h.listeners
	h.publishing.Unlock()
	return Stats{
		Listeners: listeners, Sources: sources, Watched: h.watched.Load(),
		Looks: h.stats.looks.Load(), Failures: h.stats.failures.Load(),
		Events: h.stats.events.Load(), Delivered: h.stats.delivered.Load(),
		Slow: h.stats.slow.Load(),
	}
}
