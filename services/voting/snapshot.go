package voting

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

func (s *State) appendSnapshot(buf []byte) []byte {
	buf = slices.Grow(buf, s.memorySize())
	var config []byte
	if s.config != nil {
		config = snapshotConfig{*s.config, s.cast.toStored()}.encodeJSON()
	}
	buf = wire.AppendBytes(buf, config)
	buf = binary.AppendUvarint(wire.AppendBool(buf, s.used), s.resets)
	for _, sum := range s.tally.allSums() {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(sum.hi))
		buf = binary.LittleEndian.AppendUint64(buf, sum.lo)
	}
	buf = binary.LittleEndian.AppendUint64(buf, uint64(s.decay.landmark))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(s.decay.nudged))
	buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(s.decay.scale))
	buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(s.decay.sum))
	buf = binary.AppendUvarint(buf, uint64(len(s.modifiers.total)))
	for id, total := range s.modifiers.total {
		buf = binary.AppendVarint(wire.AppendBytes(buf, id), total)
	}
	buf = s.voters.table.appendSnapshot(buf)
	if s.list == nil {
		return buf
	}
	if buf = s.list.appendSnapshot(buf); s.ended != nil {
		buf = s.ended.appendSnapshot(buf)
	}
	return buf
}

// SnapshotFormat implements [stream.SnapshotEncoding].
func (pollRules) SnapshotFormat() uint32 { return 2 }

// RestoreSnapshot implements [stream.SnapshotEncoding].
func (pollRules) RestoreSnapshot(r *wire.Reader) *State {
	s, config := &State{}, snapshotConfig{}
	if encoded := r.Bytes(); len(encoded) > 0 {
		if err := json.Unmarshal(encoded, &config); err != nil {
			r.Fail(err)
		}
		s.config = &config.Config
	}
	s.used = r.Bool()
	s.resets = r.Uvarint()
	for _, sum := range s.tally.allSums() {
		sum.hi, sum.lo = int64(r.Uint64()), r.Uint64()
	}
	s.decay = decayedSum{
		landmark: int64(r.Uint64()),
		nudged:   int64(r.Uint64()),
		scale:    math.Float64frombits(r.Uint64()),
		sum:      math.Float64frombits(r.Uint64()),
	}
	for range r.Count(2) {
		id := r.Text()
		s.modifiers.set(id, r.Varint())
	}
	s.voters.table = restoreTable(r)
	cast, ok := config.CastVersions.restore(len(s.voters.table.records))
	if !ok {
		r.Fail(wire.ErrMalformed)
	}
	s.cast = cast
	if len(r.Rest()) > 0 { // only polls that have or had a list
		s.list = restoreList(r, len(s.voters.table.records))
	}
	if len(r.Rest()) > 0 {
		s.ended = restoreList(r, 0)
	}
	return s
}

// allSums returns every sum, in the order of the snapshot.
func (s *voteSums) allSums() (sums [3 + slots]*wideInt) {
	sums[0], sums[1], sums[2] = &s.count, &s.sum, &s.squares
	for i := range s.specific {
		sums[3+i] = &s.specific[i]
	}
	return sums
}

// appendSnapshot appends the table's arrays nearly as they are.
func (t *ballotTable) appendSnapshot(buf []byte) []byte {
	buf = binary.LittleEndian.AppendUint64(buf, t.seed)
	buf = binary.AppendUvarint(buf, uint64(len(t.blocks)))
	for _, block := range t.blocks {
		buf = wire.AppendBytes(buf, block)
	}
	buf = binary.AppendUvarint(buf, uint64(len(t.records)))
	for _, r := range t.records {
		buf = binary.LittleEndian.AppendUint32(buf, r.id)
		buf = binary.LittleEndian.AppendUint16(buf, r.tag)
		buf = binary.LittleEndian.AppendUint16(buf, uint16(r.last))
		buf = binary.LittleEndian.AppendUint16(buf, uint16(r.value))
		buf = binary.LittleEndian.AppendUint16(buf, r.times)
	}
	index := t.wholeIndex()
	buf = binary.AppendUvarint(buf, uint64(len(index)))
	for _, entry := range index {
		buf = binary.LittleEndian.AppendUint32(buf, entry)
	}
	buf = binary.AppendUvarint(buf, uint64(len(t.several)))
	for i, options := range t.several {
		buf = binary.AppendUvarint(buf, uint64(i))
		buf = binary.AppendUvarint(buf, uint64(len(options)))
		for _, o := range options {
			buf = binary.AppendVarint(buf, int64(o.value))
			buf = binary.AppendUvarint(buf, uint64(o.times))
		}
	}
	return buf
}

// restoreTable reads what appendSnapshot wrote. It keeps nothing of the buffer,
// and identities are its smaller part.
func restoreTable(r *wire.Reader) (t ballotTable) {
	t.seed = r.Uint64()
	for range r.Count(1) {
		t.blocks = append(t.blocks, slices.Clone(r.Bytes()))
	}
	t.records = make([]voterRecord, r.Count(recordSize))
	encoded := r.Take(recordSize * len(t.records))
	inParallel(len(t.records), func(from, to int) {
		for i := from; i < to; i++ {
			b := (*[recordSize]byte)(encoded[i*recordSize:])
			t.records[i] = voterRecord{
				id:    binary.LittleEndian.Uint32(b[:]),
				tag:   binary.LittleEndian.Uint16(b[4:]),
				last:  int16(binary.LittleEndian.Uint16(b[6:])),
				value: int16(binary.LittleEndian.Uint16(b[8:])),
				times: binary.LittleEndian.Uint16(b[10:]),
			}
		}
	})
	t.index = make(slotIndex, r.Count(4))
	entries := r.Take(4 * len(t.index))
	inParallel(len(t.index), func(from, to int) {
		for i := from; i < to; i++ {
			t.index[i] = binary.LittleEndian.Uint32(entries[4*i:])
		}
	})
	for range r.Count(2) {
		i := uint32(r.Uvarint())
		options := make([]optionVotes, r.Count(2))
		for n := range options {
			options[n] = optionVotes{int16(r.Varint()), uint16(r.Uvarint())}
		}
		t.storeOptions(i, options)
	}
	if !t.isSound() {
		r.Fail(wire.ErrMalformed)
	}
	return t
}

// isSound reports whether every reference within the table leads somewhere and
// every search in it ends.
func (t *ballotTable) isSound() bool {
	var astray, used atomic.Int64
	inParallel(len(t.records), func(from, to int) {
		for _, r := range t.records[from:to] {
			if !t.holdsIdentity(r.id) {
				astray.Add(1)
			}
		}
	})
	inParallel(len(t.index), func(from, to int) {
		n := int64(0)
		for _, entry := range t.index[from:to] {
			if int64(entry) > int64(len(t.records)) {
				astray.Add(1)
			}
			if entry != 0 {
				n++
			}
		}
		used.Add(n)
	})
	n := int(used.Load())
	return astray.Load() == 0 && n == len(t.records) && 4*n <= 3*len(t.index) && len(t.index)&(len(t.index)-1) == 0
}

// holdsIdentity reports whether there is an identity at a place in the blocks.
func (t *ballotTable) holdsIdentity(id uint32) bool {
	block := int(id >> blockBits)
	if block >= len(t.blocks) || int(id&(blockSize-1)) > len(t.blocks[block]) {
		return false
	}
	at := t.blocks[block][id&(blockSize-1):]
	size, n := binary.Uvarint(at)
	return n > 0 && size <= uint64(len(at)-n)
}

// inParallel divides the items among the processors, for large polls: decoding should
// take little longer than reading the snapshot.
func inParallel(items int, work func(from, to int)) {
	const fewest = 1 << 14 // that are worth a goroutine
	step := max(items/runtime.GOMAXPROCS(0)+1, fewest)
	var parts sync.WaitGroup
	for from := 0; from < items; from += step {
		parts.Go(func() { work(from, min(from+step, items)) })
	}
	parts.Wait()
}
