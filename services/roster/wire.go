package roster

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

func (r rosterRules) AppendCommand(buf []byte, c rosterCommand) []byte {
	if c.query {
		return binary.AppendUvarint(append(buf, queryFrom), c.from)
	}
	return r.AppendEntry(buf, c.rosterEntry)
}

func (rosterRules) DecodeCommand(r *wire.Reader) rosterCommand {
	if rest := r.Rest(); len(rest) > 0 && rest[0] == queryFrom {
		r.Byte()
		return rosterCommand{query: true, from: r.Uvarint()}
	}
	return rosterCommand{rosterEntry: rosterRules{}.DecodeEntry(r)}
}

func (rosterRules) AppendResult(buf []byte, p, _ Page) []byte {
	buf = binary.AppendUvarint(binary.AppendUvarint(buf, p.Next), uint64(len(p.UserIDs)))
	for _, id := range p.UserIDs {
		buf = wire.AppendBytes(buf, id)
	}
	return buf
}

func (rosterRules) DecodeResult(r *wire.Reader, _ Page) Page {
	p := Page{Next: r.Uvarint()}
	for range r.Count(1) {
		p.UserIDs = append(p.UserIDs, r.Text())
	}
	return p
}

// AppendSnapshot writes the number of the last viewer and each viewer with its number.
func (rosterRules) AppendSnapshot(buf []byte, l *viewerList) []byte {
	buf = binary.AppendUvarint(buf, l.last)
	l.viewers.Scan(func(number uint64, id string) bool {
		buf = wire.AppendBytes(binary.AppendUvarint(buf, number), id)
		return true
	})
	return buf
}

func (rosterRules) RestoreSnapshot(r *wire.Reader) *viewerList {
	l := &viewerList{last: r.Uvarint(), numbers: map[string]uint64{}}
	for len(r.Rest()) > 0 && r.Err() == nil {
		number, id := r.Uvarint(), r.Text()
		if number == 0 || number > l.last || l.numbers[id] != 0 {
			r.Fail(wire.ErrMalformed)
		}
		if r.Err() == nil {
			l.add(number, id)
		}
	}
	return l
}

// EntryCodec is the readable form of the entries of rosters, for exports.
type EntryCodec struct{}

var _ stream.EntryCodec = EntryCodec{}

// readableEntry is an entry in an export.
type readableEntry struct {
	Entry  string `json:"entry"` // seen or gone
	UserID string `json:"userID"`
}

// Readable implements [stream.EntryCodec].
func (EntryCodec) Readable(r *wire.Reader) any {
	e := rosterRules{}.DecodeEntry(r)
	if e.gone {
		return readableEntry{"gone", e.id}
	}
	return readableEntry{"seen", e.id}
}

// AppendReadable implements [stream.EntryCodec].
func (EntryCodec) AppendReadable(buf, object []byte) ([]byte, error) {
	var in readableEntry
	if err := json.Unmarshal(object, &in); err != nil {
		return nil, err
	}
	if in.UserID == "" || in.Entry != "seen" && in.Entry != "gone" {
		return nil, fmt.Errorf("%.64q is not an entry of a roster", in.Entry)
	}
	return rosterRules{}.AppendEntry(buf, rosterEntry{gone: in.Entry == "gone", id: in.UserID}), nil
}
