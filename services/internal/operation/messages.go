package operation

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/message"
)

// Names of the messages to the games in a channel.
const (
	DatastreamMessage = "datastream"
	PurchaseMessage   = "purchase"
)

func (c *Caller) feed() message.Feed {
	return message.Feed{Environment: string(c.Environment), Extension: c.Extension.ClientID, Channel: c.ChannelID}
}

// gameFeed is the feed of the games in the caller's channel.
func (c *Caller) gameFeed() message.Feed {
	feed := c.feed()
	feed.Games = true
	return feed
}

// CheckBroadcasts refuses a caller that may not send messages to a channel, "" for its own.
func (c *Caller) CheckBroadcasts(channel string) error {
	if channel != "" && channel != c.ChannelID && c.Role == Broadcaster {
		return errRole()
	}
	return nil
}

// Broadcast publishes a message to a channel, "" for the caller's.
func (s *Service) Broadcast(ctx context.Context, c *Call, channel string, m message.Message) error {
	feed := c.Caller.feed()
	if err := c.Caller.CheckBroadcasts(channel); err != nil {
		return err
	}
	feed.Channel = cmp.Or(channel, feed.Channel)
	if feed.Channel == "" {
		return errNoChannel()
	}
	keys, err := s.requestKeys(c, feed.Channel)
	if err != nil {
		return err
	}
	if err := s.admitMessage(c.Caller, limit.Channel, "channel\x00"+feed.Channel, 1); err != nil {
		return err
	}
	return s.Config.Messages.Publish(ctx, feed, m, keys...)
}

func errNoChannel() error { return fault.New(fault.Invalid, "The JWT names no channel") }

// BroadcastToExtension publishes a message to all channels of the extension.
func (s *Service) BroadcastToExtension(ctx context.Context, c *Call, m message.Message) error {
	keys, err := s.requestKeys(c, "")
	if err != nil {
		return err
	}
	if err := s.admitMessage(c.Caller, limit.Extension, "extension", 1); err != nil {
		return err
	}
	feed := c.Caller.feed()
	feed.Channel, feed.Global = "", true
	return s.Config.Messages.Publish(ctx, feed, m, keys...)
}

// AdmitWhisper takes a message to the caller itself from the limits of each viewer and, because
// the viewers of a channel share a feed, of all of them together.
func (s *Service) AdmitWhisper(c *Call) error {
	viewer := c.Caller
	if viewer.OpaqueID == "" {
		return fault.New(fault.Invalid, "The JWT names no viewer")
	}
	err := s.admitMessage(viewer, limit.Identity, "viewer\x00"+viewer.ChannelID+"\x00"+viewer.OpaqueID, 1)
	if err == nil {
		err = s.admitMessage(viewer, limit.Channel, "viewers\x00"+viewer.ChannelID, 10)
	}
	if err != nil {
		return err
	}
	return s.takeWhisper(c)
}

// Whisper publishes an admitted message to the caller itself.
func (s *Service) Whisper(ctx context.Context, c *Call, m message.Message) error {
	keys, err := s.requestKeys(c, "")
	if err != nil {
		return err
	}
	m.To = c.Caller.OpaqueID
	feed := c.Caller.feed()
	feed.Whispers = true
	return s.Config.Messages.Publish(ctx, feed, m, keys...)
}

// SendToGames sends an object to the games in the caller's channel. A message has a limit for each
// viewer, as one to itself has.
func (s *Service) SendToGames(ctx context.Context, c *Call, data json.RawMessage) error {
	viewer := c.Caller
	if viewer.ChannelID == "" {
		return errNoChannel()
	}
	err := s.admitMessage(viewer, limit.Identity, "datastream\x00"+viewer.ChannelID+"\x00"+viewer.identity(), 1)
	if err == nil {
		err = s.takeDatastream(c)
	}
	if err == nil {
		err = s.takeWhisper(c)
	}
	if err != nil {
		return err
	}
	m := message.Message{Name: DatastreamMessage, To: viewer.identity(), Data: data}
	return s.Config.Messages.Announce(ctx, viewer.gameFeed(), m)
}

// datastreamFactor multiplies the rate of messages for all viewers of a channel.
const datastreamFactor = 10

// takeDatastream takes an object from the rate of the channel, ten times that of messages, which
// its viewers share: one that sends little has its part whatever the others send.
func (s *Service) takeDatastream(r *Call) error {
	c := r.Caller
	return s.take(r, "Too many requests", limit.Claim{
		Kind: limit.Datastream, Holder: c.extensionQuotaHolder + "\x00" + c.ChannelID, Scope: limit.Channel, Party: c.identity(),
		Rate: c.Limits().MessageRate.Times(datastreamFactor), Amount: 1,
	})
}

// ReadNamedDocument returns a named document of the channel.
func (s *Service) ReadNamedDocument(ctx context.Context, c *Call, id string) (document.Document, error) {
	if err := c.Caller.CheckReads(id); err != nil {
		return document.Document{}, err
	}
	return s.Config.State.Named.ReadNamed(ctx, c.Caller.stateCaller(), id)
}

// storeUpdate is the data of the event that follows each write of a named document.
type storeUpdate struct {
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value"`
}

// WriteNamedDocument replaces a named document of the channel by a JSON value, and announces it.
func (s *Service) WriteNamedDocument(ctx context.Context, c *Call, id string, value json.RawMessage) error {
	if err := s.editDocuments(c, 1, func(existing bool) error {
		return s.Config.State.Named.WriteNamed(ctx, c.Caller.stateCaller(), id, value, existing)
	}); err != nil {
		return err
	}
	data, err := json.Marshal(storeUpdate{id, CompactJSON(value)})
	if err != nil {
		return err
	}
	return s.Config.Messages.Announce(ctx, c.Caller.feed(), message.Message{Name: contract.StoreUpdate + id, Data: data})
}

// DecodeMessage returns the message in a body, without its addressee, and the body.
func DecodeMessage(sent []byte) (*Object, message.Message, error) {
	body := DecodeObject(sent)
	m := message.Message{Name: body.Text("event")}
	if body.Needs("data"); body.Err != nil {
		return nil, m, body.Err
	}
	m.Data = CompactJSON(body.JSON("data"))
	return body, m, CheckStored(m.Data)
}

// NewMessage returns a message with JSON data for one viewer, or for all where to is empty.
func NewMessage(name string, data json.RawMessage, to string) (message.Message, error) {
	m := message.Message{Name: name, Data: CompactJSON(data), To: to}
	return m, CheckStored(m.Data)
}
