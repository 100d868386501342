package ranking

import (
	"encoding/json"
	"fmt"

	"github.com/acclaim-dev/acclaim/services/internal/key"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// ParseStream returns the question whose stream has a name.
func ParseStream(name string) (Question, error) {
	var q Question
	parts, err := key.Split(name)
	if err == nil && len(parts) > 4 {
		q = Question{Environment: parts[1], Extension: parts[2], ID: parts[len(parts)-1]}
	}
	if len(parts) == 6 {
		q.Channel = parts[4]
	}
	if q.Stream() != name {
		return Question{}, fmt.Errorf("%s is not the name of a question", name)
	}
	return q, nil
}

// Readable is how the entries of questions are exported and imported.
type Readable struct{}

var _ stream.EntryCodec = Readable{}

// What an entry's member "entry" says.
const (
	readableAnswer = "answer"
	readableClear  = "clear"
)

type readableEntry struct {
	Entry    string `json:"entry"`
	Identity string `json:"identity,omitempty"`
	Key      string `json:"key,omitempty"` // of an answer never empty
}

// Readable implements [stream.EntryCodec].
func (Readable) Readable(encoded []byte) (any, []byte, error) {
	e, rest, err := rules{}.DecodeEntry(encoded)
	if err != nil {
		return nil, nil, err
	}
	if e.clear {
		return readableEntry{Entry: readableClear}, rest, nil
	}
	return readableEntry{readableAnswer, e.identity, e.key}, rest, nil
}

// AppendReadable implements [stream.EntryCodec].
func (Readable) AppendReadable(buf, object []byte) ([]byte, error) {
	var in readableEntry
	if err := json.Unmarshal(object, &in); err != nil {
		return nil, err
	}
	switch {
	case in.Entry == readableClear:
		return rules{}.AppendEntry(buf, entry{clear: true}), nil
	case in.Entry == readableAnswer && in.Identity != "":
		return rules{}.AppendEntry(buf, entry{identity: in.Identity, key: in.Key}), nil
	}
	return nil, fmt.Errorf("%.64q by %.64q is not an entry of a question", in.Entry, in.Identity)
}
