// Package message is the domain of messages: events that an extension publishes to
// its subscribers, beside those that follow from its polls and documents.
//
// The messages to a channel are one stream, those to single viewers in it another, so
// that viewers cannot flush from memory what the broadcaster said, and those to a whole
// extension a third. (Streams of channels that older versions wrote hold messages to
// viewers, too.) Each message has a number in
// its stream, so that a subscriber that knows the last one it received gets exactly
// what it missed. Only the newest are kept in memory for that; readers that need every
// message read the log.
//
// The package may not know HTTP or a database, has no clock of its own and
// imports no other domain.
package message

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Kind is the first element of the names of feeds' streams; the environment is
// the second.
const Kind = key.Feed

// Feed names the messages to a channel, with Whispers those to single viewers of it, with
// Games those to the games in it, or with Global those to a whole extension.
type Feed struct {
	Environment, Extension, Channel string
	Global, Whispers, Games         bool
}

// StreamName returns the name of the feed's stream.
func (f Feed) StreamName() key.Name {
	if f.Global {
		return key.Name{Kind: Kind, Environment: f.Environment, Extension: f.Extension, Scope: key.Global}
	}
	name := key.Name{Kind: Kind, Environment: f.Environment, Extension: f.Extension, Scope: key.Channel, Channel: f.Channel}
	switch {
	case f.Whispers:
		name.Scope = key.Whispers
	case f.Games:
		name.Scope = key.Games
	}
	return name
}

// Stream returns the name of the feed's stream as it is stored.
func (f Feed) Stream() string { return f.StreamName().String() }

// FeedOf returns the feed whose stream has a name.
func FeedOf(name key.Name) (Feed, error) {
	f := Feed{Environment: name.Environment, Extension: name.Extension, Channel: name.Channel, Global: name.Scope == key.Global}
	f.Whispers, f.Games = name.Scope == key.Whispers, name.Scope == key.Games
	if f.StreamName() != name {
		return Feed{}, fmt.Errorf("%+v is not the name of a feed", name)
	}
	return f, nil
}

// Message is one event for subscribers.
type Message struct {
	// Number counts the messages of a feed from 1.
	Number uint64
	// To is the opaque id of the one viewer it is for, empty when it is for all.
	To string
	// Name is the name of the event.
	Name string
	// Data is compact JSON.
	Data json.RawMessage
}

// keptBytes limits the messages that a feed keeps in memory, beside [contract.KeptMessages].
const keptBytes = 512 << 10

// IsReserved reports whether a name is, up to its first colon, one of the service's own
// events, or begins as one of those that were reserved first: a message with such a name
// would announce what no read confirms.
func IsReserved(name string) bool {
	kind, _, _ := strings.Cut(name, ":")
	isKind := func(own string) bool { return kind == strings.TrimSuffix(own, ":") }
	begins := func(own string) bool { return strings.HasPrefix(name, strings.TrimSuffix(own, ":")) }
	return kind == "curated_poll_update" || slices.ContainsFunc(contract.Events(), isKind) || slices.ContainsFunc([]string{
		contract.VoteUpdate, contract.VoteDelete, contract.ChannelStateUpdate, contract.ExtensionStateUpdate, contract.Resync,
	}, begins)
}

// checkBounds returns why a message may not be published, or nil.
func (m Message) checkBounds() error {
	switch {
	case IsReserved(m.Name):
		return fault.New(fault.Invalid, "event is a name that the service itself uses")
	case m.Name == "" || len(m.Name) > contract.MaxMessageName || !utf8.ValidString(m.Name) || strings.ContainsAny(m.Name, "*\r\n\x00"):
		return fault.Newf(fault.Invalid, "event must have 1 to %d bytes, and none of them *", contract.MaxMessageName)
	case len(m.Data) > contract.MaxMessageData:
		return fault.Newf(fault.TooLarge, "data is larger than %d bytes", contract.MaxMessageData)
	}
	return nil
}

// Page holds the messages after a number.
type Page struct {
	// Messages are the newest ones, by number. Older ones are missing where the
	// first is not the one that was asked for.
	Messages []Message
	// Last is the number of the feed's newest message, 0 when there is none.
	Last uint64
	// Head is the sequence number of the stream's last chunk.
	Head uint64
}

// Service answers for the feeds of a store.
type Service struct {
	rewrite.Service
	engine *stream.Engine[*recentMessages, feedCommand, Message, Page]
}

// NewService returns a service over store. Close ends it.
func NewService(store stream.Store, clock stream.Clock, options stream.Options) *Service {
	options.AllowEqualTimestamps = true // only the order matters
	engine := stream.New(feedRules{}, store, clock, options)
	return &Service{rewrite.Service{Runner: engine, Rewriter: rewrite.New(engine, engine, store)}, engine}
}

// Publish appends a message to a feed. Once it returns nil, every
// subscriber will receive it. Number is ignored. There is at most one key.
func (s *Service) Publish(ctx context.Context, f Feed, m Message, keys ...*once.Key) error {
	if err := m.checkBounds(); err != nil {
		return err
	}
	_, err := s.engine.Do(ctx, f.Stream(), feedCommand{message: m}, keys...)
	return err
}

// Announce is Publish for an event of the service itself, whose name is reserved.
func (s *Service) Announce(ctx context.Context, f Feed, m Message, keys ...*once.Key) error {
	_, err := s.engine.Do(ctx, f.Stream(), feedCommand{message: m}, keys...)
	return err
}

// Since returns the messages with higher numbers than after that are still in memory.
func (s *Service) Since(ctx context.Context, f Feed, after uint64) (Page, error) {
	page, head, err := s.engine.ViewAt(ctx, f.Stream(), feedCommand{query: true, after: after})
	page.Head = head.Seq
	return page, err
}

// Place is a place between two chunks of a feed's stream. The zero Place is the
// beginning.
type Place struct {
	// Chunk is the sequence number of the chunk before.
	Chunk uint64
	// Last is the number of the last message before, 0 when there is none.
	Last uint64
}

// forwardAtOnce is the number of messages after which Forward stops, at the end of a
// chunk.
const forwardAtOnce = 64

// Forward reads on from a place in the log and returns the next messages with higher
// numbers than after, however old they are, and the place behind them: none when the
// log ends there, or does not have what follows the place any more.
func (s *Service) Forward(ctx context.Context, f Feed, from Place, after uint64) (messages []Message, end Place, err error) {
	end = from
	for chunk, err := range s.engine.Chunks(ctx, f.Stream(), from.Chunk) {
		if err != nil {
			return nil, from, err
		}
		// The number of messages that a truncation removed from a chunk is unknown.
		if gone, err := chunk.Truncated(); gone || err != nil {
			return messages, end, err
		}
		for m, err := range s.engine.Entries(&chunk) {
			if err != nil {
				return nil, from, err
			}
			end.Last++
			if m.Number = end.Last; m.Number > after {
				messages = append(messages, m)
			}
		}
		if end.Chunk = chunk.Seq; len(messages) >= forwardAtOnce {
			break
		}
	}
	return messages, end, nil
}
