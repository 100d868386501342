// Package event defines the events of the program: their names, targets and
// envelopes, the sources that they come from, and what changes in a source between
// two reads.
//
//	commits ── Notifier ──▶ live.Broker ──┐
//	              │                       ├─▶ Reader ── one read ──▶ diff ──▶ events
//	              └───────▶ sink.Manager ─┘              (shared)
//
// A source is a poll, a document, a feed of messages, a buffer or a question. An audience has
// [Knowledge] of a source: what the last event told it. The diff functions compare
// that knowledge with a new read and return the events that lead from one to the
// other, each with the knowledge that follows it. They are pure, so that packages
// live and sink find the same changes, and a delivery that fails is computed again.
//
// The package may not know HTTP or a database. It starts no goroutine.
package event

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/message"
)

// Names of events that no client receives.
const (
	// PairingUpdate tells games that the pairings of their channel have changed.
	PairingUpdate = "pairing_update"
	// keyUpdate is about the overlay keys or the staff keys of a channel. It leaves no process.
	keyUpdate = "key_update"
)

// Audience is a channel or, if Global, a whole extension.
type Audience struct {
	Environment, Extension, Channel string
	Global                          bool
}

// IsMessageName reports whether a message may have a name that begins with prefix.
// The other names belong to events about polls and documents.
func IsMessageName(prefix string) bool {
	return strings.HasPrefix(prefix, strings.TrimSuffix(contract.StoreUpdate, ":")) || !message.IsReserved(prefix)
}

// PollPrefix returns the poll ids that a prefix of event names stands for: those
// that begin with id. ok is false where the prefix stands for no poll's event.
func PollPrefix(prefix string) (id string, ok bool) {
	for _, kind := range []string{contract.VoteUpdate, contract.VoteDelete, contract.PollUpdate} {
		if id, ok := strings.CutPrefix(prefix, kind); ok {
			return id, true
		}
		if strings.HasPrefix(kind, prefix) {
			return "", true
		}
	}
	return "", false
}

// PollID returns the id of the poll that an event of the given name is about.
func PollID(name string) (id string, ok bool) {
	for _, kind := range []string{contract.VoteUpdate, contract.VoteDelete, contract.PollUpdate} {
		if id, ok := strings.CutPrefix(name, kind); ok && id != "" {
			return id, true
		}
	}
	return "", false
}

// IsOwned reports whether an event of that name is about a poll or a question, which have owners.
func IsOwned(name string) bool {
	_, ofPoll := PollID(name)
	return ofPoll || strings.HasPrefix(name, contract.RankUpdate)
}

// Sight is the part of a poll that a side of its audience sees (section 2.9).
type Sight int

// The sights. An event for Everyone is the same for both sides.
const (
	Everyone Sight = iota
	// Staff sees everything.
	Staff
	// Viewers see no hidden results.
	Viewers
)

// Reaches reports whether an event for a sight is for the given side, Staff or Viewers.
func (s Sight) Reaches(side Sight) bool { return s == Everyone || s == side }

// Event is one change, addressed to an audience or to one viewer in it. It does not
// change after its creation, but for its numbers.
type Event struct {
	Audience Audience
	// To is the opaque id of the only viewer that receives the event; empty: all do.
	To string
	// Name lacks the environment and the extension, which the envelope has.
	Name string
	// Data is compact JSON.
	Data json.RawMessage
	// Message is the number of a message in its feed, 0 for all other events.
	Message uint64
	// Whisper reports that the message is from a feed of whispers.
	Whisper bool
	// Games reports that only games receive the event.
	Games bool
	// Keys reports that the event is only for the streams of keys, which check their credential
	// and send nothing.
	Keys bool
	// For selects the part of the audience that receives the event.
	For Sight
	// Named reports that only a topic which is the event's name includes it.
	Named bool
	// Sequence is the event's number in the broker that published it, 0 before;
	// ViewerSequence that among the events which viewers may receive, 0 for any other.
	Sequence, ViewerSequence uint64

	span   *bufferSpan // nil unless the source is a buffer
	source string      // name of the source
	place  []uint64    // where in the source's history the event belongs

	encode   sync.Once
	envelope []byte
}

// NewResync returns a resync event for an audience.
func NewResync(a Audience) *Event {
	return &Event{Audience: a, Name: contract.Resync, Data: []byte("{}")}
}

// Target returns "broadcast", "global" or "whisper-" and an opaque id.
func (e *Event) Target() string {
	switch {
	case e.To != "":
		return WhisperTarget(e.To)
	case e.Audience.Global:
		return contract.TargetGlobal
	}
	return contract.TargetBroadcast
}

// WhisperTarget returns the target of what is sent to one viewer.
func WhisperTarget(id string) string { return contract.TargetWhisper + id }

// IsFrom reports whether the event is about the source of a name.
func (e *Event) IsFrom(source string) bool { return e.source == source }

// ID identifies the event: computed again from the same read, it is the same.
func (e *Event) ID() string {
	text := fmt.Appendf(nil, "%s %s", e.source, e.Name)
	for _, p := range e.place {
		text = fmt.Appendf(text, " %d", p)
	}
	sum := sha256.Sum256(append(text, '\n'))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// envelopeJSON is an event as JSON. Target and channel are for receivers that do not
// know them otherwise.
type envelopeJSON struct {
	Event   string          `json:"event"`
	Data    json.RawMessage `json:"data"`
	Target  string          `json:"target,omitempty"`
	Channel string          `json:"channel,omitempty"`
}

// Envelope returns the event's name and data as JSON on one line. Many goroutines
// may call it; it is encoded once. Callers do not change it.
func (e *Event) Envelope() []byte {
	e.encode.Do(func() { e.envelope = EncodeJSON(envelopeJSON{Event: e.fullName(), Data: e.Data}) })
	return e.envelope
}

// AddressedEnvelope returns the envelope with the event's target and channel.
func (e *Event) AddressedEnvelope() []byte {
	return EncodeJSON(envelopeJSON{Event: e.fullName(), Data: e.Data, Target: e.Target(), Channel: e.Audience.Channel})
}

func (e *Event) fullName() string {
	return e.Audience.Environment + ":" + e.Audience.Extension + ":" + e.Name
}

// EncodeJSON encodes a value that always encodes, such as strings and valid JSON, on
// one line.
func EncodeJSON(v any) []byte {
	encoded, err := exactjson.Marshal(v)
	if err != nil {
		panic(err)
	}
	return encoded
}
