// Package pebblestore keeps streams and documents in a Pebble database: the store
// that needs nothing but a directory.
//
// One goroutine at a time, the writer, changes the database. It takes every write
// that has queued up, decides in order which of them hold, and commits those as
// one batch with one fsync. It remembers where streams end and the versions of
// documents, so that most writes search nothing.
//
//	key                    | value
//	'c' stream 0x00 seq    | a chunk
//	'd' document           | version, write id, body
//	'm'                    | the number of commits
//	's' stream 0x00 n      | the n-th part of the stream's snapshot
//
// Numbers are big-endian. Names hold no zero byte.
//
// Invariants, which the tests try to break:
//
//   - A write that was acknowledged is there after a crash, a power loss or any
//     failure, whole. A write that was refused as fault.Storage is not.
//   - A read returns what was written, or an error that wraps [stream.ErrDamaged].
//     Pebble's checksums find changed bytes, but Pebble takes damage near the end of a
//     log or a manifest for a write that a crash cut off. So each commit counts itself
//     in the database, and the witness, the file acclaim.commits, holds that number
//     after the last commit. A database whose sstables and logs lack one of the commits
//     up to that number does not open. After a power loss the witness may be behind,
//     but not by commits that sstables hold, until the store has been opened once.
//   - A directory with a damaged store stays as it is, and so does one that is read.
//   - One process uses a directory. It locks the witness, too, for people delete LOCK.
//   - When disk space or file descriptors run out, the store refuses writes
//     before Pebble meets the limit, and accepts them again when there are more.
//   - After Compact no file holds a byte of what was replaced or deleted before, and
//     there is no checkpoint from before it.
//
// The package knows nothing about the content of chunks and documents, and
// nothing else of the project imports Pebble.
package pebblestore

import (
	"cmp"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/acclaim-dev/acclaim/services/internal/engine/batch"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Memory, for the budget of a process: at most cacheBytes, memtables times
// memtableBytes while writes outrun flushes (most often one of them), recentBytes, and
// about 150 bytes for each of headsKept. That is 114 MiB, and some 58 MiB under usual load.
const (
	cacheBytes      = 32 << 20 // blocks of sstables
	memtableBytes   = 16 << 20 // recent writes, at which they are flushed to an sstable
	memtables       = 4        // that may wait for their flush before writes do
	headsKept       = 1 << 16  // streams and documents whose end the writer knows
	recentBytes     = 8 << 20  // documents that were written last
	bloomBitsPerKey = 10       // in each sstable: one search in a hundred finds nothing
	openSSTables    = 500      // file descriptors
)

// config sizes a store and connects it to the machine. Tests change it.
type config struct {
	fs    vfs.FS
	log   *slog.Logger
	exit  func(status int) // ends the process
	cache int64            // bytes
	table uint64           // bytes of a memtable
	queue int              // writes that wait
	batch int              // writes in a commit
	page  int              // bytes in a read step
	disk  int64            // bytes in reserve
	// measure limits the age of a measurement of the reserve. The store writes far less
	// than the reserve meanwhile.
	measure time.Duration
	access  access
}

// access limits what a store does with its directory.
type access int

const (
	readWrite   access = iota
	readOnly           // it changes no file
	readDamaged        // likewise, and it opens what has lost commits
)

func defaultConfig() config {
	return config{
		fs: MachineDisk(), log: slog.Default(), exit: os.Exit, cache: cacheBytes, table: memtableBytes,
		queue: 1024, batch: 512, page: 1 << 20,
		disk:    (memtables + 1) * memtableBytes, // enough to flush everything
		measure: 50 * time.Millisecond,
	}
}

// Store keeps streams and documents in a directory. It implements
// [stream.Store] and [document.Store] and is safe for concurrent use.
//
// A write whose context is done before its turn is withdrawn: it stores nothing and
// fails as fault.Unavailable. Later it fails as fault.Uncertain. A write that fails
// as fault.Storage stored nothing. When a log cannot be written for another reason
// than a full disk, the store ends the process with status 1: what is durable then
// is read when it starts again.
type Store struct {
	dir     string
	config  config
	fs      vfs.FS
	lock    *pebble.Lock
	witness vfs.File
	commits uint64 // in the database; the writer's

	mu sync.RWMutex // is locked while Compact opens the database again
	db *pebble.DB   // nil once the store is closed

	heads   *heads
	recent  *recentDocuments
	queue   batch.Queue[request]
	places  chan struct{} // a token for each write that waits
	waiting atomic.Int32  // operations of the file system that wait for a resource
	closed  chan struct{}
	close   sync.Once

	compacting sync.Mutex                 // one compaction at a time, and no checkpoint is made meanwhile
	checkpoint atomic.Pointer[checkpoint] // nil: there is none

	reserveMu sync.Mutex
	reserve   reserve
}

// Open opens the store in a directory, which it creates if need be. It fails at
// once when another process has it open.
func Open(dir string) (*Store, error) { return OpenOn(MachineDisk(), dir) }

// Disk is a file system. Tests have some that lose power.
type Disk = vfs.FS

// MachineDisk returns the file system of the machine.
func MachineDisk() Disk { return vfs.Default }

// OpenOn is Open for a directory of another file system than the machine's.
func OpenOn(disk Disk, dir string) (*Store, error) {
	c := defaultConfig()
	c.fs = disk
	return open(dir, c, true)
}

// OpenExisting is Open for a directory that holds a store already: it creates
// nothing, so that a mistyped name is an error and not an empty store.
func OpenExisting(dir string) (*Store, error) { return open(dir, defaultConfig(), false) }

// OpenToRead is OpenExisting for a store that is only read: no file of the directory
// changes. Writes fail as fault.Invalid.
func OpenToRead(dir string) (*Store, error) {
	c := defaultConfig()
	c.access = readOnly
	return open(dir, c, false)
}

// OpenDamaged is OpenToRead for a store that has lost commits: it holds what can be
// read, and says nothing of what is missing.
func OpenDamaged(dir string) (*Store, error) {
	c := defaultConfig()
	c.access = readDamaged
	return open(dir, c, false)
}

// Close answers the writes that wait, refuses later ones as fault.Unavailable,
// and closes the database. Reads that have begun finish first.
func (s *Store) Close() (err error) {
	s.close.Do(func() {
		close(s.closed)
		err = s.endCheckpoint(errClosed())
		for range cap(s.places) { // until all are answered
			s.places <- struct{}{}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.config.access == readWrite {
			s.removeOperatorFile()
		}
		err = errors.Join(err, s.db.Close(), s.closeFiles())
		s.db = nil
	})
	return err
}

// Err returns nil until the store is closed.
func (s *Store) Err() error {
	select {
	case <-s.closed:
		return errClosed()
	default:
		return nil
	}
}

// WriteErr returns nil while the store accepts writes, and otherwise why it refuses
// them.
func (s *Store) WriteErr() error { return cmp.Or(s.Err(), s.checkReserve()) }

func errClosed() error { return fault.Wrap(fault.Unavailable, os.ErrClosed, "storage is closed") }
