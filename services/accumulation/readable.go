package accumulation

import (
	"encoding/json"
	"fmt"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// EntryCodec exports and imports the entries of buffers as objects whose members have
// the names that the HTTP API gives them.
type EntryCodec struct{}

var _ stream.EntryCodec = EntryCodec{}

type readableSubmission struct {
	Entry     string          `json:"entry"` // submission or clear
	ChannelID string          `json:"channel_id"`
	OpaqueID  string          `json:"opaque_user_id"`
	UserID    string          `json:"user_id"`
	Data      json.RawMessage `json:"data"`
}

type readableClearing struct {
	Entry string `json:"entry"`
}

// What an entry's member "entry" says.
const (
	submission = "submission"
	clearing   = "clear"
)

// Readable implements [stream.EntryCodec].
func (EntryCodec) Readable(r *wire.Reader) any {
	s := bufferRules{}.DecodeEntry(r)
	if s.isClearing() {
		return readableClearing{clearing}
	}
	if !json.Valid(s.Data) {
		s.Data = nil
	}
	return readableSubmission{submission, s.ChannelID, s.OpaqueID, s.UserID, s.Data}
}

// AppendReadable implements [stream.EntryCodec].
func (EntryCodec) AppendReadable(buf, object []byte) ([]byte, error) {
	var in readableSubmission
	if err := json.Unmarshal(object, &in); err != nil {
		return nil, err
	}
	if in.Entry == clearing {
		return bufferRules{}.AppendEntry(buf, Submission{}), nil
	}
	if in.Entry != submission || len(in.Data) == 0 {
		return nil, fmt.Errorf("%q is not an entry of a buffer", in.Entry)
	}
	return bufferRules{}.AppendEntry(buf, Submission{in.ChannelID, in.OpaqueID, in.UserID, in.Data}), nil
}
