package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/message"
)

// Messages is what the routes of messages need of package message.
type Messages interface {
	Publish(ctx context.Context, f message.Feed, m message.Message) error
}

// messageBytes bounds the body of a message, whose data may have 5 KiB.
const messageBytes = 16 << 10

// messageRoutes say something to those who listen: additions to the contract that
// clients of this kind have.
func (a *API) messageRoutes() []Route {
	if a.config.Messages == nil {
		return nil
	}
	limit := func(*Caller) int { return messageBytes }
	return []Route{
		{Method: http.MethodPost, Path: "/broadcast", access: staff(), handle: a.postBroadcast, limit: limit},
		{Method: http.MethodPost, Path: "/extension_broadcast", access: adminOrBackend(), handle: a.postExtensionBroadcast, limit: limit},
		{Method: http.MethodPost, Path: "/whisper_self", access: anyone(), handle: a.postWhisperSelf, limit: limit},
	}
}

func (c *Caller) feed() message.Feed {
	return message.Feed{Environment: string(c.Environment), Extension: c.Extension.ClientID, Channel: c.ChannelID}
}

func (a *API) postBroadcast(w http.ResponseWriter, r *request) error {
	if err := a.limiters.admitMessage(r.caller, "channel\x00"+r.caller.ChannelID, 1); err != nil {
		return err
	}
	return a.publish(w, r, r.caller.feed(), "")
}

func (a *API) postExtensionBroadcast(w http.ResponseWriter, r *request) error {
	if err := a.limiters.admitMessage(r.caller, "extension", 1); err != nil {
		return err
	}
	feed := r.caller.feed()
	feed.Channel, feed.Global = "", true
	return a.publish(w, r, feed, "")
}

// postWhisperSelf is limited by viewer and, as the channel's viewers share a feed,
// all of them together.
func (a *API) postWhisperSelf(w http.ResponseWriter, r *request) error {
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
	return a.publish(w, r, c.feed(), c.OpaqueID)
}

// publish says what the body has to those who listen to a feed, or to one of them.
func (a *API) publish(w http.ResponseWriter, r *request, feed message.Feed, to string) error {
	body := decodeObject(r.body)
	m := message.Message{To: to, Name: "default"}
	if body.has("event") {
		m.Name = body.text("event")
	}
	if body.err != nil || !body.has("data") {
		return errInvalidBody()
	}
	m.Data = compact(body.members["data"])
	return done(w, a.config.Messages.Publish(r.Context(), feed, m))
}

// compact returns valid JSON without insignificant white space.
func compact(valid json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if err := json.Compact(&out, valid); err != nil {
		panic(err) // it was decoded before
	}
	return out.Bytes()
}
