package live

import "sync/atomic"

// Stats are the figures of a broker.
type Stats struct {
	// Subscribers counts subscribers.
	Subscribers, Sources int
	// ChangeStreamActive reports whether the store reports what any process writes.
	ChangeStreamActive bool
	// Reads counts refreshes of sources, Failures those that failed.
	Reads, Failures uint64
	// Published counts what was published, Delivered the subscribers that it reached.
	Published, Delivered uint64
	// Slow counts subscribers that were disconnected because they did not keep up.
	Slow uint64
}

type brokerCounters struct {
	refreshes, failures, events, delivered, slow atomic.Uint64
}

// Stats returns the figures of this moment.
func (b *Broker) Stats() Stats {
	b.mu.RLock()
	sources := len(b.sources)
	b.mu.RUnlock()
	b.publishing.Lock()
	subscribers := b.subscribers
	b.publishing.Unlock()
	return Stats{
		Subscribers: subscribers, Sources: sources, ChangeStreamActive: b.watched.Load(),
		Reads: b.stats.refreshes.Load(), Failures: b.stats.failures.Load(),
		Published: b.stats.events.Load(), Delivered: b.stats.delivered.Load(),
		Slow: b.stats.slow.Load(),
	}
}
