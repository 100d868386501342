package sink

import (
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/time/rate"
)

// lane delivers subjects whose order matters to one another, one request at a
// time. One goroutine runs it.
type lane struct {
	w       *worker
	name    string
	limiter *rate.Limiter // nil: not limited
	pauses  *backoff.ExponentialBackOff
	lease   *lease
	// As long as no other process may have had the lane: positions, and when subjects
	// were last tried in vain.
	known  map[string]stored
	failed map[string]time.Time

	// Under w.mu. queue holds what is to be looked at, each subject once.
	queue []subject
	woken chan struct{} // 1: the queue is not empty
}

// longestPause is that between two tries.
const longestPause = 5 * time.Minute

// linger is how long a lane that has nothing to do keeps what it knows.
const linger = 2 * time.Minute

func (w *worker) newLane(name string) *lane {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval, pauses.Multiplier = w.m.options.RetryAfter, longestPause, 2
	return &lane{
		w: w, name: name, limiter: w.sender.limiter(), pauses: pauses,
		lease: w.lease(name),
		known: map[string]stored{}, failed: map[string]time.Time{}, woken: make(chan struct{}, 1),
	}
}

// push adds a subject unless it is there already. w.mu is held.
func (l *lane) push(s subject) {
	for _, waiting := range l.queue {
		if waiting.name == s.name {
			return
		}
	}
	l.queue = append(l.queue, s)
	select {
	case l.woken <- struct{}{}:
	default:
	}
}

// pop returns the subject that has waited longest.
func (l *lane) pop() (s subject, ok bool) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	if len(l.queue) == 0 {
		return s, false
	}
	s, l.queue = l.queue[0], l.queue[1:]
	return s, true
}

func (l *lane) again(s subject) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.push(s)
}

func (l *lane) waiting() bool {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return len(l.queue) > 0
}

// run delivers until there has been nothing to deliver for a while.
func (l *lane) run() {
	defer l.release()
	for l.await() {
		if wait := l.turn(); wait > 0 && !pause(l.w.ctx, wait) {
			return
		}
	}
}

// await waits for something to do. It reports false when the lane has ended.
func (l *lane) await() bool {
	for !l.waiting() {
		quiet := linger
		if l.lease.held() {
			quiet = l.w.m.options.ClaimFor / 4
		}
		timer := time.NewTimer(quiet)
		select {
		case <-l.woken:
		case <-timer.C:
			if l.lease.held() {
				l.release()
			} else if l.w.idle(l) {
				return false
			}
		case <-l.w.ctx.Done():
		}
		timer.Stop()
		if l.w.ctx.Err() != nil {
			return false
		}
	}
	return l.w.ctx.Err() == nil
}

// turn delivers what one request holds and returns how long to wait before the
// next.
func (l *lane) turn() time.Duration {
	if l.limiter != nil && l.limiter.Wait(l.w.ctx) != nil {
		return 0 // stopped
	}
	if l.w.atOnce.Acquire(l.w.ctx, 1) != nil {
		return 0
	}
	defer l.w.atOnce.Release(1)
	wait, anew, err := l.claim()
	if err == nil && anew {
		l.forget()
		return wait
	}
	if err == nil && wait == 0 {
		wait, err = l.deliver()
	}
	if err != nil {
		l.known = map[string]stored{}
		l.w.m.stats.failures.Add(1)
		l.w.logger.Warn("a sink's progress cannot be read or written; it is tried again", "lane", l.name, "error", err)
		return l.pauses.NextBackOff()
	}
	return wait
}

// claim makes sure that this process alone delivers, for longer than a request
// takes. It returns how long another one has the lane, and whether one may have had
// it before.
func (l *lane) claim() (wait time.Duration, anew bool, err error) {
	o := l.w.m.options
	if o.Alone {
		return 0, false, nil
	}
	return l.lease.hold(l.w.m.hard, (o.ClaimFor+o.Timeout)/2, o.ClaimFor)
}

// forget begins anew after another process may have delivered: what it has sent
// counts against the same budget.
func (l *lane) forget() {
	l.known, l.failed = map[string]stored{}, map[string]time.Time{}
	l.limiter = l.w.sender.limiter()
	l.pauses.Reset()
}

// keep keeps the lane for a pause, so that no other process tries meanwhile.
func (l *lane) keep(pause time.Duration) time.Duration {
	o := l.w.m.options
	if o.Alone {
		return pause
	}
	if _, _, err := l.lease.hold(l.w.m.hard, pause+o.Timeout, pause+o.ClaimFor); err != nil {
		l.w.logger.Warn("a sink's claim cannot be renewed", "lane", l.name, "error", err)
	}
	return pause
}

// release lets other processes have the lane at once.
func (l *lane) release() {
	if err := l.lease.release(l.w.m.hard); err != nil {
		l.w.logger.Warn("a sink's claim is not given back; it expires", "lane", l.name, "error", err)
	}
}
