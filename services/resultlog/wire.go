package resultlog

import (
	"encoding/binary"

	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// AppendEntry implements [stream.EntryEncoding].
func (logRules) AppendEntry(buf []byte, e *leavesEntry) []byte {
	buf = binary.AppendUvarint(binary.AppendUvarint(buf, e.begun), uint64(e.first))
	buf = binary.AppendUvarint(buf, uint64(len(e.leaves)))
	for _, l := range e.leaves {
		buf = wire.AppendBytes(wire.AppendBytes(buf, l.stream), l.data)
	}
	return buf
}

// DecodeEntry implements [stream.EntryEncoding].
func (logRules) DecodeEntry(r *wire.Reader) *leavesEntry {
	e := &leavesEntry{begun: r.Uvarint(), first: int64(r.Uvarint())}
	for range r.Count(2) {
		e.leaves = append(e.leaves, newLeaf{r.Text(), r.Bytes()})
	}
	if e.first < 0 {
		r.Fail(wire.ErrMalformed)
	}
	return e
}

// SnapshotFormat implements [stream.SnapshotEncoding].
func (logRules) SnapshotFormat() uint32 { return 1 }

// AppendSnapshot implements [stream.SnapshotEncoding].
func (logRules) AppendSnapshot(buf []byte, s *logState) []byte {
	buf = binary.AppendUvarint(wire.AppendBytes(buf, s.origin), s.begun)
	buf = binary.AppendVarint(buf, s.at)
	buf = wire.AppendBytes(buf, s.leaves.Append(nil))
	buf = binary.AppendUvarint(buf, uint64(len(s.lists)))
	for _, l := range s.sortedLists() {
		buf = binary.AppendUvarint(wire.AppendBytes(buf, l.Stream), uint64(l.Index))
		buf = wire.AppendBytes(buf, l.Data)
	}
	buf = binary.AppendUvarint(buf, uint64(len(s.awaited)))
	for name := range s.awaited {
		buf = wire.AppendBytes(buf, name)
	}
	if len(s.keys) == 0 {
		return buf // as releases without rotation write it
	}
	buf = binary.AppendUvarint(buf, uint64(len(s.keys)))
	for _, key := range s.keys {
		buf = wire.AppendBytes(buf, key)
	}
	return buf
}

// RestoreSnapshot implements [stream.SnapshotEncoding].
func (logRules) RestoreSnapshot(r *wire.Reader) *logState {
	s := logRules{}.New()
	s.origin, s.begun, s.at = r.Text(), r.Uvarint(), r.Varint()
	leaves, err := verifiable.ParseGrowingTree(r.Bytes())
	if err != nil {
		r.Fail(err)
	}
	s.leaves = leaves
	for range r.Count(3) {
		l := &Record{Stream: r.Text(), Index: int64(r.Uvarint()), Data: append([]byte{}, r.Bytes()...)}
		if l.leaf, err = verifiable.ParseLogLeaf(l.Data); err != nil {
			r.Fail(err)
			break
		}
		s.lists[l.leaf.Tree], s.newest[l.leaf.Poll] = l, l.leaf.Tree // in the order of the leaves
	}
	for range r.Count(1) {
		if s.awaited == nil {
			s.awaited = map[string]bool{}
		}
		s.awaited[r.Text()] = true
	}
	if r.Err() == nil && len(r.Rest()) > 0 {
		for range r.Count(1) {
			s.keys = append(s.keys, r.Text())
		}
	}
	return s
}
