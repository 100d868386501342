package voting

import (
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

func (s *State) appendSnapshot(buf []byte) []byte {
	buf = slices.Grow(buf, s.size())
	var config []byte
	if s.config != nil {
		config = s.config.encode()
	}
	buf = appendBytes(buf, config)
	buf = binary.AppendUvarint(appendBool(buf, s.used), s.resets)
	for _, sum := range s.tally.all() {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(sum.hi))
		buf = binary.LittleEndian.AppendUint64(buf, sum.lo)
	}
	buf = binary.LittleEndian.AppendUint64(buf, uint64(s.decay.landmark))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(s.decay.nudged))
	buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(s.decay.scale))
	buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(s.decay.sum))
	buf = binary.AppendUvarint(buf, uint64(len(s.modifiers.total)))
	for id, total := range s.modifiers.total {
		buf = binary.AppendVarint(appendBytes(buf, id), total)
	}
	return s.voters.table.appendSnapshot(buf)
}

func restoreState(buf []byte, halfLife float64) (*State, error) {
	s, d := newState(halfLife), &decoder{buf: buf}
	if encoded := d.bytes(); len(encoded) > 0 {
		config, err := decodeConfig(encoded)
		if err != nil {
			return nil, err
		}
		s.config = &config
	}
	s.used = d.byte() != 0
	s.resets = d.uvarint()
	for _, sum := range s.tally.all() {
		sum.hi, sum.lo = int64(d.uint64()), d.uint64()
	}
	s.decay = decay{
		landmark: int64(d.uint64()),
		nudged:   int64(d.uint64()),
		scale:    math.Float64frombits(d.uint64()),
		sum:      math.Float64frombits(d.uint64()),
	}
	for range d.length(2) {
		id := d.string()
		s.modifiers.set(id, d.varint())
	}
	s.voters.table = restoreTable(d)
	if len(d.buf) > 0 {
		d.fail()
	}
	return s, d.err
}

// all returns every sum, in the order of the snapshot.
func (t *tally) all() []*wide {
	sums := []*wide{&t.count, &t.sum, &t.squares}
	for i := range t.specific {
		sums = append(sums, &t.specific[i])
	}
	return sums
}

// appendSnapshot appends the table's arrays nearly as they are.
func (t *table) appendSnapshot(buf []byte) []byte {
	buf = binary.LittleEndian.AppendUint64(buf, t.seed)
	buf = binary.AppendUvarint(buf, uint64(len(t.blocks)))
	for _, block := range t.blocks {
		buf = appendBytes(buf, block)
	}
	buf = binary.AppendUvarint(buf, uint64(len(t.records)))
	for _, r := range t.records {
		buf = binary.LittleEndian.AppendUint32(buf, r.id)
		buf = binary.LittleEndian.AppendUint16(buf, r.tag)
		buf = binary.LittleEndian.AppendUint16(buf, uint16(r.last))
		buf = binary.LittleEndian.AppendUint16(buf, uint16(r.value))
		buf = binary.LittleEndian.AppendUint16(buf, r.times)
	}
	buf = binary.AppendUvarint(buf, uint64(len(t.index)))
	for _, entry := range t.index {
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
// of which identities are the smaller part.
func restoreTable(d *decoder) (t table) {
	t.seed = d.uint64()
	for range d.length(1) {
		t.blocks = append(t.blocks, slices.Clone(d.bytes()))
	}
	t.records = make([]record, d.length(recordSize))
	encoded := d.take(recordSize * len(t.records))
	across(len(t.records), func(from, to int) {
		for i := from; i < to; i++ {
			b := (*[recordSize]byte)(encoded[i*recordSize:])
			t.records[i] = record{
				id:    binary.LittleEndian.Uint32(b[:]),
				tag:   binary.LittleEndian.Uint16(b[4:]),
				last:  int16(binary.LittleEndian.Uint16(b[6:])),
				value: int16(binary.LittleEndian.Uint16(b[8:])),
				times: binary.LittleEndian.Uint16(b[10:]),
			}
		}
	})
	t.index = make([]uint32, d.length(4))
	entries := d.take(4 * len(t.index))
	across(len(t.index), func(from, to int) {
		for i := from; i < to; i++ {
			t.index[i] = binary.LittleEndian.Uint32(entries[4*i:])
		}
	})
	for range d.length(2) {
		i := uint32(d.uvarint())
		options := make([]option, d.length(2))
		for n := range options {
			options[n] = option{int16(d.varint()), uint16(d.uvarint())}
		}
		t.spill(i, options)
	}
	if !t.sound() {
		d.fail()
	}
	return t
}

// sound reports whether every reference within the table leads somewhere and
// every search in it ends.
func (t *table) sound() bool {
	var astray, used atomic.Int64
	across(len(t.records), func(from, to int) {
		for _, r := range t.records[from:to] {
			if !t.leads(r.id) {
				astray.Add(1)
			}
		}
	})
	across(len(t.index), func(from, to int) {
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

// leads reports whether there is an identity at a place in the blocks.
func (t *table) leads(id uint32) bool {
	block := int(id >> blockBits)
	if block >= len(t.blocks) || int(id&(blockSize-1)) > len(t.blocks[block]) {
		return false
	}
	at := t.blocks[block][id&(blockSize-1):]
	size, n := binary.Uvarint(at)
	return n > 0 && size <= uint64(len(at)-n)
}

// across divides so many items among the processors, for large polls: whoever
// waits for a snapshot waits for it to be read, and not much longer.
func across(items int, work func(from, to int)) {
	const fewest = 1 << 14 // that are worth a goroutine
	step := max(items/runtime.GOMAXPROCS(0)+1, fewest)
	var parts sync.WaitGroup
	for from := 0; from < items; from += step {
		parts.Go(func() { work(from, min(from+step, items)) })
	}
	parts.Wait()
}
