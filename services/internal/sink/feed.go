package sink

import (
	"context"

	"github.com/acclaim-dev/acclaim/services/message"
)

// feed looks at the messages that were said after a position: those at hand or,
// when some of them are no longer, those that come next in the log.
func (o *Options) feed(feed message.Feed, s subject) func(context.Context, position) (found, error) {
	return func(ctx context.Context, at position) (found, error) {
		page, err := o.Messages.Since(ctx, feed, at.Message)
		if err != nil {
			return found{}, err
		}
		place, final := message.Place{Chunk: at.Head, Last: at.Before}, told(message.Place{Chunk: page.Head, Last: page.Last})
		if page.Last <= at.Message || uint64(len(page.Messages)) == page.Last-at.Message {
			return found{s.said(page.Messages, place, final), final}, nil
		}
		if place.Last == 0 {
			place.Chunk = 0 // it is not known which messages come after the chunk
		}
		messages, end, err := o.Messages.Forward(ctx, feed, place, at.Message)
		if err != nil {
			return found{}, err
		}
		if len(messages) == 0 { // trimmed away, or the log is another one than the position speaks of
			return found{s.resync(page, final), final}, nil
		}
		return found{s.said(messages, place, told(end)), final}, nil
	}
}

// resync returns the steps that tell that messages were missed, and then of those at
// hand.
func (s subject) resync(page message.Page, end position) []step {
	steps := s.said(page.Messages, message.Place{}, end)
	missed, after := page.Last, end
	if len(steps) > 0 {
		missed = page.Messages[0].Number - 1
		after = position{Message: missed}
	}
	return append([]step{{s.event("resync", []byte("{}"), missed), after}}, steps...)
}

// told is the position when everything up to a place was told.
func told(p message.Place) position {
	return position{Head: p.Chunk, Message: p.Last, Before: p.Last}
}

// said returns the steps that tell of messages, which come after a place. The last
// one leads to the given position.
func (s subject) said(messages []message.Message, from message.Place, end position) (steps []step) {
	for i, m := range messages {
		e := s.event(m.Name, m.Data, m.Number)
		if m.To != "" {
			e.Target = "whisper-" + m.To
		}
		after := position{Head: from.Chunk, Message: m.Number, Before: from.Last}
		if i == len(messages)-1 {
			after = end
		}
		steps = append(steps, step{e, after})
	}
	return steps
}
