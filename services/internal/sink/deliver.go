package sink

import (
	"context"
	"errors"
	"slices"
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
	more    bool // there is something after the steps
	sent    int  // steps that are in the request
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
	ctx, cancel := context.WithTimeout(l.w.m.hard, l.patience())
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
		if p.sent < len(p.steps) || p.more || a.verdict == failed {
			l.again(p.subject)
		}
	}
	if a.verdict == failed {
		return l.keep(max(l.pauses.NextBackOff(), a.wait)), nil
	}
	l.pauses.Reset()
	return l.rest(), nil
}

// patience is how long a request may take: it is over before another process may
// deliver.
func (l *lane) patience() time.Duration {
	if o := l.w.m.options; !o.Alone {
		return min(o.Timeout, l.lease.left())
	}
	return l.w.m.options.Timeout
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
		if slices.ContainsFunc(all, func(p *pending) bool { return p.subject.name == s.name }) {
			l.again(s) // changed meanwhile: that is for the next request
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
		more := f.steps[len(f.steps)-1].after != f.final
		return &pending{subject: s, at: at, steps: f.steps, more: more}, nil
	}
	f.final.Tried = at.Tried
	if f.final == at.position {
		l.w.delivered(s.name, at.position)
		return nil, nil
	}
	return nil, l.save(s, f.final, at.version)
}

// settle moves the position of a subject past what was delivered, or notes for how
// long that was tried.
func (l *lane) settle(p *pending, a answer) error {
	if p.sent == 0 {
		return nil
	}
	stats := &l.w.m.stats
	if a.verdict == failed {
		stats.retries.Add(uint64(p.sent))
		if tried := l.tried(p, a); tried < l.w.m.options.DeadAfter {
			at := p.at.position
			at.Tried = tried.Milliseconds()
			if at == p.at.position {
				return nil
			}
			return l.save(p.subject, at, p.at.version)
		}
	}
	delete(l.failed, p.subject.name)
	if a.verdict == delivered {
		stats.delivered.Add(uint64(p.sent))
	} else {
		stats.dead.Add(uint64(p.sent))
		l.w.logger.Error("an event is dead: a sink did not take it", "subject", p.subject.name, "events", p.sent, "reason", a.reason)
	}
	return l.save(p.subject, p.steps[p.sent-1].after, p.at.version)
}

// tried returns for how long the next event of a subject was tried. Times in which
// nobody did so do not count, nor what a clock that is set says.
func (l *lane) tried(p *pending, a answer) time.Duration {
	now, name := time.Now(), p.subject.name
	before, again := l.failed[name]
	l.failed[name] = now
	tried := time.Duration(p.at.Tried) * time.Millisecond
	if again {
		return tried + now.Sub(before)
	}
	l.w.logger.Warn("a sink does not take an event; it is tried again", "subject", name, "reason", a.reason)
	return tried
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
