// Package message is the domain of messages: what an extension says to those who
// are listening, in so many words, beside what follows from its polls and
// documents.
//
// The messages to a channel, those to single viewers in it included, are one
// stream, and those to a whole extension another. Each message has a number in
// its stream, so that whoever knows the last one it heard can be told exactly what
// it missed. Only the newest are kept at hand for that.
//
// The package may not know HTTP or a database, has no clock of its own and
// imports no other domain.
package message

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
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
	engine *stream.Engine[*feed, command, Message, Page]
}

// NewService returns a service over store. Close ends it.
func NewService(store stream.Store, clock stream.Clock, options stream.Options) *Service {
	options.Ties = true // only the order matters
	return &Service{engine: stream.New(rules{}, store, clock, options)}
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

// Serve answers what another process passed on with Options.Peers.
func (s *Service) Serve(ctx context.Context, request []byte) ([]byte, error) {
	return s.engine.Serve(ctx, request)
}

// Verify replays the stream with that name and compares it with its snapshot.
// [stream.ErrDamaged] says that it is not sound.
func (s *Service) Verify(ctx context.Context, name string) (stream.Report, error) {
	return s.engine.Verify(ctx, name, (*feed).equal)
}

// Linked returns what other ids entries of a viewer hold in the stream with that name,
// as [stream.Engine.Linked] does.
func (s *Service) Linked(ctx context.Context, name string, ids []string) ([]string, error) {
	return s.engine.Linked(ctx, name, ids)
}

// Erase gives a viewer random names in the stream with that name, as
// [stream.Engine.Erase] does.
func (s *Service) Erase(ctx context.Context, name string, viewer stream.Viewer) (stream.Erased, error) {
	return s.engine.Erase(ctx, name, viewer)
}

// Trim takes the messages from before a time out of the log of the stream with that
// name, as [stream.Engine.Trim] does. What is at hand stays at hand.
func (s *Service) Trim(ctx context.Context, name string, before time.Time) (stream.Trimmed, error) {
	return s.engine.Trim(ctx, name, before)
}

// Trimmable reports whether Trim has something to do.
func (s *Service) Trimmable(ctx context.Context, name string, before time.Time) (bool, error) {
	return s.engine.Trimmable(ctx, name, before)
}

// DropSnapshot deletes the snapshot of the stream with that name if nothing was
// appended since a time.
func (s *Service) DropSnapshot(ctx context.Context, name string, before time.Time) (bool, error) {
	return s.engine.DropSnapshot(ctx, name, before)
}

// Stats returns the figures of the engine.
func (s *Service) Stats() stream.Stats { return s.engine.Stats() }

// Close drains the service.
func (s *Service) Close(ctx context.Context) error { return s.engine.Close(ctx) }
