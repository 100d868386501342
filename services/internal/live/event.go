package live

import (
	"encoding/json"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/message"
)

// audience is whom an event is addressed to: a channel or, if global, a whole
// extension.
type audience struct {
	environment, extension, channel string
	global                          bool
}

// event is something that an audience, or one viewer in it, is told.
type event struct {
	audience audience
	to       string // the opaque id of the one viewer it is for
	name     string
	// frame is the event as Server-Sent Events have it, but for its id.
	frame []byte
	// number counts the events of a hub.
	number uint64
	// message is the number that a message has in its feed, 0 of all else.
	message uint64
}

// Names of events. Those of polls are followed by the id.
const (
	voteUpdate           = "vote_update:"
	voteDelete           = "vote_delete:"
	channelStateUpdate   = "channel_state_update"
	extensionStateUpdate = "extension_state_update"
	resync               = "resync"
)

// newEvent returns an event with the given data, which is compact JSON.
func newEvent(a audience, to, name string, data []byte) *event {
	target := "broadcast"
	switch {
	case to != "":
		target = "whisper-" + to
	case a.global:
		target = "global"
	}
	full, err := json.Marshal(a.environment + ":" + a.extension + ":" + name)
	if err != nil {
		panic(err) // a string always encodes
	}
	frame := make([]byte, 0, len(target)+len(full)+len(data)+40)
	frame = append(append(frame, "event: "...), line(target)...)
	frame = append(append(frame, "\ndata: {\"event\":"...), full...)
	frame = append(append(frame, `,"data":`...), data...)
	return &event{audience: a, to: to, name: name, frame: append(frame, "}\n\n"...)}
}

// line returns s without what would end a line.
func line(s string) string { return strings.NewReplacer("\r", "", "\n", "").Replace(s) }

// topic is the name of an event or, with * at its end, what names begin with.
type topic string

// Bounds of what one listener asks for.
const (
	maxTopics     = 32
	maxTopicBytes = 300
)

func parseTopics(texts []string) ([]topic, error) {
	if len(texts) > maxTopics {
		return nil, fault.Newf(fault.Invalid, "There must be at most %d topics", maxTopics)
	}
	topics := make([]topic, len(texts))
	for i, text := range texts {
		star := strings.IndexByte(text, '*')
		if text == "" || len(text) > maxTopicBytes || star >= 0 && star < len(text)-1 {
			return nil, fault.New(fault.Invalid, "Invalid topic")
		}
		topics[i] = topic(text)
	}
	return topics, nil
}

// prefix returns what names begin with that a topic is about, and whether it is
// about more than one.
func (t topic) prefix() (prefix string, open bool) { return strings.CutSuffix(string(t), "*") }

func (t topic) matches(name string) bool {
	if prefix, open := t.prefix(); open {
		return strings.HasPrefix(name, prefix)
	}
	return string(t) == name
}

// polls returns which polls a topic is about: the one with an id or, if open,
// those whose ids begin with it. ok is false when it is about none.
func (t topic) polls() (id string, open, ok bool) {
	prefix, open := t.prefix()
	for _, kind := range []string{voteUpdate, voteDelete} {
		if id, ok := strings.CutPrefix(prefix, kind); ok {
			return id, open, open || id != ""
		}
		if open && strings.HasPrefix(kind, prefix) {
			return "", true, true
		}
	}
	return "", false, false
}

// messages reports whether a topic may be about messages.
func (t topic) messages() bool {
	prefix, _ := t.prefix()
	return !message.Reserved(prefix)
}
