package pebblestore

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// isShortage reports whether an error means that the machine is out of something.
func isShortage(err error) bool {
	return slices.ContainsFunc([]syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM},
		func(errno syscall.Errno) bool { return errors.Is(err, errno) })
}

// checkReserve returns nil while there are a descriptor and the disk space that
// Pebble needs to flush all that its memtables may hold.
func (s *Store) checkReserve() error {
	r := s.measureReserve()
	if r.available < uint64(s.config.disk) || s.waiting.Load() > 0 {
		return fault.Wrap(fault.Storage, syscall.ENOSPC, "the disk is full, nothing was stored")
	}
	if r.openErr != nil {
		return fault.Wrap(fault.Storage, r.openErr, "there are too many open files, nothing was stored")
	}
	return nil
}

// Low reports whether the disk has less room left than twice the reserve. It returns at
// once.
func (s *Store) Low() bool { return s.measureReserve().available < 2*uint64(s.config.disk) }

// reserve holds what the machine has left for the store.
type reserve struct {
	available uint64 // bytes on the disk; the largest number where that is not known
	openErr   error  // why no file can be opened
	measured  time.Time
}

// measureReserve returns the reserve as it was at most config.measure ago: measuring
// takes three system calls, and every write asks.
func (s *Store) measureReserve() reserve {
	s.reserveMu.Lock()
	defer s.reserveMu.Unlock()
	if now := time.Now(); now.Sub(s.reserve.measured) >= s.config.measure {
		s.reserve = reserve{math.MaxUint64, nil, now}
		if usage, err := s.config.fs.GetDiskUsage(s.dir); err == nil {
			s.reserve.available = usage.AvailBytes
		}
		file, err := s.config.fs.OpenDir(s.dir)
		if err == nil {
			err = file.Close()
		}
		s.reserve.openErr = err
	}
	return s.reserve
}

// patientFS is a file system whose writes wait while the machine is out of something:
// other programs may take what was in reserve, and Pebble can undo no write.
type patientFS struct {
	vfs.FS
	store *Store
}

// retry runs op until it does not fail for a shortage, or the store is closed.
func (s *Store) retry(op func() error) error {
	const interval = 50 * time.Millisecond
	err := op()
	if !isShortage(err) {
		return err
	}
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	s.config.log.Error("the store waits for disk space or file descriptors", "dir", s.dir, "error", err)
	for ; isShortage(err); err = op() {
		select {
		case <-time.After(interval):
		case <-s.closed:
			return err
		}
	}
	s.config.log.Info("the store goes on", "dir", s.dir)
	return err
}

func (p *patientFS) open(open func() (vfs.File, error)) (file vfs.File, err error) {
	err = p.store.retry(func() error { file, err = open(); return err })
	return &patientFile{file, p.store}, err
}

// Create implements [vfs.FS]. A marker names a file that Pebble has just created and has not
// made durable: after a power failure a file system that keeps names in no order would have
// the marker and not the file, and the store would not start.
func (p *patientFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if file, ok, err := p.createCopy(name, c); ok {
		return file, err
	}
	if strings.HasPrefix(p.PathBase(name), "marker.") {
		if err := syncDir(p.FS, p.PathDir(name)); err != nil {
			return nil, err
		}
	}
	file, err := p.open(func() (vfs.File, error) { return p.FS.Create(name, c) })
	if err == nil && strings.HasPrefix(p.PathBase(name), manifestStart) {
		file = manifestFile{file, p.store}
	}
	return file, err
}

// ReuseForWrite implements [vfs.FS].
func (p *patientFS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return p.open(func() (vfs.File, error) { return p.FS.ReuseForWrite(old, name, c) })
}

type patientFile struct {
	vfs.File
	store *Store
}

// Write implements [vfs.File].
func (f *patientFile) Write(content []byte) (written int, err error) {
	err = f.store.retry(func() error {
		n, err := f.File.Write(content[written:])
		written += n
		return err
	})
	return written, err
}

// manifestFile makes the witness durable with each edit of the manifest: once that is
// durable, Pebble deletes the logs that it replaces.
type manifestFile struct {
	vfs.File
	store *Store
}

// Sync implements [vfs.File].
func (f manifestFile) Sync() error {
	err := f.File.Sync()
	_ = f.store.witness.Sync() // a failure loses only the check
	return err
}

// guard runs fn and turns a panic into an error. Pebble panics where stored data
// makes no sense.
func guard(fn func() error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%w: %v", stream.ErrDamaged, reason)
		}
	}()
	return fn()
}

// readError gives an error of Pebble the kind that it has for a caller.
func readError(err error) error {
	switch {
	case pebble.IsCorruptionError(err), errors.Is(err, wire.ErrMalformed):
		return fmt.Errorf("%w: %w", stream.ErrDamaged, err)
	case isShortage(err):
		return fault.Wrap(fault.Storage, err, "storage cannot be read")
	}
	return err
}

// end ends the process.
func (s *Store) end(reason string) {
	s.config.log.Error("the store cannot go on and ends the program: check the disk, then start the program again", "dir", s.dir, "error", reason)
	s.config.exit(1)
	select {} // the exit of a test returns
}

// logger is Pebble's. Pebble calls Fatalf when it cannot go on, and relies on it
// not to return.
type logger struct {
	log   *slog.Logger
	fatal func(reason string)
}

// Infof implements [pebble.Logger]: it leaves every flush and compaction out.
func (logger) Infof(string, ...any) {}

// Errorf implements [pebble.Logger].
func (l logger) Errorf(format string, args ...any) {
	l.log.Error("the store's database", "error", fmt.Sprintf(format, args...))
}

// Fatalf implements [pebble.Logger].
func (l logger) Fatalf(format string, args ...any) { l.fatal(fmt.Sprintf(format, args...)) }

// newListener keeps Pebble from calling Fatalf where a read finds damage: the read
// fails, and the other data is as good as before.
func newListener(l logger) *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) { l.Errorf("background work: %v", err) },
		DataCorruption:  func(info pebble.DataCorruptionInfo) { l.Errorf("damage in %s: %v", info.Path, info.Details) },
	}
}
