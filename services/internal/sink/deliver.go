package sink

import (
	"context"
	"errors"
	"time"

	"golang.org/x/time/rate"

	"github.com/acclaim-dev/acclaim/services/internal/document"
)

// sender knows one kind of sink.
type sender interface {
	// lane names the lane of a subject.
	lane(s subject) string
	// limiter returns what a new lane may send, nil when there is no limit.
	limiter() *rate.Limiter
	// full reports whether another event would be too much for one request.
	full(events []Event) bool
	// send sends what one request holds: the first n events, at least one.
	send(ctx context.Context, events []Event) (n int, a answer)
}

// answer is what came of a request.
type answer struct {
	verdict verdict
	reason  string // of a failure, for people; without anything secret
	wait    time.Duration
}

type verdict int

const (
	delivered verdict = iota
	gone              // the other system does not want the event, now or ever
	failed
)

// pending is what there is to tell of a subject.
type pending struct {
	subject subject
	at      stored
	steps   []step
	sent    int // steps that are in the request
}

// deliver looks at what has waited longest, makes one request of it and notes what
// came of it.
func (l *lane) deliver() (wait time.Duration, err error) {
	all, events, err := l.gather()
	if err != nil {
		return 0, err
	}
	if len(events) == 0 {
		return l.rest(), nil
	}
	ctx, cancel := context.WithDeadline(l.w.m.hard, l.deadline())
	n, a := l.w.sender.send(ctx, events)
	cancel()
	left := n
	for _, p := range all {
		p.sent = min(left, len(p.steps))
		left -= p.sent
		if err := l.settle(p, a); err != nil {
			l.againAll(all)
			return 0, err
		}
		if p.sent < len(p.steps) || a.verdict == failed {
			l.again(p.subject)
		}
	}
	if a.verdict == failed {
		return max(l.pauses.NextBackOff(), a.wait), nil
	}
	l.pauses.Reset()
	return l.rest(), nil
}

// deadline is when a request must be over: before another process may deliver.
func (l *lane) deadline() time.Time {
	at := time.Now().Add(l.w.m.options.Timeout)
	if !l.w.m.options.Alone && l.claimed.Before(at) {
		return l.claimed
	}
	return at
}

// rest is the pause when all is well: none as long as there is more, for a budget
// sees to it.
func (l *lane) rest() time.Duration {
	if l.waiting() {
		return 0
	}
	return l.w.m.options.Every
}

func (l *lane) againAll(all []*pending) {
	for _, p := range all {
		l.again(p.subject)
	}
}

// gather looks at subjects until there is enough for a request. All events have
// the target of the first.
func (l *lane) gather() (all []*pending, events []Event, err error) {
	for !l.w.sender.full(events) {
		s, ok := l.pop()
		if !ok {
			break
		}
		p, err := l.look(s)
		if err != nil {
			l.again(s)
			l.againAll(all)
			return nil, nil, err
		}
		if p == nil {
			continue
		}
		all = append(all, p)
		before := len(events)
		for _, step := range p.steps {
			if len(events) > 0 && step.event.Target != events[0].Target || l.w.sender.full(events) {
				break
			}
			events = append(events, step.event)
		}
		if len(events) < before+len(p.steps) {
			break // the rest of it is for the next request
		}
	}
	return all, events, nil
}

// look returns what there is to tell of a subject, nil when that is nothing.
func (l *lane) look(s subject) (*pending, error) {
	ctx := l.w.m.hard
	at, ok := l.known[s.name]
	if !ok {
		loaded, err := l.w.positions.load(ctx, s.name)
		if err != nil {
			return nil, err
		}
		at = loaded[0]
		l.known[s.name] = at
	}
	f, err := s.look(ctx, at.position)
	if err != nil {
		return nil, err
	}
	if len(f.steps) > 0 {
		return &pending{subject: s, at: at, steps: f.steps}, nil
	}
	f.final.Failing = at.Failing
	if f.final == at.position {
		l.w.delivered(s.name, at.position)
		return nil, nil
	}
	return nil, l.save(s, f.final, at.version)
}

// settle moves the position of a subject past what was delivered, or notes since
// when that fails.
func (l *lane) settle(p *pending, a answer) error {
	if p.sent == 0 {
		return nil
	}
	stats := &l.w.m.stats
	if a.verdict == failed {
		stats.retries.Add(uint64(p.sent))
		now := time.Now().UnixMilli()
		if p.at.Failing == 0 {
			failing := p.at.position
			failing.Failing = now
			l.w.logger.Warn("a sink does not take an event; it is tried again", "subject", p.subject.name, "reason", a.reason)
			return l.save(p.subject, failing, p.at.version)
		}
		if now-p.at.Failing < l.w.m.options.DeadAfter.Milliseconds() {
			return nil
		}
	}
	if a.verdict == delivered {
		stats.delivered.Add(uint64(p.sent))
	} else {
		stats.dead.Add(uint64(p.sent))
		l.w.logger.Error("an event is dead: a sink did not take it", "subject", p.subject.name, "events", p.sent, "reason", a.reason)
	}
	return l.save(p.subject, p.steps[p.sent-1].after, p.at.version)
}

// save makes a position durable. When another process has moved it, what there is
// to tell is looked for anew.
func (l *lane) save(s subject, now position, version uint64) error {
	err := l.w.positions.save(l.w.m.hard, s.name, now, version)
	if errors.Is(err, document.ErrConflict) {
		delete(l.known, s.name)
		l.again(s)
		return nil
	}
	if err != nil {
		return err
	}
	l.known[s.name] = stored{now, version + 1}
	l.w.delivered(s.name, now)
	return nil
}
