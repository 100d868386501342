package sink

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Bounds of answers. Their bodies do not matter, but a connection is reused only
// after they are read.
const (
	maxAnswer = 16 << 10 // bytes
	maxWait   = maxBackoff
)

// sendRequest sends a request whose body is JSON.
func (m *Manager) sendRequest(r *http.Request) deliveryOutcome {
	m.stats.requests.Add(1)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "acclaim")
	res, err := m.client.Do(r)
	if err != nil {
		return deliveryOutcome{verdict: failed, reason: reasonOf(err)}
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer)) // the status decides
	switch {
	case res.StatusCode/100 == 2:
		return deliveryOutcome{}
	case res.StatusCode == http.StatusGone:
		return deliveryOutcome{verdict: refused, reason: res.Status}
	case res.StatusCode == http.StatusTooManyRequests:
		m.stats.limited.Add(1)
	}
	return deliveryOutcome{verdict: failed, reason: res.Status, wait: retryAfter(res.Header, m.tuning.clock.Now())}
}

// nameDelivery returns the name of the span of a request. A delivery is a trace of its own: it
// holds the newest version of what many requests have changed, some of them elsewhere.
func nameDelivery(r *http.Request) string {
	if r.Header.Get(IDHeader) != "" {
		return "webhook"
	}
	return "pubsub"
}

// retryAfter reads how long to wait, in bounds. It compares a date with that of the
// answer, which is from the same clock, if there is one.
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

// reasonOf leaves out the URL, whose path is often a secret.
func reasonOf(err error) string {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return err.Error()
}
