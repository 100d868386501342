package httpapi

import (
	"bytes"
	"net/http"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/quota"
	"github.com/acclaim-dev/acclaim/services/message"
)

// Names of the messages to the games in a channel.
const (
	DatastreamMessage = "datastream"
	PurchaseMessage   = "purchase"
)

// datastreamRoutes returns the route on which viewers send objects to the games in a channel.
func datastreamRoutes() []Route {
	return []Route{{
		Method: http.MethodPost, Path: "/datastream", access: anyone(), handle: (*API).postDatastream,
		limit: func(*Caller) int { return message.MaxData },
	}}
}

// gameFeed is the feed of the games in the caller's channel.
func (c *Caller) gameFeed() message.Feed {
	feed := c.feed()
	feed.Games = true
	return feed
}

// takeDatastream takes an object from the rate of the channel, ten times that of messages, which
// its viewers share: one that sends little has its part whatever the others send.
func (a *API) takeDatastream(r *apiRequest) error {
	c, limit := r.caller, r.caller.Limits().MessageRate
	if !limit.Limited() {
		return nil
	}
	burst := int64(max(limit.Burst, 1)) * datastreamFactor
	period := time.Duration(float64(burst) / (limit.PerSecond * datastreamFactor) * float64(time.Second))
	return a.take(r, "Too many requests", quota.Claim{
		Kind: quota.Datastream, Holder: c.extensionQuotaHolder + "\x00" + c.ChannelID, Party: c.identity(),
		Quota: quota.Quota{Amount: burst, Period: period}, Amount: 1,
	})
}

// datastreamFactor multiplies the rate of messages for all viewers of a channel.
const datastreamFactor = 10

// postDatastream keeps the object as it came, but for insignificant white space. A message has
// a limit for each viewer, as one to itself has.
func (a *API) postDatastream(w http.ResponseWriter, r *apiRequest) error {
	body := decodeObject(r.body)
	if body.err != nil {
		return body.err
	}
	if err := checkStored(r.body); err != nil {
		return err
	}
	c := r.caller
	if c.ChannelID == "" {
		return fault.New(fault.Invalid, "The JWT names no channel")
	}
	err := a.limiters.admitMessage(c, "datastream\x00"+c.ChannelID+"\x00"+c.identity(), 1)
	if err == nil {
		err = a.takeDatastream(r)
	}
	if err == nil {
		err = a.takeWhisper(r)
	}
	if err != nil {
		return err
	}
	m := message.Message{Name: DatastreamMessage, To: c.identity(), Data: compactJSON(bytes.Clone(r.body))}
	return writeDone(w, a.config.Messages.Announce(r.Context(), c.gameFeed(), m))
}
