package voting

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/cespare/xxhash/v2"
)

// table is a hash table of ballots without a pointer for each voter: a million
// voters are a few large allocations that the garbage collector need not look
// into and that a snapshot copies as they are.
//
// Identities lie one after the other in blocks, each behind its length. A
// record is a voter in order of appearance; the index finds records by hash
// with linear probing. Nothing is ever removed.
type table struct {
	seed    uint64 // of the hash, so that nobody can choose identities that collide
	blocks  [][]byte
	records []record
	index   []uint32 // 1 + position in records, 0 where empty; a power of two
	several map[uint32][]option
	options int // in several
}

// record is one voter. Most have one stored value; whoever has more is in
// table.several and has times 0 here.
type record struct {
	id    uint32 // block number and offset of the identity
	tag   uint16 // of the hash, so that few identities are compared in vain
	last  int16
	value int16
	times uint16
}

const recordSize = 12 // bytes, in memory and in a snapshot

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
	t.options -= len(t.several[uint32(i)])
	if len(b.options) == 1 {
		r.value, r.times = b.options[0].value, b.options[0].times
		delete(t.several, uint32(i))
		return
	}
	r.times = 0
	t.spill(uint32(i), b.options)
}

func (t *table) spill(i uint32, options []option) {
	if t.several == nil {
		t.several = map[uint32][]option{}
	}
	t.several[i] = options
	t.options += len(options)
}

// find returns the position of the voter's record.
func (t *table) find(id string) (int, bool) {
	if len(t.index) == 0 {
		return 0, false
	}
	hash, mask := t.hash(id), uint64(len(t.index)-1)
	for slot := hash & mask; t.index[slot] != 0; slot = (slot + 1) & mask {
		if i := int(t.index[slot] - 1); t.records[i].tag == tag(hash) && t.identity(i) == id {
			return i, true
		}
	}
	return 0, false
}

func (t *table) hash(id string) uint64 {
	var digest xxhash.Digest
	digest.ResetWithSeed(t.seed)
	_, _ = digest.WriteString(id) // never fails
	return digest.Sum64()
}

// tag takes the bits that the index, which has fewer than 2^32 slots, leaves.
func tag(hash uint64) uint16 { return uint16(hash >> 48) }

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
	hash := t.hash(id)
	t.records = append(t.records, record{id: t.store(id), tag: tag(hash)})
	t.link(uint32(len(t.records)), hash)
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
	if len(t.index) == 0 {
		t.seed = rand.Uint64()
	}
	t.index = make([]uint32, max(16, 2*len(t.index)))
	for i := range t.records {
		t.link(uint32(i+1), t.hash(t.identity(i)))
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
	n := cap(t.records)*recordSize + cap(t.index)*4 + len(t.several)*64 + t.options*4
	for _, block := range t.blocks {
		n += cap(block)
	}
	return n
}
