package sink

import "sync/atomic"

// Stats are the figures of a manager.
type Stats struct {
	Sinks, Lanes int
	// Waiting counts polls, documents and feeds that are to be looked at.
	Waiting int
	// Requests counts those made, Limited those of them that the other system
	// refused because there were too many.
	Requests, Limited uint64
	// Delivered, Retries and Dead count events.
	Delivered, Retries, Dead uint64
	// Failures counts reads and writes of positions that failed and were tried again.
	Failures uint64
}

type counters struct {
	requests, limited, delivered, retries, dead, failures atomic.Uint64
}

// Stats returns the figures as they are now.
func (m *Manager) Stats() Stats {
	s := Stats{
		Requests: m.stats.requests.Load(), Limited: m.stats.limited.Load(),
		Delivered: m.stats.delivered.Load(), Retries: m.stats.retries.Load(), Dead: m.stats.dead.Load(),
		Failures: m.stats.failures.Load(),
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	s.Sinks = len(m.workers)
	for _, w := range m.workers {
		w.mu.Lock()
		s.Lanes += len(w.lanes)
		for _, l := range w.lanes {
			s.Waiting += len(l.queue)
		}
		w.mu.Unlock()
	}
	return s
}
