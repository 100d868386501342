package pebblestore

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	format      = "acclaim3"        // the version of everything that the store holds
	witnessName = "acclaim.commits" // format, number of commits, checksum; 8 bytes each
	oldName     = "acclaim.db"      // the file of the version before
	advice      = "nothing was changed: restore a backup into another directory, or move this one away to begin with an empty store; " +
		"acclaim verify --damaged and acclaim export --damaged show what can still be read"
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
	if s.witness, err = openWitness(dir, c.fs); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	err = s.inspect()
	if err == nil && c.access == readWrite {
		s.removeLeftovers()
	}
	if err == nil || c.access == readDamaged {
		err = s.openDatabase()
	}
	if err != nil {
		return nil, errors.Join(refuse(dir, err), s.closeFiles())
	}
	if c.access == readWrite {
		s.writeWitness()
		_ = s.witness.Sync()
	}
	return s, nil
}

// refuse returns the error of a directory that does not open.
func refuse(dir string, err error) error {
	if _, ok := errors.AsType[*os.PathError](err); ok && !errors.Is(err, fs.ErrNotExist) || isShortage(err) {
		return unusable(dir, err)
	}
	return fmt.Errorf("%s: %w: %s", dir, readError(err), advice)
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
	case errors.Is(err, errLocked) || err.Error() == "lock held by current process":
		return nil, inUse(dir)
	}
	return nil, unusable(dir, err)
}

// openWitness opens the witness and locks it: a directory whose file LOCK was deleted
// is still in use.
func openWitness(dir string, fsys vfs.FS) (vfs.File, error) {
	file, err := fsys.OpenReadWrite(fsys.PathJoin(dir, witnessName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, unusable(dir, err)
	}
	// A file system without such locks still has that of LOCK.
	if file.Fd() != vfs.InvalidFd && isLocked(file.Fd()) { // otherwise it is in memory
		return nil, errors.Join(inUse(dir), file.Close())
	}
	return file, nil
}

// closeFiles closes the witness and the lock. A process that another one is starting
// has a copy of the descriptor for a moment, so closing alone does not unlock.
func (s *Store) closeFiles() error {
	if s.witness.Fd() != vfs.InvalidFd {
		unlock(s.witness.Fd())
	}
	return errors.Join(s.witness.Close(), s.lock.Close())
}

func inUse(dir string) error {
	return fmt.Errorf("%s is %w: stop that one or choose another data directory", dir, ErrInUse)
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
	return syncDir(fsys, above)
}

// syncDir makes the names of a directory durable.
func syncDir(fsys vfs.FS, dir string) error {
	file, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// openDatabase sets db. The caller holds mu, or is the only one that knows the store.
func (s *Store) openDatabase() error {
	return guard(func() (err error) {
		options := s.options(s.end)
		options.ReadOnly = s.config.access != readWrite
		if s.db, err = pebble.Open(s.dir, options); err != nil && s.config.access == readDamaged {
			return s.openRest(options, err)
		}
		return err
	})
}

// openRest opens a database that Pebble does not open whole: without sstables that are
// missing, or without logs that cannot be read.
func (s *Store) openRest(options *pebble.Options, whole error) (err error) {
	options.DisableConsistencyCheck = true
	if s.db, err = pebble.Open(s.dir, options); err == nil {
		return nil
	}
	options.FS = withoutLogs{s.fs}
	if s.db, err = pebble.Open(s.dir, options); err == nil {
		return nil
	}
	return whole
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

// writeWitness stores the number of commits that the database holds. No fsync follows, until
// Pebble syncs a manifest: a power loss may only make the number smaller, and a failure
// loses only the check.
func (s *Store) writeWitness() {
	content := binary.BigEndian.AppendUint64(append(make([]byte, 0, 24), format...), s.commits)
	_, _ = s.witness.WriteAt(binary.BigEndian.AppendUint64(content, xxhash.Sum64(content)), 0)
}
