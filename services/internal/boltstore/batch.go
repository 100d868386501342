package boltstore

import (
	"go.etcd.io/bbolt"
)

// batch is the operations of one commit.
type batch struct {
	tables *tables
	tx     *bbolt.Tx         // reads the records while operations are staged
	staged map[string][]byte // what the entries make of the records

	entries []entry                    // go to the journal and the active table
	direct  []func(tx *bbolt.Tx) error // change the file without the journal
	journal []byte                     // value of the commit: the entries, encoded
}

func newBatch(tables *tables) *batch {
	return &batch{tables: tables, staged: map[string][]byte{}, journal: make([]byte, sumSize)}
}

// stageAll stages every operation and returns why each was refused, nil for
// those that were not.
func (b *batch) stageAll(db *database, requests []*request) ([]error, error) {
	refusals := make([]error, len(requests))
	err := db.view(func(tx *bbolt.Tx) error {
		b.tx = tx
		for i, r := range requests {
			refusals[i] = guard(func() error { return r.operation.stage(b) })
		}
		return nil
	})
	return refusals, err
}

func (b *batch) empty() bool { return len(b.entries) == 0 && len(b.direct) == 0 }

func (b *batch) put(e entry) {
	b.staged[e.key] = e.record
	b.entries = append(b.entries, e)
	b.journal = appendEntry(b.journal, e)
}

// recent returns the record at key if it is staged or in a table.
func (b *batch) recent(key string) (record []byte, ok bool) {
	if record, ok := b.staged[key]; ok {
		return record, true
	}
	return b.tables.get(key)
}

// holds reports whether there is a record at key.
func (b *batch) holds(key string) bool {
	if _, ok := b.recent(key); ok {
		return true
	}
	return bucket(b.tx, recordsBucket).Get([]byte(key)) != nil
}

// version returns that of the document at key once the batch is done.
func (b *batch) version(key string) (uint64, error) {
	if record, ok := b.recent(key); ok {
		_, version := headOf(key, record)
		return version, nil
	}
	found, err := storedDocument(b.tx, key)
	return found.Version, err
}

func (b *batch) write(tx *bbolt.Tx) error {
	for _, change := range b.direct {
		if err := change(tx); err != nil {
			return err
		}
	}
	if len(b.entries) == 0 {
		return nil
	}
	return writeJournal(tx, b.tables.active.generation, b.journal)
}
