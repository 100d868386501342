package sink

import (
	"encoding/json"

	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

// maxMessage is the platform's limit of one message, in bytes.
const maxMessage = 5 << 10

// packEnvelopes returns as many of the events, from the first on, as one message to one
// target holds: the envelope of a single one, an array of several. There is always
// one. A resync event, upon which viewers read everything, replaces an event that is
// too large by itself.
func packEnvelopes(events []*event.Event) (message []byte, n int) {
	var envelopes []json.RawMessage
	first, size := events[0], len("[]")
	for _, e := range events {
		if e.Target() != first.Target() || e.Audience.Channel != first.Audience.Channel {
			break
		}
		text := e.Envelope()
		if len(text) > maxMessage {
			text = event.NewResync(e.Audience).Envelope()
		}
		if size += len(text) + len(","); n > 0 && size > maxMessage {
			break
		}
		envelopes = append(envelopes, text)
		n++
	}
	if n == 1 {
		return envelopes[0], 1
	}
	return event.EncodeJSON(envelopes), n
}
