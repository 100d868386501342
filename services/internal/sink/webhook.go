package sink

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// Headers of a webhook's requests.
const (
	// SignatureHeader is "t=", the time in Unix seconds, and for each active secret
	// ",v1=" and the hexadecimal HMAC-SHA256 of that time, a dot and the body.
	SignatureHeader = "Acclaim-Signature"
	// DeliveryHeader is the id of the event.
	DeliveryHeader = "Acclaim-Delivery"
)

// webhook posts one event in each request.
type webhook struct{ w *worker }

func (webhook) lane(s subject) string { return s.name }

func (webhook) limiter() *rate.Limiter { return nil }

func (webhook) full(events []Event) bool { return len(events) > 0 }

func (h webhook) send(ctx context.Context, events []Event) (n int, a answer) {
	_, s, ok := h.w.declared()
	if !ok {
		return 1, answer{verdict: failed, reason: errUndeclared.Error()}
	}
	e, now := events[0], h.w.m.options.Clock.Now()
	body := encode(envelope{Event: h.w.prefix() + e.Name, Data: e.Data, Target: e.Target, Channel: e.Channel})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.WebhookURL, bytes.NewReader(body))
	if err != nil {
		return 1, answer{verdict: failed, reason: reasonOf(err)}
	}
	r.Header.Set(DeliveryHeader, e.ID)
	signature := []string{"t=" + strconv.FormatInt(now.Unix(), 10)}
	for _, secret := range s.ActiveSecrets(now) {
		signature = append(signature, "v1="+sign(secret.Value, now.Unix(), body))
	}
	r.Header.Set(SignatureHeader, strings.Join(signature, ","))
	return 1, h.w.m.do(r)
}

// sign returns the signature of a body sent at a time.
func sign(secret []byte, unix int64, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(append(strconv.AppendInt(nil, unix, 10), '.'))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// prefix is what the names of events begin with.
func (w *worker) prefix() string {
	return string(w.name.environment) + ":" + w.name.extension + ":"
}

// Bounds of answers: nothing in them matters, but a connection is used again when
// they are read.
const (
	maxAnswer = 16 << 10
	maxWait   = longestPause
)

// do sends a request whose body is JSON.
func (m *Manager) do(r *http.Request) answer {
	m.stats.requests.Add(1)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "acclaim")
	res, err := m.client.Do(r)
	if err != nil {
		return answer{verdict: failed, reason: reasonOf(err)}
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer)) // what counts has been said
	switch {
	case res.StatusCode/100 == 2:
		return answer{}
	case res.StatusCode == http.StatusGone:
		return answer{verdict: gone, reason: res.Status}
	case res.StatusCode == http.StatusTooManyRequests:
		m.stats.limited.Add(1)
	}
	return answer{verdict: failed, reason: res.Status, wait: retryAfter(res.Header, m.options.Clock.Now())}
}

// retryAfter reads how long to wait, in bounds. A date is compared with that of the
// answer, which the same clock gave, if there is one.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(seconds, 0), int(maxWait/time.Second))) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), maxWait)
}

// reasonOf leaves the URL out, whose path is often known to nobody else.
func reasonOf(err error) string {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return err.Error()
}
