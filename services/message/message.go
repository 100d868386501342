// Package message is the domain of messages: what an extension says to those who
// are listening, in so many words, beside what follows from its polls and
// documents.
//
// The messages to a channel, those to single viewers in it included, are one
// stream, and those to a whole extension another. Each message has a number in
// its stream, so that whoever knows the last one it heard can be told exactly what
// it missed. Only the newest are kept at hand for that; who needs every one reads
// on in the log.
//
// The package may not know HTTP or a database, has no clock of its own and
// imports no other domain.
package message

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/key"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// Kind is the first element of the names of feeds' streams; the environment is
// the second.
const Kind = "message"

// Feed names the messages to a channel or, with Global, to a whole extension.
type Feed struct {
	Environment, Extension, Channel string
	Global                          bool
}

// Stream returns the name of the feed's stream.
func (f Feed) Stream() string {
	if f.Global {
		return key.Join(Kind, f.Environment, f.Extension, "global")
	}
	return key.Join(Kind, f.Environment, f.Extension, "channel", f.Channel)
}

// Message is something said to those who listen.
type Message struct {
	// Number counts the messages of a feed from 1.
	Number uint64
	// To is the opaque id of the one viewer it is for, empty when it is for all.
	To string
	// Name is that of the event.
	Name string
	// Data is compact JSON.
	Data json.RawMessage
}

// Bounds of a message, in bytes.
const (
	MaxData = 5 << 10 // what the streaming platform lets pass, too
	maxName = 128
	// What a feed keeps at hand.
	keptMessages = 256
	keptBytes    = 512 << 10
)

// Reserved reports whether a name begins as those of the service's own events do:
// a message that bore one would say what no read confirms.
func Reserved(name string) bool {
	return slices.ContainsFunc([]string{"vote_update", "vote_delete", "channel_state_update", "extension_state_update", "resync"},
		func(own string) bool { return strings.HasPrefix(name, own) })
}

// check returns why a message may not be published, or nil.
func (m Message) check() error {
	switch {
	case Reserved(m.Name):
		return fault.New(fault.Invalid, "event is a name that the service itself uses")
	case m.Name == "" || len(m.Name) > maxName || !utf8.ValidString(m.Name) || strings.ContainsAny(m.Name, "*\r\n\x00"):
		return fault.Newf(fault.Invalid, "event must have 1 to %d bytes, and none of them *", maxName)
	case len(m.Data) > MaxData:
		return fault.Newf(fault.TooLarge, "data is larger than %d bytes", MaxData)
	}
	return nil
}

// Page is what was said after a message.
type Page struct {
	// Messages are the newest ones, by number. Older ones are missing where the
	// first is not the one that was asked for.
	Messages []Message
	// Last is the number of the feed's newest message, 0 when there is none.
	Last uint64
	// Head is how far the stream had come.
	Head uint64
}

// Service answers for the feeds of a store.
type Service struct {
	stream.Upkeep
	engine *stream.Engine[*feed, command, Message, Page]
}

// NewService returns a service over store. Close ends it.
func NewService(store stream.Store, clock stream.Clock, options stream.Options) *Service {
	options.Ties = true // only the order matters
	engine := stream.New(rules{}, store, clock, options)
	return &Service{engine, engine}
}

// Publish appends a message to a feed. Once it returns nil, whoever listens will
// hear it. Number is not looked at.
func (s *Service) Publish(ctx context.Context, f Feed, m Message) error {
	if err := m.check(); err != nil {
		return err
	}
	_, err := s.engine.Do(ctx, f.Stream(), command{message: m})
	return err
}

// Since returns the messages with higher numbers than after that are still at
// hand.
func (s *Service) Since(ctx context.Context, f Feed, after uint64) (Page, error) {
	page, head, err := s.engine.ViewAt(ctx, f.Stream(), command{query: true, after: after})
	page.Head = head
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

// forwardAtOnce is how many messages Forward returns, and as many more as the last
// chunk it reads holds.
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
		// How many messages a trim has taken out of a chunk is not known.
		if gone, err := chunk.Emptied(); gone || err != nil {
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
