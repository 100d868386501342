package stream

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// GroupID identifies commands that one process passed to another as a group, so
// that both can tell whether the log has them already.
type GroupID [16]byte

// group says where the commands of a call came from. The zero group is that of
// commands this engine was the first to hear of: nobody else can submit them.
type group struct {
	id GroupID
	// floor is a sequence number up to which no chunk can hold the group.
	floor uint64
	// recovery says that another engine may have committed the group, and that it
	// is now ours to finish.
	recovery bool
	// known says that the group was found in the log, with the commands in stored.
	known  bool
	stored bitmap
}

func (g group) foreign() bool { return g.id != GroupID{} }

// bitmap says which commands of a group were stored. The others were refused or
// changed nothing.
type bitmap []byte

func newBitmap(n int) bitmap    { return make(bitmap, (n+7)/8) }
func (b bitmap) set(i int)      { b[i/8] |= 1 << (i % 8) }
func (b bitmap) has(i int) bool { return i/8 < len(b) && b[i/8]&(1<<(i%8)) != 0 }
func (b bitmap) append(buf []byte) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(b))), b...)
}

// membership is a group that a chunk holds.
type membership struct {
	id     GroupID
	stored bitmap
}

// noGroups is what appendMemberships makes of none.
const noGroups = "\x00"

// appendMemberships encodes what stands in a payload before the entries.
func appendMemberships(buf []byte, groups []membership) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(groups)))
	for _, g := range groups {
		buf = g.stored.append(append(buf, g.id[:]...))
	}
	return buf
}

// splitPayload returns the groups of a chunk and its encoded entries.
func splitPayload(chunk *Chunk) (groups []membership, entries []byte, err error) {
	rest := chunk.Payload
	count, n := binary.Uvarint(rest)
	if n <= 0 || count > uint64(len(rest)) {
		return nil, nil, fmt.Errorf("%w: %s chunk %d: its groups are cut off", ErrDamaged, chunk.Stream, chunk.Seq)
	}
	rest = rest[n:]
	for range count {
		var g membership
		size, n := binary.Uvarint(rest[min(len(g.id), len(rest)):])
		if n <= 0 || size > uint64(len(rest)-len(g.id)-n) {
			return nil, nil, fmt.Errorf("%w: %s chunk %d: its groups are cut off", ErrDamaged, chunk.Stream, chunk.Seq)
		}
		copy(g.id[:], rest)
		rest = rest[len(g.id)+n:]
		g.stored, rest = bitmap(rest[:size:size]), rest[size:]
		groups = append(groups, g)
	}
	return groups, rest, nil
}

// memory is which groups the chunks of a resident stream hold: all that are in
// chunks after floor. It is bounded, and its floor rises with what it forgets.
type memory struct {
	floor  uint64
	stored map[GroupID]bitmap
	order  []placedGroup // oldest first
}

type placedGroup struct {
	id  GroupID
	seq uint64
}

// forget empties the memory: nothing is known of chunks up to floor.
func (m *memory) forget(floor uint64) { *m = memory{floor: floor} }

// add remembers the groups of a chunk, at most limit with those before.
func (m *memory) add(seq uint64, groups []membership, limit int) {
	for _, g := range groups {
		if m.stored == nil {
			m.stored = map[GroupID]bitmap{}
		}
		m.stored[g.id] = slices.Clone(g.stored) // not to keep the whole chunk
		m.order = append(m.order, placedGroup{g.id, seq})
	}
	for len(m.order) > limit {
		m.floor = m.order[0].seq
		delete(m.stored, m.order[0].id)
		m.order = m.order[1:]
	}
}
