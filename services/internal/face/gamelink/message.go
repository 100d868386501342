package gamelink

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// pushID is the request id of pushes, and of requests without one.
const pushID = 65535

// gameRequest is one message of a client.
type gameRequest struct {
	action, target string
	id             int64
	data           *gameData
	strict         bool     // refuses members that the request has not
	unknown        []string // such members beside those of data
}

// gameData is the members of an object that a client sends. The first of a wrong type makes
// err; null is a wrong type.
type gameData struct {
	members map[string]json.RawMessage
	err     error
}

// decodeData reads a JSON object and nothing else.
func decodeData(raw []byte) *gameData {
	d := &gameData{}
	if !utf8.Valid(raw) || json.Unmarshal(raw, &d.members) != nil || d.members == nil {
		d.fail("data")
	}
	return d
}

func (d *gameData) fail(name string) {
	if d.err == nil {
		d.err = fault.Newf(fault.Invalid, "%s is missing or has the wrong type", name)
	}
}

func (d *gameData) has(name string) bool { _, ok := d.members[name]; return ok }

// text returns the string member of that name, "" when there is none.
func (d *gameData) text(name string) (s string) {
	if raw, ok := d.members[name]; ok && (raw[0] != '"' || json.Unmarshal(raw, &s) != nil) {
		d.fail(name)
	}
	return s
}

// required is text for a member that must be there and not be empty.
func (d *gameData) required(name string) string {
	s := d.text(name)
	if s == "" {
		d.fail(name)
	}
	return s
}

// texts returns the array of strings of that name.
func (d *gameData) texts(name string) (list []string) {
	raw, ok := d.members[name]
	if !ok {
		return nil
	}
	var items []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		d.fail(name)
	}
	for _, item := range items {
		var s string
		if item[0] != '"' || json.Unmarshal(item, &s) != nil {
			d.fail(name)
		}
		list = append(list, s)
	}
	return list
}

// integer returns the integer member of that name, 0 when there is none.
func (d *gameData) integer(name string) (n int64) {
	raw, ok := d.members[name]
	if !ok {
		return 0
	}
	if c := raw[0]; c != '-' && (c < '0' || c > '9') {
		d.fail(name)
		return 0
	}
	n, ok = exactjson.ParseNumber(string(raw)).Int64()
	if !ok {
		d.fail(name)
	}
	return n
}

// flag returns the boolean member of that name, false when there is none.
func (d *gameData) flag(name string) (b bool) {
	if raw, ok := d.members[name]; ok && (raw[0] != 't' && raw[0] != 'f' || json.Unmarshal(raw, &b) != nil) {
		d.fail(name)
	}
	return b
}

// object returns the object member of that name. Without one it is empty.
func (d *gameData) object(name string) *gameData {
	raw, ok := d.members[name]
	if !ok {
		return &gameData{members: map[string]json.RawMessage{}}
	}
	o := decodeData(raw)
	if o.err != nil {
		d.fail(name)
	}
	return o
}

// raw returns the member of that name, which must begin with a byte.
func (d *gameData) raw(name string, first byte) json.RawMessage {
	raw := d.members[name]
	if len(raw) == 0 || raw[0] != first {
		d.fail(name)
	}
	return raw
}

// decodeRequest reads a message. An unreadable one has no action, no target and the id of
// pushes.
func decodeRequest(message []byte) (*gameRequest, error) {
	unreadable := &gameRequest{id: pushID}
	envelope := decodeData(message)
	if envelope.err != nil {
		return unreadable, fault.New(fault.Invalid, "The message is not a JSON object")
	}
	params := envelope.object("params")
	r := &gameRequest{action: envelope.required("action"), target: params.text("target"), id: pushID, data: envelope.object("data")}
	r.strict, r.unknown = params.flag("strict"), envelopeMembers().unknownIn(envelope.members, "")
	if params.has("request_id") {
		if r.id = params.integer("request_id"); r.id < 0 || r.id > pushID {
			params.fail("request_id")
		}
	}
	if params.err != nil || !envelope.has("action") {
		return unreadable, errors.Join(params.err, envelope.err)
	}
	if envelope.err != nil && r.action == "" {
		return unreadable, envelope.err
	}
	return r, envelope.err
}

// meta is the head of what the server sends.
type meta struct {
	RequestID int64  `json:"request_id"`
	Action    string `json:"action"`
	Target    string `json:"target"`
	Timestamp int64  `json:"timestamp"` // Unix milliseconds
}

// serverMessage is an answer or a push: with data or with errors.
type serverMessage struct {
	Meta   meta             `json:"meta"`
	Data   any              `json:"data,omitempty"`
	Errors []gameErrorEntry `json:"errors,omitempty"`
}

type gameErrorEntry struct {
	Number int    `json:"number"`
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
}

// gameError is a refusal with the status that the API gave, or would give.
type gameError struct {
	status int
	reason string
}

func (e *gameError) Error() string { return fmt.Sprintf("%d %s", e.status, e.reason) }

func refuse(status int, reason string) error { return &gameError{status, reason} }

func errorEntry(err error) gameErrorEntry {
	status, reason := http.StatusInternalServerError, "Internal error"
	if refused, ok := errors.AsType[*gameError](err); ok {
		status, reason = refused.status, refused.reason
	} else if f, ok := errors.AsType[*fault.Error](err); ok {
		switch f.Kind {
		case fault.Invalid, fault.Mismatch:
			status, reason = http.StatusBadRequest, f.Reason
		case fault.NotFound:
			status, reason = http.StatusNotFound, f.Reason
		case fault.TooLarge:
			status, reason = http.StatusRequestEntityTooLarge, f.Reason
		case fault.Unauthenticated:
			status, reason = http.StatusBadRequest, f.Reason
		case fault.Forbidden:
			status, reason = http.StatusForbidden, f.Reason
		case fault.RateLimited:
			status, reason = http.StatusTooManyRequests, f.Reason
		case fault.Unavailable:
			status, reason = http.StatusServiceUnavailable, "The service cannot take this request now; nothing was stored"
		}
	}
	return gameErrorEntry{status, status, http.StatusText(status), reason}
}

// encodeASCII returns a value as JSON of ASCII alone: the C# client counts characters where
// it needs bytes.
func encodeASCII(v any) []byte {
	encoded, err := exactjson.Marshal(v)
	if err != nil {
		panic(err) // messages always encode
	}
	out := make([]byte, 0, len(encoded))
	for len(encoded) > 0 {
		if encoded[0] < utf8.RuneSelf {
			out, encoded = append(out, encoded[0]), encoded[1:]
			continue
		}
		r, size := utf8.DecodeRune(encoded)
		encoded = encoded[size:]
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		} else {
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// done is the data of an answer without another result.
type done struct {
	OK bool `json:"ok"`
}
