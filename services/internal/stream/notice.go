package stream

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// notice is what a chunk without entries says about an erasure, in the place where
// entries would be.
type notice struct {
	kind byte
	// names are, of a notice that begins an erasure, the ids to be replaced and by
	// what; the ids are empty once the notice itself is redacted.
	names []naming
	// drop says to leave out what the viewer has submitted, too.
	drop bool
	// seal is, of a notice that seals an erasure, the digest over all redacted chunks
	// before it.
	seal Digest
}

// naming gives a viewer's id another name.
type naming struct{ id, name string }

// The kinds of notices.
const (
	noticeBegun    = iota + 1 // names an id: the erasure may not be finished
	noticeRedacted            // was of the first kind; the erasure is finished
	noticeSealed              // the chunks before are redacted
)

// renames reports whether chunks before the notice are about other names than they
// were before it.
func (n *notice) renames() bool { return n != nil && n.kind != noticeSealed }

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

// redact returns the notice without the ids.
func (n *notice) redact() *notice {
	redacted := &notice{kind: noticeRedacted, drop: n.drop}
	for _, n := range n.names {
		redacted.names = append(redacted.names, naming{name: n.name})
	}
	return redacted
}

// payload returns the payload of a chunk that holds the notice.
func (n *notice) payload() []byte {
	buf := append([]byte(noGroups), n.kind)
	if n.kind == noticeSealed {
		return append(buf, n.seal[:]...)
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

// noticeIn returns the notice that a chunk holds behind its groups, nil when it
// holds none.
func noticeIn(chunk *Chunk, encoded []byte) (*notice, error) {
	if chunk.Count > 0 || len(encoded) == 0 {
		return nil, nil
	}
	n, err := decodeNotice(encoded)
	if err != nil {
		return nil, fmt.Errorf("%w: %s chunk %d: %w", ErrDamaged, chunk.Stream, chunk.Seq, err)
	}
	return n, nil
}

var errNotice = errors.New("stream: a notice of an erasure makes no sense")

func decodeNotice(encoded []byte) (*notice, error) {
	n := &notice{kind: encoded[0]}
	rest := encoded[1:]
	switch {
	case n.kind == noticeSealed && len(rest) == len(n.seal):
		copy(n.seal[:], rest)
		return n, nil
	case n.kind != noticeBegun && n.kind != noticeRedacted, len(rest) == 0:
		return nil, errNotice
	}
	n.drop, rest = rest[0] != 0, rest[1:]
	for len(rest) > 0 {
		var id, name []byte
		var err error
		if id, rest, err = cutFramed(rest); err != nil {
			return nil, err
		}
		if name, rest, err = cutFramed(rest); err != nil {
			return nil, err
		}
		n.names = append(n.names, naming{string(id), string(name)})
	}
	return n, nil
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
