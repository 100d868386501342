package boltstore

import (
	"slices"

	"go.etcd.io/bbolt"
)

// batch is the writes of one commit.
type batch struct {
	db     *database
	tables *tables
	heads  *heads
	tx     *bbolt.Tx         // reads the records while writes are staged; nil until one has to
	raised map[string]uint64 // what the entries make of the heads

	entries []entry // go to the journal and the active table
	journal []byte  // the entries, encoded
}

// stageAll stages every write and returns why each was refused, nil for those
// that were not.
func (b *batch) stageAll(requests []*request) []error {
	refusals := make([]error, len(requests))
	for i, r := range requests {
		refusals[i] = guard(func() error { return r.operation.(write).stage(b) })
	}
	if b.tx != nil {
		b.db.release(b.tx)
	}
	return refusals
}

// put adds an entry, after which the head of its owner is the given one.
func (b *batch) put(e entry, owner string, head uint64) {
	b.raised[owner] = head
	b.entries = append(b.entries, e)
	b.journal = appendEntry(b.journal, e)
}

// head returns the last seq or version of an owner once the batch is done, and
// whether the writer has asked for it before.
func (b *batch) head(owner string) (head uint64, known bool, err error) {
	if head, known = b.raised[owner]; known {
		return head, true, nil
	}
	if head, known = b.heads.Get(owner); known {
		return head, true, nil
	}
	if head, err = b.stored(owner); err != nil {
		return 0, false, err
	}
	b.heads.Add(owner, head)
	return head, false, nil
}

// stored returns the head of an owner as tables and records have it. What a table
// says of a document holds: it may be deleted.
func (b *batch) stored(owner string) (uint64, error) {
	if record, ok := b.tables.get(owner); ok {
		_, version := headOf(owner, record)
		return version, nil
	}
	if err := b.read(); err != nil {
		return 0, err
	}
	head, err := readHead(bucket(b.tx, headsBucket), owner)
	return max(head, b.tables.head(owner)), err
}

// holds reports whether there is a record at key.
func (b *batch) holds(key string) (bool, error) {
	record, err := b.record(key)
	return record != nil, err
}

// record returns the record at key as it will be once the batch is done, nil when
// there is none.
func (b *batch) record(key string) ([]byte, error) {
	for _, e := range slices.Backward(b.entries) {
		if e.key == key {
			return e.record, nil
		}
	}
	if record, ok := b.tables.get(key); ok {
		return record, nil
	}
	if err := b.read(); err != nil {
		return nil, err
	}
	return bucket(b.tx, recordsBucket).Get([]byte(key)), nil
}

// read makes sure that the records can be read.
func (b *batch) read() (err error) {
	if b.tx == nil {
		b.tx, err = b.db.begin(false)
	}
	return err
}

// done notes what a batch that is durable has made of the heads.
func (b *batch) done() {
	for owner, head := range b.raised {
		b.heads.Add(owner, head)
	}
}
