package sink

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

// eventSender is one kind of sink.
type eventSender interface {
	// side is the side of an audience that the other system stands for.
	side() event.Sight
	// queueName returns the queue of a source. Leases are stored under it.
	queueName(s event.Source) string
	// newLimiter returns the rate limit of a new queue of that name, nil when there is none.
	newLimiter(queue string) *rate.Limiter
	// isFull reports whether another event would be too much for one request.
	isFull(events []*event.Event) bool
	// sendEvents sends what one request holds: the first n events, at least one.
	sendEvents(ctx context.Context, events []*event.Event) (n int, o deliveryOutcome)
}

// deliveryOutcome is the result of a request.
type deliveryOutcome struct {
	verdict verdict
	reason  string // of a failure, for people; without secrets
	wait    time.Duration
}

type verdict int

const (
	delivered verdict = iota
	refused           // the other system never wants the event
	failed
)

// pendingChanges holds the undelivered changes of a source.
type pendingChanges struct {
	source event.Source
	at     storedPosition
	steps  []event.Step
	more   bool // there are changes after the steps
	sent   int  // steps that are in the request
}

// deliver makes one request of the sources that have waited longest and records its
// outcome.
func (q *deliveryQueue) deliver() (wait time.Duration, err error) {
	all, events, err := q.gatherEvents()
	if err != nil {
		return 0, err
	}
	if len(events) == 0 {
		return q.pauseAfterSuccess(), nil
	}
	ctx, cancel := context.WithTimeout(q.w.m.abandoned, q.sendTimeout())
	n, o := q.w.sender.sendEvents(ctx, events)
	cancel()
	left := n
	for _, p := range all {
		p.sent = min(left, len(p.steps))
		left -= p.sent
		if err := q.recordOutcome(p, o); err != nil {
			q.putBackPending(all)
			return 0, err
		}
		switch {
		case o.verdict == failed:
			q.putBack(queueEntry{p.source, readAgain})
		case p.sent < len(p.steps) || p.more:
			q.putBack(queueEntry{p.source, anyRead})
		}
	}
	if o.verdict == failed {
		return q.holdLease(max(q.backoff.NextBackOff(), o.wait)), nil
	}
	q.backoff.Reset()
	return q.pauseAfterSuccess(), nil
}

// sendTimeout limits a request: it ends before another process may deliver.
func (q *deliveryQueue) sendTimeout() time.Duration {
	timeout := q.w.m.tuning.timeout
	if !q.w.m.options.Alone {
		timeout = min(timeout, q.lease.remainingTime())
	}
	return timeout
}

// pauseAfterSuccess is 0 as long as there is more: the rate limit bounds that.
func (q *deliveryQueue) pauseAfterSuccess() time.Duration {
	if !q.isEmpty() {
		return 0
	}
	return q.w.m.tuning.every
}

func (q *deliveryQueue) putBackPending(all []*pendingChanges) {
	for _, p := range all {
		q.putBack(queueEntry{p.source, readAgain})
	}
}

// gatherEvents finds changes until there are enough for a request. All events have the
// target of the first.
func (q *deliveryQueue) gatherEvents() (all []*pendingChanges, events []*event.Event, err error) {
	for !q.w.sender.isFull(events) {
		e, ok := q.pop()
		if !ok {
			break
		}
		if slices.ContainsFunc(all, func(p *pendingChanges) bool { return p.source.Name == e.source.Name }) {
			q.putBack(e) // changed meanwhile: that is for the next request
			break
		}
		p, err := q.findChanges(e)
		if err != nil {
			q.putBack(queueEntry{e.source, readAgain})
			q.putBackPending(all)
			return nil, nil, err
		}
		if p == nil {
			continue
		}
		all = append(all, p)
		before := len(events)
		for _, step := range p.steps {
			if len(events) > 0 && step.Event.Target() != events[0].Target() || q.w.sender.isFull(events) {
				break
			}
			events = append(events, step.Event)
		}
		if len(events) < before+len(p.steps) {
			break // the rest of it is for the next request
		}
	}
	return all, events, nil
}

// findChanges returns the undelivered changes of a source, nil when there are none.
func (q *deliveryQueue) findChanges(e queueEntry) (*pendingChanges, error) {
	ctx, name, now := q.w.m.abandoned, e.source.Name, q.w.m.tuning.clock.Now()
	at, err := q.sourcePosition(ctx, name)
	if err != nil {
		return nil, err
	}
	if e.hinted > anyRead && e.hinted <= at.Head {
		q.w.recordDelivered(name, at.position)
		return nil, nil // the hint came while the source was read
	}
	reader := q.w.m.options.Reader
	change, err := reader.Changes(ctx, e.source, at.Knowledge, e.hinted, now, q.w.sender.side())
	switch {
	case err != nil || !change.Missed:
	case e.source.Whispers && q.limiter != nil:
		// More come than the platform takes: the oldest are dropped, and no resync for all
		// viewers of the channel stands for them.
		change.Steps = change.Steps[1:]
		q.w.m.stats.dropped.Add(1)
	default:
		change, err = reader.Replay(ctx, e.source, at.Knowledge, change)
	}
	if err != nil {
		return nil, err
	}
	if len(change.Steps) > 0 {
		addressAll(change.Steps)
		return &pendingChanges{source: e.source, at: at, steps: change.Steps, more: change.More()}, nil
	}
	if change.Final == at.Knowledge {
		q.w.recordDelivered(name, at.position)
		return nil, nil
	}
	return nil, q.savePosition(e.source, position{change.Final, at.Tried}, at.version)
}

// addressAll addresses the events of a channel without an id to the extension: the
// platform has no such channel.
func addressAll(steps []event.Step) {
	for _, step := range steps {
		if step.Event.Audience.Channel == "" {
			step.Event.Audience.Global = true
		}
	}
}

// sourcePosition returns the position of a source.
func (q *deliveryQueue) sourcePosition(ctx context.Context, name string) (storedPosition, error) {
	if at, ok := q.known[name]; ok {
		return at, nil
	}
	loaded, err := q.w.positions.loadPositions(ctx, name)
	if err != nil {
		return storedPosition{}, err
	}
	q.known[name] = loaded[0]
	return loaded[0], nil
}

// recordOutcome moves the position of a source past what was delivered, or records for how
// long that was tried.
func (q *deliveryQueue) recordOutcome(p *pendingChanges, o deliveryOutcome) error {
	if p.sent == 0 {
		return nil
	}
	stats := &q.w.m.stats
	if o.verdict == failed {
		stats.retries.Add(uint64(p.sent))
		if tried := q.recordFailure(p, o); tried < q.w.m.tuning.dropAfter {
			at := p.at.position
			at.Tried = tried.Milliseconds()
			if at == p.at.position {
				return nil
			}
			return q.savePosition(p.source, at, p.at.version)
		}
	}
	delete(q.failed, p.source.Name)
	if o.verdict == delivered {
		stats.delivered.Add(uint64(p.sent))
	} else {
		stats.dropped.Add(uint64(p.sent))
		q.w.logger.Error("event dropped after retries", "subject", p.source.Name, "events", p.sent, "reason", o.reason)
	}
	return q.savePosition(p.source, position{Knowledge: p.steps[p.sent-1].After}, p.at.version)
}

// recordFailure returns for how long the next event of a source was tried. Times
// without a try do not count, nor do changes of a clock.
func (q *deliveryQueue) recordFailure(p *pendingChanges, o deliveryOutcome) time.Duration {
	now, name := time.Now(), p.source.Name
	before, again := q.failed[name]
	q.failed[name] = now
	tried := time.Duration(p.at.Tried) * time.Millisecond
	if again {
		return tried + now.Sub(before)
	}
	q.w.logger.Warn("delivering an event failed; retrying", "subject", name, "reason", o.reason)
	return tried
}

// savePosition makes a position durable. When another process has moved it, the source is
// read again.
func (q *deliveryQueue) savePosition(s event.Source, now position, version uint64) error {
	err := q.w.positions.savePosition(q.w.m.abandoned, s.Name, now, version)
	if errors.Is(err, document.ErrConflict) {
		delete(q.known, s.Name)
		q.putBack(queueEntry{s, readAgain})
		return nil
	}
	if err != nil {
		return err
	}
	q.known[s.Name] = storedPosition{now, version + 1}
	q.w.recordDelivered(s.Name, now)
	return nil
}
