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
//
// A full index is replaced by one of twice the size. Each new voter moves a few records to it, so
// that no vote waits for all of them; until then records that are not in it are found in the one
// before.
type ballotTable struct {
	seed    uint64 // of the hash, so that clients cannot choose identities that collide
	blocks  [][]byte
	records []voterRecord
	index   slotIndex
	before  slotIndex // of the records that were there when index began; nil once all are in index
	moved   int       // of those, the ones that are in index, too
	several map[uint32][]optionVotes
	options int // in several
}

// slotIndex has 1 + a position in records in each slot, 0 where it is empty. Its size is a power
// of two, or 0.
type slotIndex []uint32

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

func (t *ballotTable) set(id string, b ballot) {
	i, _ := t.locateRecord(id)
	t.storeBallot(i, b)
}

// locateRecord returns the position of the voter's record, a new one for a new voter.
func (t *ballotTable) locateRecord(id string) (i int, known bool) {
	if len(t.index) == 0 {
		t.growIndex()
	}
	hash := t.hashIdentity(id)
	if i, known = t.findHashed(id, hash); known {
		return i, true
	}
	return t.insertRecord(id, hash), false
}

// replaceSingle makes a single vote the ballot of a record, and returns the votes that were all of
// it: none of a new voter. It does nothing where there were several.
func (t *ballotTable) replaceSingle(i int, known bool, vote optionVotes) (before optionVotes, ok bool) {
	r := &t.records[i]
	if known && r.times == 0 {
		return before, false
	}
	before = optionVotes{r.value, r.times}
	r.last, r.value, r.times = vote.value, vote.value, vote.times
	return before, true
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
	return t.findHashed(id, t.hashIdentity(id))
}

// findHashed is findRecord for an identity whose hash is known, in a table that is not empty.
func (t *ballotTable) findHashed(id string, hash uint64) (i int, ok bool) {
	if i, ok = t.findIn(t.index, id, hash); ok || t.before == nil {
		return i, ok
	}
	return t.findIn(t.before, id, hash)
}

func (t *ballotTable) findIn(index slotIndex, id string, hash uint64) (int, bool) {
	mask := uint64(len(index) - 1)
	for slot := hash & mask; index[slot] != 0; slot = (slot + 1) & mask {
		if i := int(index[slot] - 1); t.records[i].tag == hashTag(hash) && t.identityAt(i) == id {
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

func (t *ballotTable) insertRecord(id string, hash uint64) int {
	if 4*(len(t.records)+1) > 3*len(t.index) {
		t.growIndex()
	}
	if t.before != nil {
		t.moveRecords(recordsMoved)
	}
	t.records = append(t.records, voterRecord{id: t.storeIdentity(id), tag: hashTag(hash)})
	t.index.link(uint32(len(t.records)), hash)
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
	t.before, t.moved = t.index, 0
	t.index = make(slotIndex, max(16, 2*len(t.before)))
	if len(t.before) < smallIndex {
		t.moveRecords(len(t.records))
	}
}

const (
	smallIndex = 1 << 12 // slots of an index that grows at once
	// recordsMoved are the records that each new voter moves: all are in the new index long
	// before it is full, and lookups in two of them are few.
	recordsMoved = 8
)

// moveRecords puts so many more records into an index that has begun.
func (t *ballotTable) moveRecords(n int) {
	all := 3 * len(t.before) / 4 // as many as there were when it was full
	last := min(t.moved+n, all)
	for ; t.moved < last; t.moved++ {
		t.index.link(uint32(t.moved+1), t.hashIdentity(t.identityAt(t.moved)))
	}
	if t.moved == all {
		t.before = nil
	}
}

// wholeIndex returns the index with all records in it. It does not change the table.
func (t *ballotTable) wholeIndex() slotIndex {
	if t.before == nil {
		return t.index
	}
	whole := ballotTable{seed: t.seed, blocks: t.blocks, records: t.records, index: slices.Clone(t.index), before: t.before, moved: t.moved}
	whole.moveRecords(len(t.records))
	return whole.index
}

// link puts an entry into the first empty slot for its hash.
func (x slotIndex) link(entry uint32, hash uint64) {
	mask := uint64(len(x) - 1)
	slot := hash & mask
	for x[slot] != 0 {
		slot = (slot + 1) & mask
	}
	x[slot] = entry
}

// memorySize returns the bytes the table keeps resident.
func (t *ballotTable) memorySize() int {
	n := cap(t.records)*recordSize + (cap(t.index)+cap(t.before))*4 + len(t.several)*64 + t.options*4
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
