package boltstore

import (
	"math"
	"strings"
	"sync"

	"github.com/tidwall/btree"
)

// entry is a record and its key. Neither changes once it is made.
type entry struct {
	key    string
	record []byte
}

// entryOverhead is roughly what a table spends on an entry besides its bytes.
const entryOverhead = 64

func (e entry) size() int { return len(e.key) + len(e.record) + entryOverhead }

// table holds, in order, the records of one journal generation, or of all that
// were in the file when it was opened.
type table struct {
	first, generation uint64 // the first and the last it holds records of
	records           btree.Map[string, []byte]
	size              int
}

func (t *table) put(e entry) {
	t.size += e.size()
	if old, replaced := t.records.Set(e.key, e.record); replaced {
		t.size -= entry{e.key, old}.size()
	}
}

// newTable returns an empty table for the records of one generation.
func newTable(generation uint64) *table { return &table{first: generation, generation: generation} }

// head returns the last seq or version of what the table holds of an owner, 0
// when it holds nothing.
func (t *table) head(owner string) (head uint64) {
	last := owner // that of a document is its key
	if owner[0] == 'c' {
		last = chunkKey(owner[1:], math.MaxUint64)
	}
	t.records.Descend(last, func(key string, record []byte) bool {
		if of, h := headOf(key, record); of == owner {
			head = h
		}
		return false
	})
	return head
}

// from returns the entries with the given prefix whose key is not less than
// pivot, in order, up to the one that passes limit bytes; all is false when it
// left some out.
func (t *table) from(prefix, pivot string, limit int) (entries []entry, all bool) {
	size, all := 0, true
	t.records.Ascend(pivot, func(key string, record []byte) bool {
		if !strings.HasPrefix(key, prefix) {
			return false
		}
		if all = size < limit; all {
			entries = append(entries, entry{key, record})
			size += len(record)
		}
		return all
	})
	return entries, all
}

// tables are the writes that are durable in the journal and not yet in the
// records. The writer alone changes them. Whoever reads looks here first and in
// the records afterwards: what leaves the tables meanwhile is there.
type tables struct {
	mu     sync.RWMutex
	active *table // takes the writes
	frozen *table // is being moved into the records; nil when there is none
}

// all returns the tables there are, the newest first.
func (t *tables) all() []*table {
	if t.frozen == nil {
		return []*table{t.active}
	}
	return []*table{t.active, t.frozen}
}

func (t *tables) get(key string) (record []byte, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, table := range t.all() {
		if record, ok := table.records.Get(key); ok {
			return record, true
		}
	}
	return nil, false
}

// scan calls found with what [table.from] returns for each table.
func (t *tables) scan(prefix, pivot string, limit int, found func(entries []entry, all bool)) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, table := range t.all() {
		found(table.from(prefix, pivot, limit))
	}
}

// head returns the last seq or version of what the tables hold of an owner, 0
// when they hold nothing.
func (t *tables) head(owner string) (head uint64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, table := range t.all() {
		head = max(head, table.head(owner))
	}
	return head
}

func (t *tables) put(entries []entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range entries {
		t.active.put(e)
	}
}

// freeze puts an empty active table before the present one.
func (t *tables) freeze() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frozen, t.active = t.active, newTable(t.active.generation+1)
}

// thaw drops the frozen table.
func (t *tables) thaw() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frozen = nil
}
