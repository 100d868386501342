package stream

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// notice is what a chunk without entries says about an erasure or a trim, in the
// place where entries would be.
type notice struct {
	kind byte
	// names are, of an erasure, the ids to be replaced and by what; the ids are empty
	// once the notice itself is redacted.
	names []naming
	// drop says to leave out what the viewer has submitted, too.
	drop bool
	// until is, of a trim, the last chunk that goes.
	until uint64
	// seal is the digest over all redacted chunks before a seal.
	seal Digest
	// base is what a trim has left of the chunks up to its head.
	base Snapshot
}

// naming gives a viewer's id another name.
type naming struct{ id, name string }

// The kinds of notices.
const (
	noticeErasing  = iota + 1 // names an id: the erasure may not be finished
	noticeErased              // was of the kind before; the erasure is finished
	noticeSealed              // the chunks before are redacted
	noticeTrimming            // begins a trim that may not be finished
	noticeTrimmed             // was of the kind before; the trim is finished
	noticeBase                // in place of chunk 1: the state after the chunks that went
	noticeHusk                // in place of any other of them
)

func (n *notice) is(kind byte) bool { return n != nil && n.kind == kind }

// opens reports whether the notice begins what may not be finished.
func (n *notice) opens() bool { return n.is(noticeErasing) || n.is(noticeTrimming) }

// renames reports whether chunks before the notice are about other names than they
// were before it.
func (n *notice) renames() bool { return n.is(noticeErasing) || n.is(noticeErased) }

// empties reports whether the chunk is one whose entries a trim has taken.
func (n *notice) empties() bool { return n.is(noticeBase) || n.is(noticeHusk) }

// knows reports whether the erasure is about the viewer with an id, before or after
// it was replaced.
func (n *notice) knows(id string) bool {
	for _, naming := range n.names {
		if id == naming.id || id == naming.name {
			return true
		}
	}
	return false
}

// rename returns what an id is called after the notice.
func (n *notice) rename(id string) string {
	for _, naming := range n.names {
		if id == naming.id {
			return naming.name
		}
	}
	return id
}

// equal reports whether two notices begin the same.
func (n *notice) equal(o *notice) bool {
	return n.kind == o.kind && n.until == o.until && slices.Equal(n.names, o.names)
}

// close returns the notice as it is when what it begins is finished.
func (n *notice) close() *notice {
	closed := &notice{kind: n.kind + 1, drop: n.drop, until: n.until}
	for _, n := range n.names {
		closed.names = append(closed.names, naming{name: n.name})
	}
	return closed
}

// payload returns the payload of a chunk that holds the notice and no groups.
func (n *notice) payload() []byte { return n.append([]byte(noGroups)) }

// append appends the encoding of the notice.
func (n *notice) append(buf []byte) []byte {
	buf = append(buf, n.kind)
	switch n.kind {
	case noticeSealed:
		return append(buf, n.seal[:]...)
	case noticeTrimming, noticeTrimmed:
		return binary.BigEndian.AppendUint64(buf, n.until)
	case noticeBase:
		return n.appendBase(buf)
	case noticeHusk:
		return buf
	}
	drop := byte(0)
	if n.drop {
		drop = 1
	}
	buf = append(buf, drop)
	for _, naming := range n.names {
		buf = appendFramed(appendFramed(buf, []byte(naming.id)), []byte(naming.name))
	}
	return buf
}

func (n *notice) appendBase(buf []byte) []byte {
	head := n.base.Head
	buf = binary.BigEndian.AppendUint64(buf, head.Seq)
	buf = binary.BigEndian.AppendUint64(buf, uint64(head.At))
	buf = append(buf, head.Sum[:]...)
	buf = binary.BigEndian.AppendUint32(buf, n.base.Format)
	return append(buf, n.base.State...)
}

// noticeIn returns the notice that a chunk holds behind its groups, nil when it
// holds none.
func noticeIn(chunk *Chunk, encoded []byte) (*notice, error) {
	if chunk.Count > 0 || len(encoded) == 0 {
		return nil, nil
	}
	n, err := decodeNotice(encoded)
	if err != nil || n.is(noticeBase) && chunk.Seq != 1 {
		return nil, fmt.Errorf("%w: %s chunk %d: %w", ErrDamaged, chunk.Stream, chunk.Seq, cmp.Or(err, errNotice))
	}
	return n, nil
}

var errNotice = errors.New("stream: a notice of an erasure makes no sense")

func decodeNotice(encoded []byte) (*notice, error) {
	n := &notice{kind: encoded[0]}
	rest := encoded[1:]
	switch n.kind {
	case noticeErasing, noticeErased:
		return n, n.cutNames(rest)
	case noticeSealed:
		if copy(n.seal[:], rest) == len(rest) && len(rest) == len(n.seal) {
			return n, nil
		}
	case noticeTrimming, noticeTrimmed:
		if len(rest) == 8 {
			n.until = binary.BigEndian.Uint64(rest)
			return n, nil
		}
	case noticeBase:
		return n, n.cutBase(rest)
	case noticeHusk:
		if len(rest) == 0 {
			return n, nil
		}
	}
	return nil, errNotice
}

func (n *notice) cutNames(rest []byte) (err error) {
	if len(rest) == 0 {
		return errNotice
	}
	n.drop, rest = rest[0] != 0, rest[1:]
	for len(rest) > 0 {
		var id, name []byte
		if id, rest, err = cutFramed(rest); err != nil {
			return errNotice
		}
		if name, rest, err = cutFramed(rest); err != nil {
			return errNotice
		}
		n.names = append(n.names, naming{string(id), string(name)})
	}
	return nil
}

func (n *notice) cutBase(rest []byte) error {
	if len(rest) < 8+8+len(Digest{})+4 {
		return errNotice
	}
	head := &n.base.Head
	head.Seq, rest = binary.BigEndian.Uint64(rest), rest[8:]
	head.At, rest = int64(binary.BigEndian.Uint64(rest)), rest[8:]
	rest = rest[copy(head.Sum[:], rest):]
	n.base.Format, n.base.State = binary.BigEndian.Uint32(rest), slices.Clone(rest[4:])
	return nil
}

// sealing adds redacted chunks to a seal, in their order.
func (d Digest) sealing(chunk *Chunk) Digest {
	if !chunk.redacted() {
		return d
	}
	sum := chunk.Sum()
	buf := binary.BigEndian.AppendUint64(d[:], chunk.Seq)
	return sha256.Sum256(append(buf, sum[:]...))
}
