package sink

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"
)

// What the platform lets pass for each channel.
const (
	perSecond = 1
	burst     = 100
)

// tokenLifetime is how long the platform may take to look at a token.
const tokenLifetime = time.Minute

// pubSub sends what there is of a channel in one message to its viewers.
type pubSub struct{ w *worker }

// A channel has its lane; the whole extension has the empty one.
func (pubSub) lane(s subject) string { return "channel:" + s.channel }

// limiter begins with nothing in the bucket, so that the budget is kept by
// processes that follow one another.
func (pubSub) limiter() *rate.Limiter {
	l := rate.NewLimiter(perSecond, burst)
	l.AllowN(time.Now(), burst)
	return l
}

// full reports whether there is a message's worth of events, and one more: then
// as many are packed as fit.
func (pubSub) full(events []Event) bool {
	size := 0
	for _, e := range events {
		size += len(e.Data) + len(e.Name)
	}
	return size >= maxMessage || len(events) >= subjectsAtOnce
}

// claims are those of a token that the platform takes.
type claims struct {
	jwt.RegisteredClaims
	UserID    string `json:"user_id"`
	Role      string `json:"role"`
	ChannelID string `json:"channel_id"`
	Perms     struct {
		Send []string `json:"send"`
	} `json:"pubsub_perms"`
}

// publication is the body of a request.
type publication struct {
	Target      []string `json:"target"`
	Broadcaster string   `json:"broadcaster_id,omitempty"`
	Global      bool     `json:"is_global_broadcast"`
	Message     string   `json:"message"`
}

func (p pubSub) send(ctx context.Context, events []Event) (n int, a answer) {
	message, n := pack(p.w.prefix(), events)
	extension, s, ok := p.w.declared()
	if !ok {
		return n, answer{verdict: failed, reason: errUndeclared.Error()}
	}
	now, first := p.w.m.options.Clock.Now(), events[0]
	key, ok := extension.SigningSecret(p.w.name.environment, now)
	if !ok {
		return n, answer{verdict: failed, reason: "the extension has no active key"}
	}
	c := claims{UserID: extension.OwnerUserID, Role: "external", ChannelID: first.Channel}
	c.ExpiresAt, c.Perms.Send = jwt.NewNumericDate(now.Add(tokenLifetime)), []string{first.Target}
	body := publication{Target: c.Perms.Send, Broadcaster: first.Channel, Message: string(message)}
	if first.Channel == "" {
		c.ChannelID, body.Global = "all", true
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString(key.Value)
	if err != nil {
		return n, answer{verdict: failed, reason: "the token cannot be signed"}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.PubSubURL, bytes.NewReader(encode(body)))
	if err != nil {
		return n, answer{verdict: failed, reason: reasonOf(err)}
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Client-Id", extension.ClientID)
	return n, p.w.m.do(r)
}
