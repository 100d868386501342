package voting

import (
	"encoding/binary"
	"errors"

	"github.com/cespare/xxhash/v2"
)

// option is a number of stored votes for one value.
type option struct {
	value int16
	times uint16
}

// ballot is what a poll remembers of one voter: the latest vote and everything
// stored. The zero ballot is that of someone who has not voted.
type ballot struct {
	last    int16
	stored  bool
	options []option
}

// voters holds the ballots of a poll by identity. A fork keeps what changes in
// a map of its own and reads the rest from its base.
type voters struct {
	table   table
	base    *voters
	changed map[string]ballot
}

func (v *voters) fork() voters { return voters{base: v, changed: map[string]ballot{}} }

func (v *voters) get(id string) ballot {
	if v.base == nil {
		return v.table.get(id)
	}
	if b, ok := v.changed[id]; ok {
		return b
	}
	return v.base.get(id)
}

func (v *voters) set(id string, b ballot) {
	if v.base == nil {
		v.table.set(id, b)
		return
	}
	v.changed[id] = b
}

// clear forgets every voter, those of the base too.
func (v *voters) clear() {
	if v.base != nil {
		*v = voters{base: &voters{}, changed: map[string]ballot{}}
		return
	}
	v.table = table{}
}

// table is a hash table of ballots without a pointer for each voter: a million
// voters are a few large allocations that the garbage collector need not look
// into and that a snapshot copies as they are.
//
// Identities lie one after the other in blocks, each behind its length. A
// record is a voter in order of appearance; the index finds records by hash
// with linear probing. Nothing is ever removed.
type table struct {
	blocks  [][]byte
	records []record
	index   []uint32 // 1 + position in records, 0 where empty; a power of two
	several map[uint32][]option
}

// record is one voter. Most have one stored value; whoever has more is in
// table.several and has times 0 here.
type record struct {
	id    uint32 // block number and offset of the identity
	last  int16
	value int16
	times uint16
}

const (
	blockBits = 20
	blockSize = 1 << blockBits
)

func (t *table) get(id string) ballot {
	i, ok := t.find(id)
	if !ok {
		return ballot{}
	}
	r := t.records[i]
	b := ballot{last: r.last, stored: true}
	if r.times > 0 {
		b.options = []option{{r.value, r.times}}
	} else {
		b.options = t.several[uint32(i)]
	}
	return b
}

func (t *table) set(id string, b ballot) {
	i, ok := t.find(id)
	if !ok {
		i = t.insert(id)
	}
	r := &t.records[i]
	r.last = b.last
	if len(b.options) == 1 {
		r.value, r.times = b.options[0].value, b.options[0].times
		delete(t.several, uint32(i))
		return
	}
	r.times = 0
	if t.several == nil {
		t.several = map[uint32][]option{}
	}
	t.several[uint32(i)] = b.options
}

// find returns the position of the voter's record.
func (t *table) find(id string) (int, bool) {
	if len(t.index) == 0 {
		return 0, false
	}
	mask := uint64(len(t.index) - 1)
	for slot := xxhash.Sum64String(id) & mask; t.index[slot] != 0; slot = (slot + 1) & mask {
		if i := int(t.index[slot] - 1); t.identity(i) == id {
			return i, true
		}
	}
	return 0, false
}

// identity returns a voter's identity as a string that shares the block: blocks
// are only ever appended to.
func (t *table) identity(i int) string {
	at := t.records[i].id
	block := t.blocks[at>>blockBits][at&(blockSize-1):]
	size, n := binary.Uvarint(block)
	return view(block[n : n+int(size)])
}

func (t *table) insert(id string) int {
	if 4*(len(t.records)+1) > 3*len(t.index) {
		t.grow()
	}
	t.records = append(t.records, record{id: t.store(id)})
	t.link(uint32(len(t.records)), xxhash.Sum64String(id))
	return len(t.records) - 1
}

// store appends an identity to the last block that has room for it.
func (t *table) store(id string) uint32 {
	need := binary.MaxVarintLen32 + len(id)
	if n := len(t.blocks); n == 0 || blockSize-len(t.blocks[n-1]) < need {
		// The first block grows with use: most polls are small.
		var block []byte
		if n > 0 {
			block = make([]byte, 0, blockSize)
		}
		t.blocks = append(t.blocks, block)
	}
	last := len(t.blocks) - 1
	at := uint32(last)<<blockBits | uint32(len(t.blocks[last]))
	block := binary.AppendUvarint(t.blocks[last], uint64(len(id)))
	t.blocks[last] = append(block, id...)
	return at
}

func (t *table) grow() {
	t.index = make([]uint32, max(16, 2*len(t.index)))
	for i := range t.records {
		t.link(uint32(i+1), xxhash.Sum64String(t.identity(i)))
	}
}

func (t *table) link(entry uint32, hash uint64) {
	mask := uint64(len(t.index) - 1)
	slot := hash & mask
	for t.index[slot] != 0 {
		slot = (slot + 1) & mask
	}
	t.index[slot] = entry
}

// size returns the bytes the table keeps resident.
func (t *table) size() int {
	n := cap(t.records)*12 + cap(t.index)*4 + len(t.several)*96
	for _, block := range t.blocks {
		n += cap(block)
	}
	return n
}

// appendSnapshot appends the table's arrays nearly as they are.
func (t *table) appendSnapshot(buf []byte) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(t.blocks)))
	for _, block := range t.blocks {
		buf = appendBytes(buf, block)
	}
	buf = binary.AppendUvarint(buf, uint64(len(t.records)))
	for _, r := range t.records {
		buf = binary.LittleEndian.AppendUint32(buf, r.id)
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

var errCorrupt = errors.New("voting: encoding is cut off or makes no sense")

// restoreTable reads what appendSnapshot wrote. The blocks alias the buffer but
// for the last, which will be appended to.
func restoreTable(d *decoder) (t table) {
	for range d.length(1) {
		block := d.bytes()
		if len(block) > blockSize {
			d.fail()
		}
		t.blocks = append(t.blocks, block[:len(block):len(block)])
	}
	t.records = make([]record, d.length(10))
	for i := range t.records {
		b := d.take(10)
		t.records[i] = record{
			id:    binary.LittleEndian.Uint32(b),
			last:  int16(binary.LittleEndian.Uint16(b[4:])),
			value: int16(binary.LittleEndian.Uint16(b[6:])),
			times: binary.LittleEndian.Uint16(b[8:]),
		}
	}
	t.index = make([]uint32, d.length(4))
	for i, b := 0, d.take(4*len(t.index)); i < len(t.index); i++ {
		t.index[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	t.several = map[uint32][]option{}
	for range d.length(2) {
		i := uint32(d.uvarint())
		options := make([]option, d.length(2))
		for n := range options {
			options[n] = option{int16(d.varint()), uint16(d.uvarint())}
		}
		t.several[i] = options
	}
	if !t.sound() {
		d.fail()
	}
	return t
}

// sound reports whether every reference within the table leads somewhere.
func (t *table) sound() bool {
	for _, r := range t.records {
		block := int(r.id >> blockBits)
		if block >= len(t.blocks) || int(r.id&(blockSize-1)) > len(t.blocks[block]) {
			return false
		}
		at := t.blocks[block][r.id&(blockSize-1):]
		if size, n := binary.Uvarint(at); n <= 0 || size > uint64(len(at)-n) {
			return false
		}
	}
	for _, entry := range t.index {
		if int64(entry) > int64(len(t.records)) {
			return false
		}
	}
	return len(t.index)&(len(t.index)-1) == 0 && (len(t.index) == 0) == (len(t.records) == 0) &&
		4*len(t.records) <= 3*len(t.index)
}
