package sink

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/time/rate"

	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

// Headers of a webhook's requests, as Standard Webhooks 1.0 has them.
const (
	// IDHeader is the id of the event, the same in every attempt.
	IDHeader = "webhook-id"
	// TimestampHeader is the time of the attempt in Unix seconds.
	TimestampHeader = "webhook-timestamp"
	// SignatureHeader holds, for each active secret and separated by spaces, "v1," and the
	// base64 of the HMAC-SHA256 of "<id>.<timestamp>.<body>".
	SignatureHeader = "webhook-signature"
)

// webhookSender posts one event in each request.
type webhookSender struct{ w *sinkWorker }

// side returns that of staff: a webhook is the extension's own backend.
func (webhookSender) side() event.Sight { return event.Staff }

func (webhookSender) queueName(s event.Source) string { return s.Name }

func (webhookSender) newLimiter(string) *rate.Limiter { return nil }

func (webhookSender) isFull(events []*event.Event) bool { return len(events) > 0 }

func (h webhookSender) sendEvents(ctx context.Context, events []*event.Event) (n int, o deliveryOutcome) {
	_, s, ok := h.w.findDeclaration()
	if !ok {
		return 1, deliveryOutcome{verdict: failed, reason: errUndeclared.Error()}
	}
	e, now := events[0], h.w.m.tuning.clock.Now()
	body := e.AddressedEnvelope()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.WebhookURL, bytes.NewReader(body))
	if err != nil {
		return 1, deliveryOutcome{verdict: failed, reason: reasonOf(err)}
	}
	id, timestamp := e.ID(), strconv.FormatInt(now.Unix(), 10)
	var signatures []string
	for _, secret := range s.ActiveSecrets(now) {
		signatures = append(signatures, signDelivery(secret.Value, id, timestamp, body))
	}
	r.Header.Set(IDHeader, id)
	r.Header.Set(TimestampHeader, timestamp)
	r.Header.Set(SignatureHeader, strings.Join(signatures, " "))
	return 1, h.w.m.sendRequest(r)
}

// signDelivery returns the signature of a delivery by one secret.
func signDelivery(secret []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
