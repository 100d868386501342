package sink

import (
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/time/rate"

	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

// deliveryQueue delivers sources whose order matters to one another, one request at a time.
// Its worker runs it while it has something to do: a queue that waits takes no goroutine.
type deliveryQueue struct {
	w       *sinkWorker
	name    string
	limiter *rate.Limiter // nil: not limited
	// reserved is set while the next request has its token of the limiter.
	reserved bool
	backoff  *backoff.ExponentialBackOff
	lease    *queueLease
	// Valid as long as no other process may have held the lease: positions, and when
	// the delivery of sources last failed.
	known  map[string]storedPosition
	failed map[string]time.Time

	// Under w.mu.
	waiting entryQueue
	state   queueState
	timer   *time.Timer // of a pause, or of the end of an idle queue
}

// queueState says if a queue runs, waits or pauses.
type queueState int

const (
	idle queueState = iota
	ready
	running
	pausing
)

// queueEntry is a source that is to be delivered, and a head that it has reached.
type queueEntry struct {
	source event.Source
	hinted uint64
}

// Used instead of a head, these select the reads of the source that are new enough.
const (
	readAgain = 0 // none: it is read now
	anyRead   = 1 // the last one: a part of it is left to deliver
)

// maxBackoff limits the pause between two tries.
const maxBackoff = 5 * time.Minute

// linger is the time for which an empty queue keeps the positions it knows.
const linger = 2 * time.Minute

func (w *sinkWorker) newQueue(name string) *deliveryQueue {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval, pauses.Multiplier = w.m.tuning.retryAfter, maxBackoff, 2
	return &deliveryQueue{
		w: w, name: name, limiter: w.sender.newLimiter(name), backoff: pauses,
		lease: w.newLease(name), waiting: newEntryQueue(),
		known: map[string]storedPosition{}, failed: map[string]time.Time{},
	}
}

// pop returns the next entry.
func (q *deliveryQueue) pop() (e queueEntry, ok bool) {
	q.w.mu.Lock()
	defer q.w.mu.Unlock()
	return q.waiting.pop()
}

// putBack adds entries that were popped.
func (q *deliveryQueue) putBack(entries ...queueEntry) {
	q.w.mu.Lock()
	defer q.w.mu.Unlock()
	for _, e := range entries {
		q.waiting.push(e, q.w.classOf(e.source))
	}
}

func (q *deliveryQueue) isEmpty() bool {
	q.w.mu.Lock()
	defer q.w.mu.Unlock()
	return q.waiting.isEmpty()
}

// runOnce delivers what one request holds and returns how long to wait before the queue
// runs again. A queue without entries releases its lease.
func (q *deliveryQueue) runOnce() time.Duration {
	if q.isEmpty() {
		q.releaseLease()
		return 0
	}
	if q.limiter != nil && !q.reserved {
		q.reserved = true
		if wait := q.limiter.Reserve().Delay(); wait > 0 {
			return wait
		}
	}
	q.reserved = false
	wait, lost, err := q.acquireLease()
	if err == nil && lost {
		q.forgetPositions()
		return wait
	}
	if err == nil && wait == 0 {
		wait, err = q.deliver()
	}
	if err != nil {
		q.known = map[string]storedPosition{}
		q.w.m.stats.failures.Add(1)
		q.w.logger.Warn("reading or writing a sink's progress failed; retrying", "queue", q.name, "error", err)
		return q.backoff.NextBackOff()
	}
	return wait
}

// acquireLease makes sure that this process alone delivers, for longer than a request
// takes. It returns for how long another process holds the lease, and whether one may
// have held it since this one did.
func (q *deliveryQueue) acquireLease() (wait time.Duration, lost bool, err error) {
	if q.w.m.options.Alone {
		return 0, false, nil
	}
	t := q.w.m.tuning
	return q.lease.acquire(q.w.m.abandoned, (t.leaseFor+t.timeout)/2, t.leaseFor)
}

// forgetPositions drops what another process may have changed by delivering. The requests of
// that process count against the same rate limit.
func (q *deliveryQueue) forgetPositions() {
	q.known, q.failed = map[string]storedPosition{}, map[string]time.Time{}
	q.limiter, q.reserved = q.w.sender.newLimiter(q.name), false
	q.backoff.Reset()
}

// holdLease extends the lease over a pause, so that no other process tries meanwhile.
func (q *deliveryQueue) holdLease(pause time.Duration) time.Duration {
	if q.w.m.options.Alone {
		return pause
	}
	t := q.w.m.tuning
	if _, _, err := q.lease.acquire(q.w.m.abandoned, pause+t.timeout, pause+t.leaseFor); err != nil {
		q.w.logger.Warn("renewing the lease of a sink's queue failed", "queue", q.name, "error", err)
	}
	return pause
}

// releaseLease lets other processes have the lease at once.
func (q *deliveryQueue) releaseLease() {
	if err := q.lease.release(q.w.m.abandoned); err != nil {
		q.w.logger.Warn("releasing the lease of a sink's queue failed; it expires", "queue", q.name, "error", err)
	}
}
