package pebblestore

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

const (
	format      = "acclaim3"        // the version of everything that the store holds
	witnessName = "acclaim.commits" // format, number of commits, checksum; 8 bytes each
	oldName     = "acclaim.db"      // the file of the version before
	advice      = "restore it from a backup, or move it away to begin with an empty store"
)

func open(dir string, c config, create bool) (*Store, error) {
	dir, err := filepath.Abs(dir) // Pebble knows a locked directory by its name
	if err != nil {
		return nil, err
	}
	if err := checkContent(c.fs, dir, create); err != nil {
		return nil, err
	}
	s := &Store{dir: dir, config: c, heads: newHeads(), recent: newRecentDocuments(), places: make(chan struct{}, c.queue), closed: make(chan struct{})}
	s.fs = &patientFS{c.fs, s}
	if err := makeDir(c.fs, dir); err != nil {
		return nil, unusable(dir, err)
	}
	if s.lock, err = lockDirectory(dir, c.fs); err != nil {
		return nil, err
	}
	if s.witness, err = c.fs.OpenReadWrite(c.fs.PathJoin(dir, witnessName), vfs.WriteCategoryUnspecified); err != nil {
		return nil, errors.Join(unusable(dir, err), s.lock.Close())
	}
	if err = s.inspect(); err == nil {
		err = s.openDatabase()
	}
	if err != nil {
		if _, ok := errors.AsType[*os.PathError](err); ok && !errors.Is(err, fs.ErrNotExist) || isShortage(err) {
			err = unusable(dir, err)
		} else {
			err = fmt.Errorf("%s: %w: %s", dir, readError(err), advice)
		}
		return nil, errors.Join(err, s.witness.Close(), s.lock.Close())
	}
	s.writeWitness()
	return s, nil
}

// checkContent refuses a directory with a store of the version before, and one
// without a store unless that may be created.
func checkContent(fsys vfs.FS, dir string, create bool) error {
	old := fsys.PathJoin(dir, oldName)
	if _, err := fsys.Stat(old); err == nil {
		return fmt.Errorf("%s is of an older version: export it with the program that wrote it and import that into an empty data directory", old)
	}
	if _, err := fsys.Stat(fsys.PathJoin(dir, witnessName)); err != nil && !create {
		return fmt.Errorf("%s holds no store: %w", dir, err)
	}
	return nil
}

// lockDirectory keeps other processes out of a directory until the lock is closed.
func lockDirectory(dir string, fsys vfs.FS) (*pebble.Lock, error) {
	lock, err := pebble.LockDirectory(dir, fsys)
	switch {
	case err == nil:
		return lock, nil
	case errors.Is(err, syscall.EAGAIN) || err.Error() == "lock held by current process":
		return nil, fmt.Errorf("%s is in use by another process: stop that one or choose another data directory", dir)
	}
	return nil, unusable(dir, err)
}

func unusable(dir string, err error) error {
	return fmt.Errorf("data directory %s cannot be set up: %w: choose a directory that this user may write", dir, err)
}

// makeDir makes a directory and those above it, durably.
func makeDir(fsys vfs.FS, dir string) error {
	above := fsys.PathDir(dir)
	if _, err := fsys.Stat(dir); err == nil || dir == above {
		return err
	}
	if err := cmp.Or(makeDir(fsys, above), fsys.MkdirAll(dir, 0o700)); err != nil {
		return err
	}
	file, err := fsys.OpenDir(above)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// inspect reads how many commits the database holds and changes nothing. It refuses
// a database that is damaged, lacks commits or is of another version.
func (s *Store) inspect() error {
	known, err := s.readWitness()
	if err != nil {
		return err
	}
	err = guard(func() error {
		options := s.options(func(reason string) { panic(reason) })
		options.ReadOnly = true
		db, err := pebble.Open(s.dir, options)
		if err != nil {
			return err
		}
		value, err := get(db, commitsKey())
		if len(value) == 8 {
			s.commits = binary.BigEndian.Uint64(value)
		}
		return errors.Join(err, db.Close())
	})
	if errors.Is(err, pebble.ErrDBDoesNotExist) && known == 0 {
		return nil // it is new
	}
	if err == nil && s.commits < known {
		err = fmt.Errorf("%w: it holds %d commits of %d, the others are lost", stream.ErrDamaged, s.commits, known)
	}
	return err
}

// openDatabase sets db. The caller holds mu, or is the only one that knows the store.
func (s *Store) openDatabase() error {
	return guard(func() (err error) {
		s.db, err = pebble.Open(s.dir, s.options(s.end))
		return err
	})
}

// options returns the database's. It calls fatal where it cannot go on.
func (s *Store) options(fatal func(reason string)) *pebble.Options {
	l := logger{s.config.log, fatal}
	o := &pebble.Options{
		FS: s.fs, Lock: s.lock, FormatMajorVersion: pebble.FormatValueSeparation, Logger: l, EventListener: newListener(l),
		CacheSize: s.config.cache, MemTableSize: s.config.table, MemTableStopWritesThreshold: memtables, MaxOpenFiles: openSSTables,
	}
	// Compressing is more work than writing, and hides from a search what is stored.
	o.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone })
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBitsPerKey)
	}
	return o
}

// readWitness returns how many commits the database holds at least, 0 when the
// witness does not tell: then the database is as good as its own number.
func (s *Store) readWitness() (commits uint64, err error) {
	var content [24]byte
	_, _ = s.witness.ReadAt(content[:], 0) // a witness that cannot be read does not tell
	if binary.BigEndian.Uint64(content[16:]) != xxhash.Sum64(content[:16]) {
		return 0, nil
	}
	if found := string(content[:8]); found != format {
		return 0, fmt.Errorf("format is %q and this program reads %q only", found, format)
	}
	return binary.BigEndian.Uint64(content[8:]), nil
}

// writeWitness tells how many commits the database holds. No fsync follows: a power
// loss may only make the number smaller, and a failure loses only the check.
func (s *Store) writeWitness() {
	content := binary.BigEndian.AppendUint64(append(make([]byte, 0, 24), format...), s.commits)
	_, _ = s.witness.WriteAt(binary.BigEndian.AppendUint64(content, xxhash.Sum64(content)), 0)
}
