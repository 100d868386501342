package voting

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"unsafe"

	"github.com/cespare/xxhash/v2"
)

// ballotTable is a hash table of ballots without a pointer for each voter: a million
// voters are a few large allocations that the garbage collector does not scan and
// that a snapshot copies as they are. BenchmarkVoters compares it with Go maps.
//
// Identities lie one after the other in blocks, each behind its length. A
// record is a voter in order of appearance; the index finds records by hash
// with linear probing. Nothing is ever removed.
type ballotTable struct {
	seed    uint64 // of the hash, so that clients cannot choose identities that collide
	blocks  [][]byte
	records []voterRecord
	index   []uint32 // 1 + position in records, 0 where empty; a power of two
	several map[uint32][]optionVotes
	options int // in several
}

// voterRecord is one voter. Most have one stored value; a voter with more is in
// table.several and has times 0 here.
type voterRecord struct {
	id    uint32 // block number and offset of the identity
	tag   uint16 // of the hash, so that a search compares few identities that differ
	last  int16
	value int16
	times uint16
}

const recordSize = 12 // bytes, in memory and in a snapshot

const (
	blockBits = 20
	blockSize = 1 << blockBits
)

func (t *ballotTable) get(id string) ballot {
	i, ok := t.findRecord(id)
	if !ok {
		return ballot{}
	}
	return t.ballotAt(i)
}

// ballotAt returns the ballot of a record, without options where none was stored yet.
func (t *ballotTable) ballotAt(i int) ballot {
	r := t.records[i]
	b := ballot{last: r.last, stored: true}
	if r.times > 0 {
		b.options = []optionVotes{{r.value, r.times}}
	} else {
		b.options = t.several[uint32(i)]
	}
	return b
}

func (t *ballotTable) set(id string, b ballot) { t.storeBallot(t.locateRecord(id), b) }

// locateRecord returns the position of the voter's record, a new one for a new voter.
func (t *ballotTable) locateRecord(id string) int {
	if i, ok := t.findRecord(id); ok {
		return i
	}
	return t.insertRecord(id)
}

// storeBallot replaces the ballot of a record.
func (t *ballotTable) storeBallot(i int, b ballot) {
	r := &t.records[i]
	r.last = b.last
	if r.times == 0 {
		t.options -= len(t.several[uint32(i)])
		delete(t.several, uint32(i))
	}
	if len(b.options) == 1 {
		r.value, r.times = b.options[0].value, b.options[0].times
		return
	}
	r.times = 0
	t.storeOptions(uint32(i), b.options)
}

func (t *ballotTable) storeOptions(i uint32, options []optionVotes) {
	if t.several == nil {
		t.several = map[uint32][]optionVotes{}
	}
	t.several[i] = options
	t.options += len(options)
}

// findRecord returns the position of the voter's record.
func (t *ballotTable) findRecord(id string) (int, bool) {
	if len(t.index) == 0 {
		return 0, false
	}
	hash, mask := t.hashIdentity(id), uint64(len(t.index)-1)
	for slot := hash & mask; t.index[slot] != 0; slot = (slot + 1) & mask {
		if i := int(t.index[slot] - 1); t.records[i].tag == hashTag(hash) && t.identityAt(i) == id {
			return i, true
		}
	}
	return 0, false
}

func (t *ballotTable) hashIdentity(id string) uint64 {
	var digest xxhash.Digest
	digest.ResetWithSeed(t.seed)
	_, _ = digest.WriteString(id) // never fails
	return digest.Sum64()
}

// hashTag takes the bits that the index, which has fewer than 2^32 slots, leaves.
func hashTag(hash uint64) uint16 { return uint16(hash >> 48) }

// identityAt returns a voter's identity as a string that shares the block: blocks
// are only ever appended to.
func (t *ballotTable) identityAt(i int) string {
	at := t.records[i].id
	block := t.blocks[at>>blockBits][at&(blockSize-1):]
	size, n := binary.Uvarint(block)
	return stringView(block[n : n+int(size)])
}

// stringView returns b as a string without copying it. b must not change afterwards.
func stringView(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func (t *ballotTable) insertRecord(id string) int {
	if 4*(len(t.records)+1) > 3*len(t.index) {
		t.growIndex()
	}
	hash := t.hashIdentity(id)
	t.records = append(t.records, voterRecord{id: t.storeIdentity(id), tag: hashTag(hash)})
	t.linkRecord(uint32(len(t.records)), hash)
	return len(t.records) - 1
}

// storeIdentity appends an identity to the last block that has room for it.
func (t *ballotTable) storeIdentity(id string) uint32 {
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

func (t *ballotTable) growIndex() {
	if len(t.index) == 0 {
		t.seed = rand.Uint64()
	}
	t.index = make([]uint32, max(16, 2*len(t.index)))
	for i := range t.records {
		t.linkRecord(uint32(i+1), t.hashIdentity(t.identityAt(i)))
	}
}

func (t *ballotTable) linkRecord(entry uint32, hash uint64) {
	mask := uint64(len(t.index) - 1)
	slot := hash & mask
	for t.index[slot] != 0 {
		slot = (slot + 1) & mask
	}
	t.index[slot] = entry
}

// memorySize returns the bytes the table keeps resident.
func (t *ballotTable) memorySize() int {
	n := cap(t.records)*recordSize + cap(t.index)*4 + len(t.several)*64 + t.options*4
	for _, block := range t.blocks {
		n += cap(block)
	}
	return n
}

// equalBallots reports whether two tables hold the same ballots.
func (t *ballotTable) equalBallots(o *ballotTable) bool {
	if len(t.records) != len(o.records) {
		return false
	}
	for i := range t.records {
		id := t.identityAt(i)
		a, b := t.get(id), o.get(id)
		if a.last != b.last || a.stored != b.stored || !slices.Equal(a.options, b.options) {
			return false
		}
	}
	return true
}
