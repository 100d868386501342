package stream

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// ControlRecord describes an erasure, a truncation or a purge. A chunk without entries holds it
// where other chunks hold their entries.
type ControlRecord struct {
	Kind byte
	// Names are the ids that an erasure replaces, and their replacements; the ids are
	// empty once the control record itself is redacted.
	Names []IDReplacement
	// Drop makes the erasure leave out the data that the viewer submitted, too.
	Drop bool
	// Until is the sequence number of the last chunk that a truncation or a purge empties.
	Until uint64
	// Checksum is the digest over all redacted chunks before a checksum record.
	Checksum Digest
	// Checkpoint replaces the chunks up to its head after a truncation.
	Checkpoint Snapshot
}

// IDReplacement gives a viewer's id another name.
type IDReplacement struct{ ID, Name string }

// The kinds of control records.
const (
	RecordErasing    = iota + 1 // names an id: the erasure may not be finished
	RecordErased                // was of the kind before; the erasure is finished
	RecordChecksum              // the chunks before are redacted
	RecordTruncating            // begins a truncation that may not be finished
	RecordTruncated             // was of the kind before; the truncation is finished
	RecordCheckpoint            // replaces chunk 1: the state after the truncated chunks
	RecordTombstone             // replaces each of the other truncated chunks
	RecordPurging               // begins the stream again; the chunks before may not be emptied
	RecordPurged                // was of the kind before; the chunks before are emptied
)

// HasKind reports whether there is a control record of a kind.
func (c *ControlRecord) HasKind(kind byte) bool { return c != nil && c.Kind == kind }

// IsUnfinished reports whether the control record begins an erasure, a truncation or a
// purge that may not be finished.
func (c *ControlRecord) IsUnfinished() bool {
	return c.HasKind(RecordErasing) || c.HasKind(RecordTruncating) || c.HasKind(RecordPurging)
}

// StartsAgain reports whether the state after the control record is that of a new stream.
func (c *ControlRecord) StartsAgain() bool {
	return c.HasKind(RecordPurging) || c.HasKind(RecordPurged)
}

// ReplacesIDs reports whether chunks before the control record are about other names than they
// were before it.
func (c *ControlRecord) ReplacesIDs() bool {
	return c.HasKind(RecordErasing) || c.HasKind(RecordErased)
}

// isTruncated reports whether the chunk is one whose entries a truncation has taken.
func (c *ControlRecord) isTruncated() bool {
	return c.HasKind(RecordCheckpoint) || c.HasKind(RecordTombstone)
}

// ConcernsID reports whether the erasure is about the viewer with an id, before or after
// it was replaced.
func (c *ControlRecord) ConcernsID(id string) bool {
	for _, naming := range c.Names {
		if id == naming.ID || id == naming.Name {
			return true
		}
	}
	return false
}

// replaceID returns what an id is called after the control record.
func (c *ControlRecord) replaceID(id string) string {
	for _, naming := range c.Names {
		if id == naming.ID {
			return naming.Name
		}
	}
	return id
}

// encodePayload returns the payload of a chunk that holds the control record and no groups.
func (c *ControlRecord) encodePayload() []byte { return c.appendEncoding([]byte(noGroups)) }

// appendEncoding appends the encoding of the control record.
func (c *ControlRecord) appendEncoding(buf []byte) []byte {
	buf = append(buf, c.Kind)
	switch c.Kind {
	case RecordChecksum:
		return append(buf, c.Checksum[:]...)
	case RecordTruncating, RecordTruncated, RecordPurging, RecordPurged:
		return binary.BigEndian.AppendUint64(buf, c.Until)
	case RecordCheckpoint:
		return c.appendCheckpoint(buf)
	case RecordTombstone:
		return buf
	}
	buf = wire.AppendBool(buf, c.Drop)
	for _, naming := range c.Names {
		buf = wire.AppendBytes(wire.AppendBytes(buf, naming.ID), naming.Name)
	}
	return buf
}

func (c *ControlRecord) appendCheckpoint(buf []byte) []byte {
	head := c.Checkpoint.Head
	buf = binary.BigEndian.AppendUint64(buf, head.Seq)
	buf = binary.BigEndian.AppendUint64(buf, uint64(head.At))
	buf = append(buf, head.Sum[:]...)
	buf = binary.BigEndian.AppendUint32(buf, c.Checkpoint.Format)
	return append(buf, c.Checkpoint.State...)
}

// controlRecordIn returns the control record that a chunk holds behind its groups, nil when it
// holds none.
func controlRecordIn(chunk *Chunk, encoded []byte) (*ControlRecord, error) {
	if chunk.Count > 0 || len(encoded) == 0 {
		return nil, nil
	}
	n, err := decodeControlRecord(encoded)
	if err != nil || n.HasKind(RecordCheckpoint) && chunk.Seq != 1 {
		return nil, fmt.Errorf("%w: %s chunk %d: %w", ErrDamaged, chunk.Stream, chunk.Seq, cmp.Or(err, errControlRecord))
	}
	return n, nil
}

var errControlRecord = errors.New("stream: a control record is malformed")

func decodeControlRecord(encoded []byte) (*ControlRecord, error) {
	n := &ControlRecord{Kind: encoded[0]}
	rest := encoded[1:]
	switch n.Kind {
	case RecordErasing, RecordErased:
		return n, n.cutNames(rest)
	case RecordChecksum:
		if copy(n.Checksum[:], rest) == len(rest) && len(rest) == len(n.Checksum) {
			return n, nil
		}
	case RecordTruncating, RecordTruncated, RecordPurging, RecordPurged:
		if len(rest) == 8 {
			n.Until = binary.BigEndian.Uint64(rest)
			return n, nil
		}
	case RecordCheckpoint:
		return n, n.cutCheckpoint(rest)
	case RecordTombstone:
		if len(rest) == 0 {
			return n, nil
		}
	}
	return nil, errControlRecord
}

func (c *ControlRecord) cutNames(rest []byte) error {
	r := wire.NewReader(rest)
	c.Drop = r.Bool()
	for len(r.Rest()) > 0 {
		c.Names = append(c.Names, IDReplacement{r.Text(), r.Text()})
	}
	if r.Err() != nil {
		return errControlRecord
	}
	return nil
}

func (c *ControlRecord) cutCheckpoint(rest []byte) error {
	if len(rest) < 8+8+len(Digest{})+4 {
		return errControlRecord
	}
	head := &c.Checkpoint.Head
	head.Seq, rest = binary.BigEndian.Uint64(rest), rest[8:]
	head.At, rest = int64(binary.BigEndian.Uint64(rest)), rest[8:]
	rest = rest[copy(head.Sum[:], rest):]
	c.Checkpoint.Format, c.Checkpoint.State = binary.BigEndian.Uint32(rest), slices.Clone(rest[4:])
	return nil
}
