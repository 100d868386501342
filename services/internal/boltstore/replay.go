package boltstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.etcd.io/bbolt"

	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// number is a generation as a key.
func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// registration notes that a generation has begun, or how long its file has
// become.
func registration(generation uint64, size int64) func(tx *bbolt.Tx) error {
	return func(tx *bbolt.Tx) error {
		journal := bucket(tx, journalBucket)
		value := binary.BigEndian.AppendUint64(make([]byte, sumSize), uint64(size))
		key := number(generation)
		if err := journal.Put(key, seal(journalBucket, string(key), value)); err != nil {
			return err
		}
		return journal.SetSequence(generation)
	}
}

// dropJournal forgets the generations up to last, whose writes are all in the
// records now.
func dropJournal(tx *bbolt.Tx, last uint64) error {
	journal, meta := bucket(tx, journalBucket), bucket(tx, metaBucket)
	for generation := meta.Sequence() + 1; generation <= last; generation++ {
		if err := journal.Delete(number(generation)); err != nil {
			return err
		}
	}
	return meta.SetSequence(last)
}

// registered are the generations that are not all moved, and how long their
// files are at least. They follow one another.
type registered struct {
	first uint64
	sizes []int64
}

func (r registered) last() uint64 { return r.first + uint64(len(r.sizes)) - 1 }

// readRegistered reads the generations after the last that was moved: all up to
// the last that was begun must be there, and no others.
func readRegistered(tx *bbolt.Tx) (r registered, err error) {
	journal := bucket(tx, journalBucket)
	r.first = bucket(tx, metaBucket).Sequence() + 1
	err = journal.ForEach(func(key, value []byte) error {
		want := r.last() + 1
		if string(key) != string(number(want)) {
			return fmt.Errorf("%w: journal has generation %x in place of %d", stream.ErrDamaged, key, want)
		}
		body, err := unseal(journalBucket, string(key), value)
		if err != nil {
			return err
		}
		r.sizes = append(r.sizes, int64(binary.BigEndian.Uint64(body)))
		return nil
	})
	if begun := max(journal.Sequence(), r.first-1); err == nil && r.last() != begun {
		err = fmt.Errorf("%w: journal ends at generation %d in place of %d", stream.ErrDamaged, r.last(), begun)
	}
	return r, err
}

// replay returns the tables that the journal describes. Its writes may be in the
// records already, some or all: moving them there again changes nothing.
func replay(db *database) (t *tables, err error) {
	var live registered
	if err := db.view(func(tx *bbolt.Tx) (err error) {
		live, err = readRegistered(tx)
		return err
	}); err != nil {
		return nil, err
	}
	old := &table{first: live.first, generation: live.last()}
	for i, size := range live.sizes {
		if err := replayFile(db, live.first+uint64(i), size, old); err != nil {
			return nil, err
		}
	}
	t = &tables{active: newTable(old.generation + 1)}
	if len(live.sizes) > 0 {
		t.frozen = old
	}
	return t, removeOthers(db, live)
}

func replayFile(db *database, generation uint64, size int64, into *table) error {
	path := journalPath(db, generation)
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s is missing", stream.ErrDamaged, path)
	case err != nil:
		return err
	case int64(len(data)) < size:
		return fmt.Errorf("%w: %s has %d bytes of at least %d, the end is missing", stream.ErrDamaged, path, len(data), size)
	}
	if err := sectors(data).replay(generation, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// removeOthers removes files of generations that were moved or never begun.
func removeOthers(db *database, live registered) error {
	dir, name := filepath.Split(db.path)
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), name+journalSuffix) || live.holds(db, filepath.Join(dir, e.Name())) {
			continue
		}
		err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
	}
	return err
}

func (r registered) holds(db *database, path string) bool {
	for generation := r.first; generation <= r.last(); generation++ {
		if path == journalPath(db, generation) {
			return true
		}
	}
	return false
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
