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
	known   map[string]stored // positions, as long as the lane is claimed
	claimed time.Time         // until when

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
		known: map[string]stored{}, woken: make(chan struct{}, 1),
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
		timer := time.NewTimer(linger)
		select {
		case <-l.woken:
		case <-timer.C:
			if l.w.idle(l) {
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
	wait, err := l.claim()
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
// takes. It returns how long another one has the lane.
func (l *lane) claim() (wait time.Duration, err error) {
	o, now := l.w.m.options, time.Now()
	if o.Alone || l.claimed.Sub(now) > o.ClaimFor/2+o.Timeout/2 {
		return 0, nil
	}
	if !l.claimed.After(now) {
		l.known = map[string]stored{} // others may have delivered meanwhile
	}
	until := now.Add(o.ClaimFor)
	taken, err := l.w.positions.claim(l.w.m.hard, l.name, l.w.m.owner, now, until)
	if err != nil || !taken.IsZero() {
		l.claimed = time.Time{}
		return taken.Sub(now), err
	}
	l.claimed = until
	return 0, nil
}

// release lets other processes have the lane at once.
func (l *lane) release() {
	now := time.Now()
	if l.w.m.options.Alone || !l.claimed.After(now) {
		return
	}
	if _, err := l.w.positions.claim(l.w.m.hard, l.name, l.w.m.owner, now, now); err != nil {
		l.w.logger.Warn("a sink's claim is not given back; it expires", "lane", l.name, "error", err)
	}
}
