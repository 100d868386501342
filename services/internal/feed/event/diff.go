package event

import (
	"context"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/message"
)

// Knowledge describes the last state of a source that an audience received. The zero
// Knowledge describes an empty source. Package sink stores it: fields keep their names.
type Knowledge struct {
	// Head is the sequence number of the stream's last chunk, or the document's version.
	Head uint64 `json:"head"`
	// Resets counts the deletions of a poll, Stats is a digest of its statistics.
	Resets uint64 `json:"resets,omitempty"`
	Stats  string `json:"stats,omitempty"`
	// StartsAt and EndsAt are the schedule of the poll, Ended is the end that the audience
	// knows to be over; Unix seconds.
	StartsAt int64 `json:"startsAt,omitempty"`
	EndsAt   int64 `json:"endsAt,omitempty"`
	Ended    int64 `json:"ended,omitempty"`
	// Configured reports whether staff has configured the poll: viewers cannot. Config is
	// a digest of the configuration and Status the status that the audience knows.
	Configured bool            `json:"configured,omitempty"`
	Config     string          `json:"config,omitempty"`
	Status     contract.Status `json:"status,omitempty"`
	// Hidden reports that viewers do not see the results.
	Hidden bool `json:"hidden,omitempty"`
	// Message is the number of a feed's last message, Before that of the last one up
	// to Head; 0 where that is not known.
	Message uint64 `json:"message,omitempty"`
	Before  uint64 `json:"before,omitempty"`
}

// NextTransition returns when the poll changes its status without a write, in Unix
// seconds; 0: never.
func (k Knowledge) NextTransition() int64 {
	switch {
	case k.Status == contract.Pending:
		return k.StartsAt
	case k.EndsAt != k.Ended:
		return k.EndsAt
	}
	return 0
}

// IsDue reports whether a transition of a poll has passed and the audience does not know. A poll
// whose end has passed is due until its log says that it is closed.
func (k Knowledge) IsDue(now time.Time) bool {
	at := k.NextTransition()
	return at != 0 && at <= now.Unix()
}

// Step is an event and what its audience knows once it has received it.
type Step struct {
	Event *Event
	After Knowledge
	// Repeats reports that the event has the statistics that the audience knew before
	// the deletion in the step before: none. A consumer whose deliveries are never
	// interrupted between two steps may skip it.
	Repeats bool
}

// Change is the way from what an audience knows of a source to what a read returned.
type Change struct {
	Steps []Step
	// Final is the audience's knowledge after all steps. Without steps it may differ
	// from what it knew in fields that cause no event.
	Final Knowledge
	// Missed reports that messages are missing between the knowledge and the steps. The
	// first step is a resync event then.
	Missed bool
	// Wait is the time after which a poll should be read again whose end has passed and that is
	// not closed.
	Wait time.Duration
}

// More reports whether there are further changes after the steps.
func (c Change) More() bool { return len(c.Steps) > 0 && c.Steps[len(c.Steps)-1].After != c.Final }

// DocumentReader are read for their versions.
type DocumentReader interface {
	Get(ctx context.Context, keys ...string) ([]document.Document, error)
}

func loadDocument(ctx context.Context, stores *Stores, s Source, _ Knowledge, _ time.Time) (*sourceRead, error) {
	found, err := stores.Documents.Get(ctx, s.Name)
	if err != nil {
		return nil, err
	}
	return &sourceRead{head: found[0].Version, diff: func(s Source, known Knowledge, _ time.Time, _ Sight) Change {
		return DiffDocument(s, known, found[0])
	}}, nil
}

// DiffDocument compares what is known of a document with a read of it. The latest
// version wins.
func DiffDocument(s Source, known Knowledge, read document.Document) Change {
	final := Knowledge{Head: read.Version}
	if read.Version == known.Head {
		return Change{Final: final}
	}
	body := read.Body
	if body == nil {
		body = []byte("{}")
	}
	return Change{Steps: []Step{{Event: s.newEvent(s.UpdateName(), body, read.Version), After: final}}, Final: final}
}

// MessageReader are read from the newest ones in memory and, further back, from the log.
type MessageReader interface {
	Since(ctx context.Context, f message.Feed, after uint64) (message.Page, error)
	Forward(ctx context.Context, f message.Feed, from message.Place, after uint64) ([]message.Message, message.Place, error)
}

func (s Source) messageFeed() message.Feed {
	a := s.Audience
	return message.Feed{Environment: a.Environment, Extension: a.Extension, Channel: a.Channel, Global: a.Global, Whispers: s.Whispers, Games: s.Games}
}

func loadFeed(ctx context.Context, stores *Stores, s Source, known Knowledge, _ time.Time) (*sourceRead, error) {
	page, err := stores.Messages.Since(ctx, s.messageFeed(), known.Message)
	return &sourceRead{head: page.Head, after: known.Message, diff: func(s Source, known Knowledge, _ time.Time, _ Sight) Change {
		return DiffFeed(s, known, page)
	}}, err
}

// DiffFeed compares what is known of a feed with a page of its messages, which may
// begin with messages that are known. Every message has an event. Where the page
// lacks some, a resync event stands for them.
func DiffFeed(s Source, known Knowledge, page message.Page) Change {
	messages := page.Messages
	for len(messages) > 0 && messages[0].Number <= known.Message {
		messages = messages[1:]
	}
	final := Knowledge{Head: page.Head, Message: page.Last, Before: page.Last}
	if page.Last <= known.Message || uint64(len(messages)) == page.Last-known.Message {
		return Change{Steps: s.messageSteps(messages, message.Place{Chunk: known.Head, Last: known.Before}, final), Final: final}
	}
	steps := s.messageSteps(messages, message.Place{}, final)
	missed, after := page.Last, final
	if len(messages) > 0 {
		missed = messages[0].Number - 1
		after = Knowledge{Message: missed}
	}
	first := s.newEvent(contract.Resync, []byte("{}"), missed)
	return Change{Steps: append([]Step{{Event: first, After: after}}, steps...), Final: final, Missed: true}
}

// messageSteps returns the steps for messages that follow a place. The last one
// leads to final.
func (s Source) messageSteps(messages []message.Message, from message.Place, final Knowledge) []Step {
	steps := make([]Step, 0, len(messages)+1)
	for i, m := range messages {
		e := s.newEvent(m.Name, m.Data, m.Number)
		e.To, e.Message, e.Whisper = m.To, m.Number, s.Whispers
		after := Knowledge{Head: from.Chunk, Message: m.Number, Before: from.Last}
		if i == len(messages)-1 {
			after = final
		}
		steps = append(steps, Step{Event: e, After: after})
	}
	return steps
}

func (s Source) newEvent(name string, data []byte, place ...uint64) *Event {
	return &Event{Audience: s.Audience, Name: name, Data: data, Games: s.Games, Keys: s.Keys, source: s.Name, place: place}
}
