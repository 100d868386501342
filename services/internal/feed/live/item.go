package live

import (
	"context"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

// itemRefresher refreshes one poll, document or feed.
type itemRefresher struct {
	broker *Broker
	source event.Source
	// started is false before the first refresh, which only reads the current state.
	started bool
	known   event.Knowledge // of the subscribers
	viewers event.Knowledge // of those that are no staff
	// published has the time of the last events of a poll.
	published time.Time
}

// newItem returns a source whose changes are those after its first refresh.
func (b *Broker) newItem(of event.Source) *trackedSource {
	every := b.tuning.messageEvery
	switch of.Kind {
	case event.Poll, event.Question:
		every = b.tuning.pollEvery
	case event.Document:
		every = b.tuning.documentEvery
	}
	return &trackedSource{kind: of.Kind, every: every, refresher: &itemRefresher{broker: b, source: of}}
}

// newDiscovered returns a poll that no subscriber knows yet: all its contents have
// changed. It has reached the hinted head, if that is not 0.
func (b *Broker) newDiscovered(poll event.Source, hinted uint64) *trackedSource {
	s := b.newItem(poll)
	s.refresher.(*itemRefresher).started, s.hinted = true, hinted
	return s
}

func (i *itemRefresher) close() {}

func (i *itemRefresher) refresh(ctx context.Context, hinted uint64) (sourceUpdate, error) {
	now := time.Now()
	if !i.started {
		known, err := i.broker.options.Reader.Current(ctx, i.source, now, event.Staff)
		if err != nil {
			return sourceUpdate{}, err
		}
		viewers, err := i.viewersChange(ctx, event.Knowledge{}, event.Change{Final: known}, now)
		if err != nil {
			return sourceUpdate{}, err
		}
		i.started = true
		return i.adoptKnowledge(known, viewers.Final, now, dueEvery), nil
	}
	change, err := i.broker.options.Reader.Changes(ctx, i.source, i.known, hinted, now, event.Staff)
	if err != nil {
		return sourceUpdate{}, err
	}
	if i.source.Kind != event.Poll {
		return i.newUpdate(change, now), nil
	}
	if change.Wait > 0 && now.Sub(i.published).Abs() < i.broker.tuning.pollEvery {
		// It was read to find whether it is closed, and its next update is not due.
		change = event.Change{Final: i.known, Wait: change.Wait}
	}
	viewers, err := i.viewersChange(ctx, i.known, change, now)
	if err != nil {
		return sourceUpdate{}, err
	}
	u := i.adoptKnowledge(change.Final, viewers.Final, now, change.Wait)
	u.events = event.JoinSides(withoutRepeats(change.Steps), withoutRepeats(viewers.Steps))
	if len(u.events) > 0 {
		i.published = now
	}
	return u, nil
}

// viewersChange returns what viewers see of a change that staff sees: the same, as long as
// nothing is hidden from them.
func (i *itemRefresher) viewersChange(ctx context.Context, known event.Knowledge, staff event.Change, now time.Time) (event.Change, error) {
	if !staff.Final.Hidden && i.viewers == known {
		return staff, nil
	}
	return i.broker.options.Reader.Changes(ctx, i.source, i.viewers, max(1, staff.Final.Head), now, event.Viewers)
}

func withoutRepeats(steps []event.Step) []event.Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s event.Step) bool { return s.Repeats })
}

// newUpdate returns the update with the events of a change of anything but a poll.
func (i *itemRefresher) newUpdate(change event.Change, now time.Time) sourceUpdate {
	steps, known := change.Steps, change.Final
	limited := i.source.Kind == event.Feed && len(steps) > messagesAtOnce
	if limited {
		steps = steps[:messagesAtOnce]
	}
	if limited = limited || i.source.Kind == event.Buffer && change.More(); limited {
		known = steps[len(steps)-1].After
	}
	u := i.adoptKnowledge(known, known, now, 0)
	for _, step := range steps {
		u.events = append(u.events, step.Event)
		if i.source.Kind == event.Buffer {
			u.events = append(u.events, step.Event.ByChannel()...)
		}
	}
	if limited {
		u.again = now
	}
	return u
}

// messagesAtOnce limits the messages that are published before subscribers get a moment
// to receive them: fewer than they may be behind.
const messagesAtOnce = 32

// dueEvery is the pause before a second read of a poll that was not closed at the first one
// though its end had passed.
const dueEvery = 100 * time.Millisecond

// adoptKnowledge returns an update without events that leads to some knowledge of both
// sides. wait is the time until the next read of a poll that is due.
func (i *itemRefresher) adoptKnowledge(known, viewers event.Knowledge, now time.Time, wait time.Duration) sourceUpdate {
	i.known, i.viewers = known, viewers
	u := sourceUpdate{head: known.Head, message: known.Message, configured: known.Configured, hides: known.Hidden}
	if i.source.Kind == event.Buffer {
		u.message = known.Head
	}
	switch at := known.NextTransition(); {
	case at > now.Unix():
		u.again = time.Unix(min(at, farAway), 0)
	case at != 0:
		u.again = now.Add(wait)
	}
	return u
}

// farAway is a time in Unix seconds that no process waits for and that time.Duration
// can still express.
const farAway = 1 << 40
