package stream

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// controlRecord describes an erasure, a truncation or a purge. A chunk without entries holds it
// where other chunks hold their entries.
type controlRecord struct {
	kind byte
	// names are the ids that an erasure replaces, and their replacements; the ids are
	// empty once the control record itself is redacted.
	names []idReplacement
	// drop makes the erasure leave out the data that the viewer submitted, too.
	drop bool
	// until is the sequence number of the last chunk that a truncation or a purge empties.
	until uint64
	// checksum is the digest over all redacted chunks before a checksum record.
	checksum Digest
	// checkpoint replaces the chunks up to its head after a truncation.
	checkpoint Snapshot
}

// idReplacement gives a viewer's id another name.
type idReplacement struct{ id, name string }

// The kinds of control records.
const (
	recordErasing    = iota + 1 // names an id: the erasure may not be finished
	recordErased                // was of the kind before; the erasure is finished
	recordChecksum              // the chunks before are redacted
	recordTruncating            // begins a truncation that may not be finished
	recordTruncated             // was of the kind before; the truncation is finished
	recordCheckpoint            // replaces chunk 1: the state after the truncated chunks
	recordTombstone             // replaces each of the other truncated chunks
	recordPurging               // begins the stream again; the chunks before may not be emptied
	recordPurged                // was of the kind before; the chunks before are emptied
)

func (n *controlRecord) hasKind(kind byte) bool { return n != nil && n.kind == kind }

// isUnfinished reports whether the control record begins an erasure, a truncation or a
// purge that may not be finished.
func (n *controlRecord) isUnfinished() bool {
	return n.hasKind(recordErasing) || n.hasKind(recordTruncating) || n.hasKind(recordPurging)
}

// startsAgain reports whether the state after the control record is that of a new stream.
func (n *controlRecord) startsAgain() bool {
	return n.hasKind(recordPurging) || n.hasKind(recordPurged)
}

// replacesIDs reports whether chunks before the control record are about other names than they
// were before it.
func (n *controlRecord) replacesIDs() bool {
	return n.hasKind(recordErasing) || n.hasKind(recordErased)
}

// isTruncated reports whether the chunk is one whose entries a truncation has taken.
func (n *controlRecord) isTruncated() bool {
	return n.hasKind(recordCheckpoint) || n.hasKind(recordTombstone)
}

// concernsID reports whether the erasure is about the viewer with an id, before or after
// it was replaced.
func (n *controlRecord) concernsID(id string) bool {
	for _, naming := range n.names {
		if id == naming.id || id == naming.name {
			return true
		}
	}
	return false
}

// replaceID returns what an id is called after the control record.
func (n *controlRecord) replaceID(id string) string {
	for _, naming := range n.names {
		if id == naming.id {
			return naming.name
		}
	}
	return id
}

// sameStart reports whether two control records begin the same.
func (n *controlRecord) sameStart(o *controlRecord) bool {
	return n.kind == o.kind && n.until == o.until && slices.Equal(n.names, o.names)
}

// asFinished returns the control record as it is when what it begins is finished.
func (n *controlRecord) asFinished() *controlRecord {
	closed := &controlRecord{kind: n.kind + 1, drop: n.drop, until: n.until}
	for _, n := range n.names {
		closed.names = append(closed.names, idReplacement{name: n.name})
	}
	return closed
}

// encodePayload returns the payload of a chunk that holds the control record and no groups.
func (n *controlRecord) encodePayload() []byte { return n.appendEncoding([]byte(noGroups)) }

// appendEncoding appends the encoding of the control record.
func (n *controlRecord) appendEncoding(buf []byte) []byte {
	buf = append(buf, n.kind)
	switch n.kind {
	case recordChecksum:
		return append(buf, n.checksum[:]...)
	case recordTruncating, recordTruncated, recordPurging, recordPurged:
		return binary.BigEndian.AppendUint64(buf, n.until)
	case recordCheckpoint:
		return n.appendCheckpoint(buf)
	case recordTombstone:
		return buf
	}
	buf = wire.AppendBool(buf, n.drop)
	for _, naming := range n.names {
		buf = wire.AppendBytes(wire.AppendBytes(buf, naming.id), naming.name)
	}
	return buf
}

func (n *controlRecord) appendCheckpoint(buf []byte) []byte {
	head := n.checkpoint.Head
	buf = binary.BigEndian.AppendUint64(buf, head.Seq)
	buf = binary.BigEndian.AppendUint64(buf, uint64(head.At))
	buf = append(buf, head.Sum[:]...)
	buf = binary.BigEndian.AppendUint32(buf, n.checkpoint.Format)
	return append(buf, n.checkpoint.State...)
}

// controlRecordIn returns the control record that a chunk holds behind its groups, nil when it
// holds none.
func controlRecordIn(chunk *Chunk, encoded []byte) (*controlRecord, error) {
	if chunk.Count > 0 || len(encoded) == 0 {
		return nil, nil
	}
	n, err := decodeControlRecord(encoded)
	if err != nil || n.hasKind(recordCheckpoint) && chunk.Seq != 1 {
		return nil, fmt.Errorf("%w: %s chunk %d: %w", ErrDamaged, chunk.Stream, chunk.Seq, cmp.Or(err, errControlRecord))
	}
	return n, nil
}

var errControlRecord = errors.New("stream: a control record is malformed")

func decodeControlRecord(encoded []byte) (*controlRecord, error) {
	n := &controlRecord{kind: encoded[0]}
	rest := encoded[1:]
	switch n.kind {
	case recordErasing, recordErased:
		return n, n.cutNames(rest)
	case recordChecksum:
		if copy(n.checksum[:], rest) == len(rest) && len(rest) == len(n.checksum) {
			return n, nil
		}
	case recordTruncating, recordTruncated, recordPurging, recordPurged:
		if len(rest) == 8 {
			n.until = binary.BigEndian.Uint64(rest)
			return n, nil
		}
	case recordCheckpoint:
		return n, n.cutCheckpoint(rest)
	case recordTombstone:
		if len(rest) == 0 {
			return n, nil
		}
	}
	return nil, errControlRecord
}

func (n *controlRecord) cutNames(rest []byte) error {
	r := wire.NewReader(rest)
	n.drop = r.Bool()
	for len(r.Rest()) > 0 {
		n.names = append(n.names, idReplacement{r.Text(), r.Text()})
	}
	if r.Err() != nil {
		return errControlRecord
	}
	return nil
}

func (n *controlRecord) cutCheckpoint(rest []byte) error {
	if len(rest) < 8+8+len(Digest{})+4 {
		return errControlRecord
	}
	head := &n.checkpoint.Head
	head.Seq, rest = binary.BigEndian.Uint64(rest), rest[8:]
	head.At, rest = int64(binary.BigEndian.Uint64(rest)), rest[8:]
	rest = rest[copy(head.Sum[:], rest):]
	n.checkpoint.Format, n.checkpoint.State = binary.BigEndian.Uint32(rest), slices.Clone(rest[4:])
	return nil
}

// withChunk adds redacted chunks to a checksum record, in their order.
func (d Digest) withChunk(chunk *Chunk) Digest {
	if !chunk.isRedacted() {
		return d
	}
	sum := chunk.Sum()
	buf := binary.BigEndian.AppendUint64(d[:], chunk.Seq)
	return sha256.Sum256(append(buf, sum[:]...))
}
