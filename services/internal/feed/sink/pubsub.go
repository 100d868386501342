package sink

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"

	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

// The platform's rate limit of each channel is one message a second and 100 at once. A
// fifth of it is for messages to single viewers, which any viewer can send to itself.
const (
	perSecond        = 0.8
	burst            = 80
	whispersASecond  = 0.2
	burstOfWhispers  = 20
	whisperQueueName = "whispers:"
)

// tokenLifetime limits the time that the platform may take to check a token.
const tokenLifetime = time.Minute

// pubSubSender sends the events of a channel in one message to its viewers.
type pubSubSender struct{ w *sinkWorker }

// side returns that of viewers, who all receive what the platform broadcasts.
func (pubSubSender) side() event.Sight { return event.Viewers }

// A channel has a queue, and another for whispers; that of the whole extension has no
// channel in its name.
func (pubSubSender) queueName(s event.Source) string {
	if s.Whispers {
		return whisperQueueName + s.Audience.Channel
	}
	return "channel:" + s.Audience.Channel
}

// newLimiter returns an empty bucket, so that processes that follow one another keep
// the limit together.
func (pubSubSender) newLimiter(queue string) *rate.Limiter {
	l := rate.NewLimiter(perSecond, burst)
	if strings.HasPrefix(queue, whisperQueueName) {
		l = rate.NewLimiter(whispersASecond, burstOfWhispers)
	}
	l.AllowN(time.Now(), l.Burst())
	return l
}

// isFull reports whether there is a message's worth of events, and one more: then
// as many are packed as fit.
func (pubSubSender) isFull(events []*event.Event) bool {
	size := 0
	for _, e := range events {
		size += len(e.Data) + len(e.Name)
	}
	return size >= maxMessage || len(events) >= sourcesAtOnce
}

// platformClaims holds the claims of a token that the platform accepts.
type platformClaims struct {
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

func (p pubSubSender) sendEvents(ctx context.Context, events []*event.Event) (n int, o deliveryOutcome) {
	message, n := packEnvelopes(events)
	extension, s, ok := p.w.findDeclaration()
	if !ok {
		return n, deliveryOutcome{verdict: failed, reason: errUndeclared.Error()}
	}
	now, first := p.w.m.tuning.clock.Now(), events[0]
	key, ok := extension.SigningSecret(p.w.name.environment, now)
	if !ok {
		return n, deliveryOutcome{verdict: failed, reason: "the extension has no active key"}
	}
	c := platformClaims{UserID: extension.OwnerUserID, Role: "external", ChannelID: first.Audience.Channel}
	c.ExpiresAt, c.Perms.Send = jwt.NewNumericDate(now.Add(tokenLifetime)), []string{first.Target()}
	body := publication{Target: c.Perms.Send, Broadcaster: first.Audience.Channel, Message: string(message)}
	if first.Audience.Channel == "" {
		c.ChannelID, body.Global = "all", true
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString(key.Value)
	if err != nil {
		return n, deliveryOutcome{verdict: failed, reason: "the token cannot be signed"}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.PubSubURL, bytes.NewReader(event.EncodeJSON(body)))
	if err != nil {
		return n, deliveryOutcome{verdict: failed, reason: reasonOf(err)}
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Client-Id", extension.ClientID)
	return n, p.w.m.sendRequest(r)
}
