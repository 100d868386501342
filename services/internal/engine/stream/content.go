package stream

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// EntryCodec turns the encoded entries of a domain into something to read and
// back. It is pure, and each domain has one beside its encoding.
type EntryCodec interface {
	// Readable reads an entry and returns it as a value that encoding/json encodes
	// as an object. A malformed entry is an error of r.
	Readable(r *wire.Reader) (entry any)

	// AppendReadable appends the encoding of an entry to buf, which is given as the
	// JSON object that Readable's value became.
	AppendReadable(buf, object []byte) ([]byte, error)
}

// Group is a group of commands that a chunk names, see invariant 9, or the keys in a chunk,
// whose ID is "idempotency-keys" and whose Stored their encoding.
type Group struct {
	// ID is in hexadecimal.
	ID string `json:"id"`
	// Stored has a digit for each command, in order and filled up to a multiple of
	// eight: 1 if it has an entry, 0 if it was refused or changed nothing.
	Stored string `json:"stored"`
}

// Content returns what the chunk's payload holds. The error is [ErrDamaged] where
// it does not decode.
func (c *Chunk) Content(codec EntryCodec) (groups []Group, entries []any, err error) {
	header, encoded, err := splitPayload(c)
	if err != nil {
		return nil, nil, err
	}
	members := header.groups
	if len(header.keys) > 0 {
		members = append(slices.Clip(members), storedGroup{GroupID([]byte(keysGroup)), encodeKeys(header.keys)})
	}
	for _, m := range members {
		groups = append(groups, Group{ID: hex.EncodeToString(m.id[:]), Stored: m.stored.String()})
	}
	r := wire.NewReader(encoded)
	for n := range c.Count {
		entries = append(entries, codec.Readable(r))
		if err := r.Err(); err != nil {
			return nil, nil, fmt.Errorf("%w: %s chunk %d entry %d: %w", ErrDamaged, c.Stream, c.Seq, n, err)
		}
	}
	return groups, entries, nil
}

// NewPayload returns the payload that holds what Content returned, its entries as
// JSON objects.
func NewPayload(codec EntryCodec, groups []Group, entries []json.RawMessage) (payload []byte, err error) {
	members := make([]storedGroup, len(groups))
	for i, g := range groups {
		if members[i], err = g.parseHex(); err != nil {
			return nil, fmt.Errorf("group %d: %w", i, err)
		}
	}
	payload = encodeMemberships(members)
	for i, entry := range entries {
		if payload, err = codec.AppendReadable(payload, entry); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
	}
	return payload, nil
}

func (g Group) parseHex() (m storedGroup, err error) {
	id, err := hex.DecodeString(g.ID)
	if err != nil || copy(m.id[:], id) != len(id) || len(id) != len(m.id) {
		return m, fmt.Errorf("%q is not the id of a group", g.ID)
	}
	m.stored = newBitmap(len(g.Stored))
	for i, digit := range g.Stored {
		switch digit {
		case '1':
			m.stored.set(i)
		case '0':
		default:
			return m, fmt.Errorf("%q is not a row of 0 and 1", g.Stored)
		}
	}
	return m, nil
}

// String returns a digit for each bit.
func (b commandBitmap) String() string {
	var digits strings.Builder
	for i := range 8 * len(b) {
		if b.has(i) {
			digits.WriteByte('1')
		} else {
			digits.WriteByte('0')
		}
	}
	return digits.String()
}
