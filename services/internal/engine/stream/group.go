package stream

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// GroupID identifies commands that one process forwarded to another as a group, so
// that both recognise them in the log.
type GroupID [16]byte

// groupOrigin identifies the group that the commands of a call were forwarded in. It
// is zero for commands that callers of this engine submitted: no other process can
// submit them.
type groupOrigin struct {
	id GroupID
	// lowWatermark is a sequence number up to which no chunk can hold the group.
	lowWatermark uint64
	// recovery is set when another engine may have committed the group, and this one
	// must finish it.
	recovery bool
	// known is set when the group was found in the log, with the commands in stored.
	known  bool
	stored commandBitmap
}

func (g groupOrigin) isForwarded() bool { return g.id != GroupID{} }

// commandBitmap has a bit for each command of a group, set if the command was stored.
// The others were refused or changed nothing.
type commandBitmap []byte

func newBitmap(n int) commandBitmap    { return make(commandBitmap, (n+7)/8) }
func (b commandBitmap) set(i int)      { b[i/8] |= 1 << (i % 8) }
func (b commandBitmap) has(i int) bool { return i/8 < len(b) && b[i/8]&(1<<(i%8)) != 0 }
func (b commandBitmap) append(buf []byte) []byte {
	return wire.AppendBytes(buf, b)
}

// storedGroup is a group that a chunk holds.
type storedGroup struct {
	id     GroupID
	stored commandBitmap
}

// noGroups is the encoding of no groups.
const noGroups = "\x00"

// encodeMemberships encodes groups.
func encodeMemberships(groups []storedGroup) []byte {
	buf := binary.AppendUvarint(nil, uint64(len(groups)))
	for _, g := range groups {
		buf = g.stored.append(append(buf, g.id[:]...))
	}
	return buf
}

// chunkHeader is the part of a payload before the entries.
type chunkHeader struct {
	groups []storedGroup
	keys   []storedKey
}

func (h chunkHeader) encode() []byte {
	if len(h.keys) == 0 {
		return encodeMemberships(h.groups)
	}
	return encodeMemberships(append(slices.Clip(h.groups), storedGroup{GroupID([]byte(keysGroup)), encodeKeys(h.keys)}))
}

// splitPayload returns the header of a chunk and its encoded entries.
func splitPayload(chunk *Chunk) (header chunkHeader, entries []byte, err error) {
	r := wire.NewReader(chunk.Payload)
	for range r.Count(len(GroupID{}) + 1) {
		g := storedGroup{GroupID(r.Take(len(GroupID{}))), commandBitmap(r.Bytes())}
		if string(g.id[:]) != keysGroup {
			header.groups = append(header.groups, g)
		} else if header.keys, err = decodeKeys(g.stored); err != nil {
			r.Fail(err)
		}
	}
	if r.Err() != nil {
		return chunkHeader{}, nil, fmt.Errorf("%w: %s chunk %d: its groups are cut off", ErrDamaged, chunk.Stream, chunk.Seq)
	}
	return header, r.Rest(), nil
}

// dedupWindow holds the groups in the chunks of a resident stream after lowWatermark,
// so that no group is stored twice. It is bounded: lowWatermark rises when it drops
// the oldest.
type dedupWindow struct {
	lowWatermark uint64
	stored       map[GroupID]commandBitmap
	order        []placedGroup // oldest first
}

type placedGroup struct {
	id  GroupID
	seq uint64
}

// resetTo empties the window, which then covers only chunks after lowWatermark.
func (w *dedupWindow) resetTo(lowWatermark uint64) { *w = dedupWindow{lowWatermark: lowWatermark} }

// addGroups adds the groups of a chunk and drops the oldest above limit.
func (w *dedupWindow) addGroups(seq uint64, groups []storedGroup, limit int) {
	for _, g := range groups {
		if w.stored == nil {
			w.stored = map[GroupID]commandBitmap{}
		}
		w.stored[g.id] = slices.Clone(g.stored) // not to keep the whole chunk
		w.order = append(w.order, placedGroup{g.id, seq})
	}
	for len(w.order) > limit {
		w.lowWatermark = w.order[0].seq
		delete(w.stored, w.order[0].id)
		w.order = w.order[1:]
	}
}
