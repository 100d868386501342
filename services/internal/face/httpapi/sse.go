package httpapi

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/feed/live"
)

// setEventHeaders sets the headers of a stream of Server-Sent Events.
func setEventHeaders(h http.Header) {
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies forward each event at once
}

// appendDelivery appends an event with its id or, without an event, the id alone.
// Clients resume from the last id. The event's type is its target.
func (s *eventStream) appendDelivery(buf []byte, d live.Delivery) []byte {
	buf, _ = d.ID.AppendText(append(buf, "id: "...)) // an id always encodes
	if d.Event != nil && d.Event.Keys {
		s.err = s.checkCredential()
		d.Event = nil
	}
	if e := d.Event; e != nil {
		buf = append(append(buf, "\nevent: "...), oneLine(s.subscriber.TargetOf(e))...)
		buf = append(append(buf, "\ndata: "...), e.Envelope()...)
	}
	return append(buf, "\n\n"...)
}

// oneLine removes line breaks, which would end a field.
func oneLine(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.NewReplacer("\r", "", "\n", "").Replace(s)
}

// appendRetry appends how long the client waits before it reconnects, in
// milliseconds. The random part spreads clients that disconnect together.
func appendRetry(buf []byte) []byte {
	buf = strconv.AppendInt(append(buf, "retry: "...), 500+rand.Int64N(2500), 10)
	return append(buf, "\n\n"...)
}

// appendHeartbeat appends a comment.
func appendHeartbeat(buf []byte) []byte { return append(buf, ":\n\n"...) }
