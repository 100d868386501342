package boltstore

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// number is a generation or the number of a commit within one, as a key.
func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// appendEntry appends an entry to the value of a commit.
func appendEntry(value []byte, e entry) []byte {
	value = binary.AppendUvarint(value, uint64(len(e.key)))
	value = append(value, e.key...)
	value = binary.AppendUvarint(value, uint64(len(e.record)))
	return append(value, e.record...)
}

// writeJournal adds a commit to a generation, which it begins if need be.
func writeJournal(tx *bbolt.Tx, generation uint64, value []byte) error {
	journal := bucket(tx, journalBucket)
	commits, err := journal.CreateBucketIfNotExists(number(generation))
	if err != nil {
		return err
	}
	if err := journal.SetSequence(generation); err != nil {
		return err
	}
	n, err := commits.NextSequence()
	if err != nil {
		return err
	}
	commits.FillPercent = 1 // keys only ever rise
	return commits.Put(number(n), seal(journalBucket, commitPlace(generation, n), value))
}

func commitPlace(generation, n uint64) string {
	return string(append(number(generation), number(n)...))
}

// dropJournal forgets the generations up to last, whose writes are all in the
// records now.
func dropJournal(tx *bbolt.Tx, last uint64) error {
	journal, meta := bucket(tx, journalBucket), bucket(tx, metaBucket)
	for generation := meta.Sequence() + 1; generation <= last; generation++ {
		if err := journal.DeleteBucket(number(generation)); err != nil {
			return err
		}
	}
	return meta.SetSequence(last)
}

// replay returns the tables that a file's journal describes. Its writes may be
// in the records already, some or all: moving them there again changes nothing.
func replay(db *database) (*tables, error) {
	old := &table{}
	err := db.view(func(tx *bbolt.Tx) error {
		journal := bucket(tx, journalBucket)
		old.generation = journal.Sequence()
		return replayGenerations(journal, bucket(tx, metaBucket).Sequence(), old)
	})
	if err != nil {
		return nil, err
	}
	t := &tables{active: &table{generation: old.generation + 1}}
	if old.records.Len() > 0 {
		t.frozen = old
	}
	return t, nil
}

// replayGenerations reads the generations after moved: all up to that of the
// table must be there, and no others.
func replayGenerations(journal *bbolt.Bucket, moved uint64, into *table) error {
	err := journal.ForEachBucket(func(key []byte) error {
		moved++
		if string(key) != string(number(moved)) {
			return fmt.Errorf("%w: journal has generation %x in place of %d", stream.ErrDamaged, key, moved)
		}
		return replayCommits(journal.Bucket(key), moved, into)
	})
	if err == nil && moved != into.generation {
		err = fmt.Errorf("%w: journal ends at generation %d in place of %d", stream.ErrDamaged, moved, into.generation)
	}
	return err
}

func replayCommits(commits *bbolt.Bucket, generation uint64, into *table) error {
	n := uint64(0)
	err := commits.ForEach(func(key, value []byte) error {
		n++
		body, err := unseal(journalBucket, commitPlace(generation, n), value)
		if err != nil || string(key) != string(number(n)) {
			return fmt.Errorf("%w: commit %d of journal generation %d: wrong checksum", stream.ErrDamaged, n, generation)
		}
		return replayEntries(append([]byte{}, body...), into)
	})
	if err == nil && n != commits.Sequence() {
		err = fmt.Errorf("%w: journal generation %d has %d commits in place of %d", stream.ErrDamaged, generation, n, commits.Sequence())
	}
	return err
}

// replayEntries puts the entries of a commit into a table, which keeps body.
func replayEntries(body []byte, into *table) error {
	for len(body) > 0 {
		key, rest, ok := cutField(body)
		if !ok {
			return fmt.Errorf("%w: journal entry is cut off", stream.ErrDamaged)
		}
		record, rest, ok := cutField(rest)
		if !ok {
			return fmt.Errorf("%w: journal entry is cut off", stream.ErrDamaged)
		}
		into.put(entry{string(key), record})
		body = rest
	}
	return nil
}

// cutField returns the field at the beginning of data, its length first, and
// what follows it.
func cutField(data []byte) (field, rest []byte, ok bool) {
	length, n := binary.Uvarint(data)
	if n <= 0 || length > uint64(len(data)-n) {
		return nil, nil, false
	}
	return data[n : n+int(length)], data[n+int(length):], true
}
