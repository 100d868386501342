package sink

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/key"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/state"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// Polls are read to see what polls have come to. As of documents and messages,
// every read sees what any process has acknowledged before it.
type Polls interface {
	Overview(ctx context.Context, p voting.Poll) (voting.Overview, error)
}

// Messages are read to see what was said.
type Messages interface {
	Since(ctx context.Context, f message.Feed, after uint64) (message.Page, error)
	Forward(ctx context.Context, f message.Feed, from message.Place, after uint64) ([]message.Message, message.Place, error)
}

// Event is something that a sink is told of.
type Event struct {
	// ID is the same whenever the event is sent again.
	ID string
	// Name is that of the event without environment and extension.
	Name string
	// Target is "broadcast", "global" or "whisper-" and an opaque id.
	Target string
	// Channel is empty when the whole extension is meant.
	Channel string
	// Data is compact JSON.
	Data json.RawMessage
}

// step is an event and what the sink knows once it has it.
type step struct {
	event Event
	after position
}

// found is what a look at a subject found.
type found struct {
	steps []step
	// final is the position once everything is told. There may be more to tell than
	// the steps.
	final position
}

// subject is a poll, a state document or a feed, by the name that it is stored
// under.
type subject struct {
	name       string
	channel    string // empty: the whole extension
	look       func(ctx context.Context, at position) (found, error)
	isDocument bool
}

// newSubject returns the subject that is stored under a name, false when nothing
// is told of it.
func (o *Options) newSubject(name string) (s subject, ok bool) {
	parts, err := key.Split(name)
	if err != nil || len(parts) < 4 {
		return s, false
	}
	kind, environment, extension := parts[0], parts[1], parts[2]
	s.name = name
	channel, rest, ok := place(kind, parts[3:])
	if !ok {
		return s, false
	}
	s.channel = channel
	switch {
	case kind == voting.Kind && len(rest) == 1:
		s.look = o.poll(voting.Poll{Environment: environment, Extension: extension, Channel: channel, ID: rest[0]}, s)
	case kind == message.Kind && len(rest) == 0:
		s.look = o.feed(message.Feed{Environment: environment, Extension: extension, Channel: channel, Global: channel == ""}, s)
	case kind == state.Kind && len(rest) == 0:
		s.isDocument, s.look = true, o.document(s)
	default:
		return s, false
	}
	return s, true
}

// place returns to which channel something belongs, "" for the whole extension, by
// the parts of its name that follow the extension, and the parts after that.
func place(kind string, parts []string) (channel string, rest []string, ok bool) {
	whole := "global"
	if kind == state.Kind {
		if parts[0] != "state" {
			return "", nil, false
		}
		whole, parts = "extension", parts[1:]
	}
	switch {
	case len(parts) > 0 && parts[0] == whole:
		return "", parts[1:], true
	case len(parts) > 1 && parts[0] == "channel":
		return parts[1], parts[2:], true
	}
	return "", nil, false
}

func (s subject) target() string {
	if s.channel == "" {
		return "global"
	}
	return "broadcast"
}

// event returns one whose id says what it tells of: sent again it is the same.
func (s subject) event(name string, data []byte, place ...any) Event {
	sum := sha256.Sum256([]byte(fmt.Sprintln(append([]any{s.name, name}, place...)...)))
	return Event{
		ID: base64.RawURLEncoding.EncodeToString(sum[:18]), Name: name,
		Target: s.target(), Channel: s.channel, Data: data,
	}
}

// deleted stands for the statistics of a poll of whose deletion was told, but not
// of what came after it. It is no digest.
const deleted = "deleted"

func (o *Options) poll(p voting.Poll, s subject) func(context.Context, position) (found, error) {
	return func(ctx context.Context, at position) (found, error) {
		now, err := o.Polls.Overview(ctx, p)
		if err != nil {
			return found{}, err
		}
		f := found{final: position{Head: now.Head, Resets: now.Resets, Stats: digest(now.Statistics), EndsAt: now.EndsAt, Ended: at.Ended}}
		ended := false
		if now.EndsAt != 0 && now.EndsAt <= o.Clock.Now().Unix() {
			ended = at.Ended != now.EndsAt || at.Resets != now.Resets
			f.final.Ended = now.EndsAt
		}
		if at.Resets != now.Resets {
			after := at
			after.Resets, after.Stats, after.Tried = now.Resets, deleted, 0
			f.steps = append(f.steps, step{s.event("vote_delete:"+p.ID, pollData(p.ID, nil), now.Resets), after})
			at.Stats = deleted
		}
		if ended || at.Stats != f.final.Stats {
			f.steps = append(f.steps, step{s.event("vote_update:"+p.ID, pollData(p.ID, now.Statistics), now.Head, f.final.Ended), f.final})
		}
		return f, nil
	}
}

// digest is that of statistics, empty when there are none.
func digest(s *voting.Statistics) string {
	if s.Empty() {
		return ""
	}
	sum := sha256.Sum256(s.AppendJSON(nil, nil))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// pollData is the data of an event: the id and, of an update, the statistics.
func pollData(id string, s *voting.Statistics) []byte {
	encoded, err := json.Marshal(id)
	if err != nil {
		panic(err) // a string always encodes
	}
	buf := append([]byte(`{"id":`), encoded...)
	if s != nil {
		buf = s.AppendJSON(append(buf, `,"stats":`...), nil)
	}
	return append(buf, '}')
}

func (o *Options) document(s subject) func(context.Context, position) (found, error) {
	return func(ctx context.Context, at position) (found, error) {
		all, err := o.Store.Get(ctx, s.name)
		if err != nil {
			return found{}, err
		}
		return s.documentChange(all[0], at), nil
	}
}

func (s subject) documentChange(now document.Document, at position) found {
	event := "channel_state_update"
	if s.channel == "" {
		event = "extension_state_update"
	}
	f := found{final: position{Head: now.Version}}
	if now.Version != at.Head {
		body := now.Body
		if body == nil {
			body = []byte("{}")
		}
		f.steps = []step{{s.event(event, body, now.Version), f.final}}
	}
	return f
}
