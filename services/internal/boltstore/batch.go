package boltstore

import (
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

func (b *batch) put(e entry, owner string, head uint64) {
	b.raised[owner] = max(b.raised[owner], head)
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
	if err := b.read(); err != nil {
		return 0, false, err
	}
	if head, err = readHead(bucket(b.tx, headsBucket), owner); err != nil {
		return 0, false, err
	}
	head = max(head, b.tables.head(owner))
	b.heads.Add(owner, head)
	return head, false, nil
}

// holds reports whether there is a record at key.
func (b *batch) holds(key string) (bool, error) {
	for _, e := range b.entries {
		if e.key == key {
			return true, nil
		}
	}
	if _, ok := b.tables.get(key); ok {
		return true, nil
	}
	if err := b.read(); err != nil {
		return false, err
	}
	return bucket(b.tx, recordsBucket).Get([]byte(key)) != nil, nil
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
