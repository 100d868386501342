package boltstore

import (
	"encoding/binary"

	"go.etcd.io/bbolt"
)

// moveSlice moves the next few records of the frozen table to where they
// belong. With the last of them go the table and its files.
func (w *writer) moveSlice() error {
	frozen := w.tables.frozen
	if w.moved == "" {
		w.left = frozen.size
	}
	slice, next := nextSlice(frozen, w.moved, w.limits.slice)
	err := w.db.update(func(tx *bbolt.Tx) error {
		if err := writeRecords(tx, slice); err != nil || next != "" {
			return err
		}
		return dropJournal(tx, frozen.generation)
	})
	if err != nil {
		return err
	}
	w.moved = next
	for _, e := range slice {
		w.left -= e.size()
	}
	if next == "" {
		w.tables.thaw()
		w.journal.drop(frozen.first, frozen.generation)
	}
	return nil
}

// pageBytes is that of a page, which costs the same however little changes.
const pageBytes = 4096

// nextSlice returns the entries from a key on that change about the given
// number of pages, and the key after them, "" at the end.
func nextSlice(t *table, from string, pages int) (slice []entry, next string) {
	owner, bytes := "", 0
	t.records.Ascend(from, func(key string, record []byte) bool {
		if bytes >= pages*pageBytes {
			next = key
			return false
		}
		bytes += len(record)
		if o, _ := headOf(key, record); o != owner {
			owner = o
			bytes += pageBytes
		}
		slice = append(slice, entry{key, record})
		return true
	})
	return slice, next
}

// writeRecords puts entries, in order of their keys, into the records and
// raises the heads that go with them.
func writeRecords(tx *bbolt.Tx, entries []entry) error {
	records, heads := bucket(tx, recordsBucket), bucket(tx, headsBucket)
	for i, e := range entries {
		if err := records.Put([]byte(e.key), e.record); err != nil {
			return err
		}
		owner, head := headOf(e.key, e.record)
		if i+1 < len(entries) {
			if next, _ := headOf(entries[i+1].key, entries[i+1].record); next == owner {
				continue
			}
		}
		if err := raiseHead(heads, owner, head); err != nil {
			return err
		}
	}
	return nil
}

func raiseHead(heads *bbolt.Bucket, owner string, head uint64) error {
	old, err := readHead(heads, owner)
	if err != nil || old >= head {
		return err
	}
	value := binary.BigEndian.AppendUint64(make([]byte, sumSize), head)
	return heads.Put([]byte(owner), seal(headsBucket, owner, value))
}

// readHead returns the last seq or version of what the records hold of owner, 0
// when they hold nothing.
func readHead(heads *bbolt.Bucket, owner string) (uint64, error) {
	value := heads.Get([]byte(owner))
	if value == nil {
		return 0, nil
	}
	body, err := unseal(headsBucket, owner, value)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(body), nil
}
