package sink

import (
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

// reservedRuns is the number of runs at once that polls of viewers leave to others.
const reservedRuns = 2

// queuePool runs queues, some at a time. Its fields are guarded by w.mu.
type queuePool struct {
	ready   [classes][]*deliveryQueue
	running [classes]int
	stopped bool

	// fresh holds entries of polls whose class is not known, sorting that a goroutine reads
	// them.
	fresh   entryQueue
	sorting bool
}

// sortAtOnce is the number of polls that are read together to know their class.
const sortAtOnce = 64

// enqueue has a source read and delivered.
func (w *sinkWorker) enqueue(e queueEntry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.receives(e.source) || !w.initialized || w.ctx.Err() != nil || w.pool.stopped {
		return
	}
	if w.concealed.postpone(e) {
		return
	}
	if _, known := w.polls[e.source.Name]; e.source.Kind == event.Poll && !known {
		w.pool.fresh.push(e, madeUp)
		if !w.pool.sorting {
			w.pool.sorting = true
			w.m.work.Go(w.sortFresh)
		}
		return
	}
	w.enqueueSorted(e)
}

// sortFresh reads polls to know their class, and has them delivered, until none is left.
func (w *sinkWorker) sortFresh() {
	for {
		polls := w.takeFresh()
		if len(polls) == 0 {
			return
		}
		finals := make([]event.Knowledge, len(polls))
		var group errgroup.Group
		group.SetLimit(w.m.tuning.atOnce)
		for i, e := range polls {
			group.Go(func() error {
				read, err := w.m.options.Reader.Changes(w.m.abandoned, e.source, event.Knowledge{}, e.hinted, w.m.tuning.clock.Now(), w.sender.side())
				if err == nil { // otherwise the delivery meets the error, too
					finals[i] = read.Final
				}
				return nil
			})
		}
		_ = group.Wait() // never fails
		w.mu.Lock()
		for i, e := range polls {
			w.notePoll(e.source.Name, finals[i].Configured)
			w.concealed.note(e.source.Name, finals[i].Hidden && w.sender.side() == event.Viewers)
			if !w.concealed.postpone(e) {
				w.enqueueSorted(e)
			}
		}
		w.mu.Unlock()
	}
}

// takeFresh returns some polls whose class is not known. Without one, sorting ends.
func (w *sinkWorker) takeFresh() (polls []queueEntry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(polls) < sortAtOnce && !w.pool.stopped {
		e, ok := w.pool.fresh.pop()
		if !ok {
			break
		}
		polls = append(polls, e)
	}
	w.pool.sorting = len(polls) > 0
	return polls
}

// notePoll notes whether a poll is configured. w.mu is held.
func (w *sinkWorker) notePoll(name string, configured bool) {
	w.polls[name] = madeUp
	if configured {
		w.polls[name] = declared
	}
}

// enqueueSorted adds an entry to its queue. w.mu is held.
func (w *sinkWorker) enqueueSorted(e queueEntry) {
	if w.pool.stopped {
		return
	}
	name := w.sender.queueName(e.source)
	q := w.queues[name]
	if q == nil {
		q = w.newQueue(name)
		w.queues[name] = q
	}
	q.waiting.push(e, w.classOf(e.source))
	if q.state == idle {
		w.makeReady(q)
	}
}

// makeReady has a queue run as soon as one may. w.mu is held.
func (w *sinkWorker) makeReady(q *deliveryQueue) {
	if q.timer != nil {
		q.timer.Stop()
		q.timer = nil
	}
	q.state = ready
	class := q.waiting.next()
	w.pool.ready[class] = append(w.pool.ready[class], q)
	w.runReady()
}

// runReady runs queues that are ready, those of the first class first. w.mu is held.
func (w *sinkWorker) runReady() {
	p, atOnce := &w.pool, w.m.tuning.atOnce
	for class := range classes {
		for len(p.ready[class]) > 0 && p.running[declared]+p.running[madeUp] < atOnce && !p.stopped {
			if class == madeUp && p.running[madeUp] >= max(1, atOnce-reservedRuns) {
				return
			}
			q := p.ready[class][0]
			p.ready[class] = p.ready[class][1:]
			p.running[class]++
			q.state = running
			w.m.work.Go(func() { w.endRun(q, class, q.runOnce()) })
		}
	}
}

// endRun lets a queue wait, for a time or until something changes.
func (w *sinkWorker) endRun(q *deliveryQueue, class sourceClass, wait time.Duration) {
	w.mu.Lock()
	w.pool.running[class]--
	stopped := w.pool.stopped
	switch {
	case stopped:
		q.state = idle
	case wait > 0:
		q.state = pausing
		q.timer = time.AfterFunc(wait, func() { w.endPause(q) })
	case !q.waiting.isEmpty():
		w.makeReady(q)
	default:
		w.beIdle(q)
	}
	w.runReady()
	w.mu.Unlock()
	if stopped {
		q.releaseLease()
	}
}

func (w *sinkWorker) endPause(q *deliveryQueue) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.pool.stopped || q.state != pausing:
	case q.waiting.isEmpty():
		w.beIdle(q)
	default:
		w.makeReady(q)
	}
}

// beIdle lets a queue without entries wait: for the time to release its lease, and then
// for its end. w.mu is held.
func (w *sinkWorker) beIdle(q *deliveryQueue) {
	q.state = idle
	quiet, end := linger, w.removeIdle
	if q.lease.isHeld() {
		quiet, end = w.m.tuning.leaseFor/4, w.makeReady // which releases the lease
	}
	q.timer = time.AfterFunc(quiet, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if q.state == idle && q.waiting.isEmpty() && !w.pool.stopped {
			end(q)
		}
	})
}

// removeIdle removes a queue. w.mu is held.
func (w *sinkWorker) removeIdle(q *deliveryQueue) { delete(w.queues, q.name) }

// stopPool ends waiting. Queues that run end by themselves.
func (w *sinkWorker) stopPool() {
	w.mu.Lock()
	w.pool.stopped = true
	var waiting []*deliveryQueue
	for _, q := range w.queues {
		if q.timer != nil {
			q.timer.Stop()
		}
		if q.state != running {
			waiting = append(waiting, q)
		}
	}
	w.mu.Unlock()
	for _, q := range slices.Clip(waiting) {
		q.releaseLease()
	}
}
