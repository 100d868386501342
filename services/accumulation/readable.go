package accumulation

import (
	"encoding/json"
	"fmt"

	"github.com/acclaim-dev/acclaim/services/internal/key"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// ParseStream returns the buffer whose stream has a name.
func ParseStream(name string) (Buffer, error) {
	var b Buffer
	if parts, err := key.Split(name); err == nil && len(parts) == 4 {
		b = Buffer{Environment: parts[1], Extension: parts[2], Name: parts[3]}
	}
	if b.Stream() != name {
		return Buffer{}, fmt.Errorf("%s is not the name of a buffer", name)
	}
	return b, nil
}

// Readable is how the entries of buffers are exported and imported: as objects
// whose members have the names that the HTTP API gives them.
type Readable struct{}

var _ stream.EntryCodec = Readable{}

type readableSubmission struct {
	Entry     string          `json:"entry"` // submission
	ChannelID string          `json:"channel_id"`
	OpaqueID  string          `json:"opaque_user_id"`
	UserID    string          `json:"user_id"`
	Data      json.RawMessage `json:"data"`
}

const submission = "submission"

// Readable implements [stream.EntryCodec].
func (Readable) Readable(encoded []byte) (any, []byte, error) {
	s, rest, err := rules{}.DecodeEntry(encoded)
	if err != nil {
		return nil, nil, err
	}
	if !json.Valid(s.Data) {
		s.Data = nil
	}
	return readableSubmission{submission, s.ChannelID, s.OpaqueID, s.UserID, s.Data}, rest, nil
}

// AppendReadable implements [stream.EntryCodec].
func (Readable) AppendReadable(buf, object []byte) ([]byte, error) {
	var in readableSubmission
	if err := json.Unmarshal(object, &in); err != nil {
		return nil, err
	}
	if in.Entry != submission {
		return nil, fmt.Errorf("%q is not an entry of a buffer", in.Entry)
	}
	return rules{}.AppendEntry(buf, Submission{in.ChannelID, in.OpaqueID, in.UserID, in.Data}), nil
}
