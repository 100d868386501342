package sink

import "sync/atomic"

// Stats are the figures of a manager.
type Stats struct {
	// Queues counts queues.
	Sinks, Queues int
	// Queued counts polls, documents and feeds in queues.
	Queued int
	// Requests counts those made, Limited those that the other system refused because
	// there were too many.
	Requests, RateLimited uint64
	// Delivered, Retries and Dead count events; the last are those that were dropped.
	Delivered, Retries, Dropped uint64
	// Failures counts failed reads and writes of positions and sources.
	Failures uint64
}

type deliveryCounters struct {
	requests, limited, delivered, retries, dropped, failures atomic.Uint64
}

// Stats returns the figures of this moment.
func (m *Manager) Stats() Stats {
	s := Stats{
		Requests: m.stats.requests.Load(), RateLimited: m.stats.limited.Load(),
		Delivered: m.stats.delivered.Load(), Retries: m.stats.retries.Load(), Dropped: m.stats.dropped.Load(),
		Failures: m.stats.failures.Load(),
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	s.Sinks = len(m.workers)
	for _, w := range m.workers {
		w.mu.Lock()
		s.Queues += len(w.queues)
		s.Queued += len(w.pool.fresh.byName)
		for _, q := range w.queues {
			s.Queued += len(q.waiting.byName)
		}
		w.mu.Unlock()
	}
	return s
}
