package voting

import (
	"encoding/json"
	"fmt"

	"github.com/acclaim-dev/acclaim/services/internal/key"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// ParseStream returns the poll whose stream has a name.
func ParseStream(name string) (Poll, error) {
	var p Poll
	parts, err := key.Split(name)
	if err == nil && len(parts) > 4 {
		p = Poll{Environment: parts[1], Extension: parts[2], ID: parts[len(parts)-1]}
	}
	if len(parts) == 6 {
		p.Channel = parts[4]
	}
	if p.Stream() != name {
		return Poll{}, fmt.Errorf("%s is not the name of a poll", name)
	}
	return p, nil
}

// Readable is how the entries of polls are exported and imported: as objects
// whose members have the names that the HTTP API gives them.
type Readable struct{}

var _ stream.EntryCodec = Readable{}

// What an entry's member "entry" says.
const (
	readableVote     = "vote"
	readableConfig   = "config"
	readableModifier = "modifier"
	readableReset    = "reset"
)

// An object has the member "entry" and those of one of the three types below.
type readableEntry struct {
	Entry string `json:"entry"`
}

type readableVoted struct {
	Opaque     string `json:"opaque"`
	Identifier string `json:"identifier"`
	ByUser     bool   `json:"userIDVoting"`
	Replace    bool   `json:"replace"`
	Value      int64  `json:"value"`
	Count      int64  `json:"count"`
}

type readableConfigured struct {
	Config json.RawMessage `json:"config"`
}

type readableModified struct {
	User string `json:"user"`
	Add  int64  `json:"add"`
}

// Readable implements [stream.EntryCodec].
func (Readable) Readable(encoded []byte) (any, []byte, error) {
	d := &decoder{buf: encoded}
	entry := decodeEntry(d)
	if d.err != nil {
		return nil, nil, d.err
	}
	return readable(entry, encoded), d.buf, nil
}

func readable(entry Entry, encoded []byte) any {
	switch e := entry.(type) {
	case voted:
		return struct {
			readableEntry
			readableVoted
		}{
			readableEntry{readableVote},
			readableVoted{e.voter.OpaqueID, e.voter.UserID, e.byUser, e.replace, int64(e.value), int64(e.times)},
		}
	case configured:
		d := &decoder{buf: encoded[1:]}
		return struct {
			readableEntry
			readableConfigured
		}{readableEntry{readableConfig}, readableConfigured{d.bytes()}}
	case modified:
		return struct {
			readableEntry
			readableModified
		}{readableEntry{readableModifier}, readableModified{e.user, e.add}}
	}
	return readableEntry{readableReset}
}

// AppendReadable implements [stream.EntryCodec].
func (Readable) AppendReadable(buf, object []byte) ([]byte, error) {
	var in struct {
		readableEntry
		readableVoted
		readableConfigured
		readableModified
	}
	if err := json.Unmarshal(object, &in); err != nil {
		return nil, err
	}
	begin := len(buf)
	switch in.Entry {
	case readableVote:
		if !within(in.Value, minValue, maxValue) || !within(in.Count, 1, maxCount) {
			return nil, errUnacceptable
		}
		voter := Voter{OpaqueID: in.Opaque, UserID: in.Identifier}
		buf = voted{voter, in.ByUser, in.Replace, int16(in.Value), uint16(in.Count)}.append(buf)
	case readableConfig:
		config, err := decodeConfig(in.Config)
		if err != nil {
			return nil, err
		}
		buf = configured{config}.append(buf)
	case readableModifier:
		buf = modified{in.User, in.Add}.append(buf)
	case readableReset:
		buf = reset{}.append(buf)
	default:
		return nil, fmt.Errorf("%q is not an entry of a poll", in.Entry)
	}
	d := &decoder{buf: buf[begin:]}
	decodeEntry(d)
	return buf, d.err
}
