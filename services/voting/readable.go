package voting

import (
	"encoding/json"
	"fmt"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// EntryCodec exports and imports the entries of polls as objects whose members have
// the names that the HTTP API gives them.
type EntryCodec struct{}

var _ stream.EntryCodec = EntryCodec{}

// What an entry's member "entry" says.
const (
	readableVote     = "vote"
	readableConfig   = "config"
	readableModifier = "modifier"
	readableReset    = "reset"
	readableListed   = "listed" // what only the list of a poll has, and its configurations
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
	readableInList
}

// readableInList has what the list of a poll needs of an entry, in the encoding of entries.
type readableInList struct {
	Listed []byte `json:"listed,omitempty"`
}

type readableConfigured struct {
	Config json.RawMessage `json:"config"`
}

type readableModified struct {
	User string `json:"user"`
	Add  int64  `json:"add"`
}

type readableListedModified struct {
	readableModified
	readableInList
}

// Readable implements [stream.EntryCodec].
func (EntryCodec) Readable(r *wire.Reader) any {
	encoded := r.Rest()
	switch e := (pollRules{}).DecodeEntry(r).(type) {
	case *voteEntry:
		return struct {
			readableEntry
			readableVoted
		}{
			readableEntry{readableVote},
			readableVoted{e.voter.OpaqueID, e.voter.UserID, e.byUser, e.replace, int64(e.value), int64(e.times), readableInList{e.listed.encode()}},
		}
	case configEntry:
		if r.Err() != nil {
			return nil
		}
		return struct {
			readableEntry
			readableConfigured
		}{readableEntry{readableConfig}, readableConfigured{wire.NewReader(encoded[1:]).Bytes()}}
	case modifierEntry:
		return struct {
			readableEntry
			readableModified
		}{readableEntry{readableModifier}, readableModified{e.user, e.add}}
	case *listedModifier:
		return struct {
			readableEntry
			readableListedModified
		}{readableEntry{readableModifier}, readableListedModified{readableModified{e.user, e.add}, readableInList{e.listed.encode()}}}
	case *listedConfig, listedEvent:
		return struct {
			readableEntry
			readableInList
		}{readableEntry{readableListed}, readableInList{encoded[:len(encoded)-len(r.Rest())]}}
	}
	return readableEntry{readableReset}
}

// AppendReadable implements [stream.EntryCodec].
func (EntryCodec) AppendReadable(buf, object []byte) ([]byte, error) {
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
		if !isWithin(in.Value, contract.MinValue, contract.MaxValue) || !isWithin(in.Count, 1, contract.MaxCount) {
			return nil, errUnacceptable
		}
		buf = in.readableVoted.entry().appendTo(buf)
	case readableConfig:
		config, err := decodeConfig(in.Config)
		if err != nil {
			return nil, err
		}
		buf = configEntry{config}.appendTo(buf)
	case readableModifier:
		buf = in.readableModified.entry(in.Listed).appendTo(buf)
	case readableListed:
		buf = append(buf, in.Listed...)
	case readableReset:
		buf = resetEntry{}.appendTo(buf)
	default:
		return nil, fmt.Errorf("%q is not an entry of a poll", in.Entry)
	}
	return buf, checkEntry(buf[begin:])
}

// checkEntry returns an error unless the encoding is that of one entry.
func checkEntry(encoded []byte) error {
	r := wire.NewReader(encoded)
	pollRules{}.DecodeEntry(r)
	if r.Err() == nil && len(r.Rest()) > 0 {
		r.Fail(wire.ErrMalformed)
	}
	return r.Err()
}

func (v *readableVoted) entry() Entry {
	voter := Voter{OpaqueID: v.Opaque, UserID: v.Identifier}
	return &voteEntry{voter, v.ByUser, v.Replace, int16(v.Value), uint16(v.Count), readInList(v.Listed)}
}

func (m *readableModified) entry(listed []byte) Entry {
	modified := modifierEntry{m.User, m.Add}
	if l := readInList(listed); l != nil {
		return &listedModifier{modified, *l}
	}
	return modified
}

// encode returns the encoding, nil of what is in no list.
func (l *listedVote) encode() []byte {
	if l == nil {
		return nil
	}
	return l.appendTo(nil)
}

// readInList returns what encode encoded. What is malformed fails when the entry is decoded.
func readInList(encoded []byte) *listedVote {
	if encoded == nil {
		return nil
	}
	return readListedVote(wire.NewReader(encoded))
}
