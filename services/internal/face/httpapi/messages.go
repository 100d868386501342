package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/message"
)

// Messages is the part of package message that its routes use.
type Messages interface {
	Publish(ctx context.Context, f message.Feed, m message.Message, keys ...*once.Key) error
	// Announce publishes an event of the service itself.
	Announce(ctx context.Context, f message.Feed, m message.Message, keys ...*once.Key) error
}

// messageBytes bounds the body of a message, whose data may have 8 KiB.
const messageBytes = 32 << 10

// messageRoutes publish messages to the subscribers of events: additions to the
// contract.
func messageRoutes() []Route {
	limit := func(*Caller) int { return messageBytes }
	return []Route{
		{Method: http.MethodPost, Path: "/broadcast", access: staff(), handle: (*API).postBroadcast, limit: limit},
		{Method: http.MethodPost, Path: "/pusher_broadcast", access: staff(), handle: (*API).postPusherBroadcast, limit: limit},
		{Method: http.MethodPost, Path: "/extension_broadcast", access: adminOrBackend(), handle: (*API).postExtensionBroadcast, limit: limit},
		{Method: http.MethodPost, Path: "/broadcast_extension", access: adminOrBackend(), handle: (*API).postExtensionBroadcast, limit: limit},
		{Method: http.MethodPost, Path: "/whisper_self", access: anyone(), handle: (*API).postWhisperSelf, limit: limit},
	}
}

func (c *Caller) feed() message.Feed {
	return message.Feed{Environment: string(c.Environment), Extension: c.Extension.ClientID, Channel: c.ChannelID}
}

func (a *API) postBroadcast(w http.ResponseWriter, r *apiRequest) error {
	body, m, err := decodeMessage(r.body)
	if err != nil {
		return err
	}
	return a.broadcast(w, r, body, m)
}

// postPusherBroadcast is postBroadcast for clients that name an event as it arrives, with
// its environment and client id.
func (a *API) postPusherBroadcast(w http.ResponseWriter, r *apiRequest) error {
	body, m, err := decodeMessage(r.body)
	if err != nil {
		return err
	}
	name, ok := strings.CutPrefix(m.Name, string(r.caller.Environment)+":"+r.caller.Extension.ClientID+":")
	if !ok {
		return fault.New(fault.Invalid, "event must begin with the environment and the client id")
	}
	m.Name = name
	return a.broadcast(w, r, body, m)
}

// broadcast publishes a message to the channel that its body or else the token names.
func (a *API) broadcast(w http.ResponseWriter, r *apiRequest, body *jsonObject, m message.Message) (err error) {
	feed := r.caller.feed()
	channel := body.text("user_id")
	if body.err != nil || len(channel) > maxID {
		return errInvalidBody()
	}
	if channel != "" && channel != feed.Channel {
		if r.caller.Role == Broadcaster {
			return fault.New(fault.Forbidden, "The JWT role is not allowed to perform this operation.")
		}
		feed.Channel = channel
	}
	if m.To, err = body.target(); err != nil {
		return err
	}
	if feed.Channel == "" {
		return fault.New(fault.Invalid, "The JWT names no channel")
	}
	keys, err := a.requestKeys(r, feed.Channel)
	if err != nil {
		return err
	}
	if err := a.limiters.admitMessage(r.caller, "channel\x00"+feed.Channel, 1); err != nil {
		return err
	}
	return writeDoneOnce(w, keys, a.config.Messages.Publish(r.Context(), feed, m, keys...))
}

func (a *API) postExtensionBroadcast(w http.ResponseWriter, r *apiRequest) error {
	body, m, err := decodeMessage(r.body)
	if err != nil {
		return err
	}
	if m.To, err = body.target(); err != nil {
		return err
	}
	keys, err := a.requestKeys(r, "")
	if err != nil {
		return err
	}
	if err := a.limiters.admitMessage(r.caller, "extension", 1); err != nil {
		return err
	}
	feed := r.caller.feed()
	feed.Channel, feed.Global = "", true
	return writeDoneOnce(w, keys, a.config.Messages.Publish(r.Context(), feed, m, keys...))
}

// postWhisperSelf limits each viewer and, because the viewers of a channel share a
// feed, all of them together.
func (a *API) postWhisperSelf(w http.ResponseWriter, r *apiRequest) error {
	c := r.caller
	if c.OpaqueID == "" {
		return fault.New(fault.Invalid, "The JWT names no viewer")
	}
	err := a.limiters.admitMessage(c, "viewer\x00"+c.ChannelID+"\x00"+c.OpaqueID, 1)
	if err == nil {
		err = a.limiters.admitMessage(c, "viewers\x00"+c.ChannelID, 10)
	}
	if err != nil {
		return err
	}
	if err := a.takeWhisper(r); err != nil {
		return err
	}
	_, m, err := decodeMessage(r.body)
	if err != nil {
		return err
	}
	keys, err := a.requestKeys(r, "")
	if err != nil {
		return err
	}
	m.To = c.OpaqueID
	feed := c.feed()
	feed.Whispers = true
	return writeDoneOnce(w, keys, a.config.Messages.Publish(r.Context(), feed, m, keys...))
}

// decodeMessage returns the message in a body, without its addressee, and the body.
func decodeMessage(sent []byte) (*jsonObject, message.Message, error) {
	body := decodeObject(sent)
	m := message.Message{Name: body.text("event")}
	if body.err != nil || !body.has("data") {
		return nil, m, errInvalidBody()
	}
	m.Data = compactJSON(body.members["data"])
	return body, m, checkStored(m.Data)
}

// target returns the opaque id or user id that the body addresses a message to, "" for
// all. A target that is neither is refused, never taken for a wider one.
func (o *jsonObject) target() (to string, err error) {
	if !o.has("target") {
		return "", nil
	}
	target := o.text("target")
	if o.err != nil {
		return "", o.err
	}
	to, whisper := strings.CutPrefix(target, "whisper-")
	switch {
	case target == "broadcast":
		return "", nil
	case !whisper || to == "" || len(to) > maxID:
		return "", fault.New(fault.Invalid, "Invalid target")
	}
	return to, nil
}

// compactJSON removes insignificant white space from valid JSON.
func compactJSON(valid json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if err := json.Compact(&out, valid); err != nil {
		panic(err) // it was decoded before
	}
	return out.Bytes()
}
