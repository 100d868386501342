package sink

import "encoding/json"

// maxMessage is how many bytes the platform lets pass in one message.
const maxMessage = 5 << 10

// pack returns as many of the events, from the first on, as one message to one
// target holds: the envelope of a single one, an array of several. There is always
// one. An event that is too large by itself is replaced by a resync event, upon
// which viewers read what there is.
func pack(prefix string, events []Event) (message []byte, n int) {
	var envelopes []json.RawMessage
	size := len("[]")
	for _, e := range events {
		if e.Target != events[0].Target || e.Channel != events[0].Channel {
			break
		}
		text := encode(envelope{Event: prefix + e.Name, Data: e.Data})
		if len(text) > maxMessage {
			text = encode(envelope{Event: prefix + "resync", Data: []byte("{}")})
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
	return encode(envelopes), n
}
