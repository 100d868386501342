// Package boltstore keeps streams and documents in a bbolt file and a journal
// beside it: the store that needs nothing but a directory.
//
// A commit of bbolt writes several pages and, when it touches many, takes long.
// So a write goes to a journal, where one fdatasync makes a whole batch of writes
// durable, and to a table in memory; tables that have grown are moved into the
// sorted records in small slices, between commits. All of it is the work of one
// goroutine, the writer. A store that was closed is the bbolt file alone.
//
//	journal   generation -> size of its file
//	records   'c' stream 0x00 seq -> chunk; 'd' key -> document
//	heads     'c' stream -> last seq in records; 'd' key -> version in records
//	snapshots stream -> manifest
//	parts     stream 0x00 generation part -> a part of a snapshot's state
//	meta      "format"; its sequence is the last generation moved to records
//
// bbolt has no checksums of its own, so every value has one that covers its
// place too, and everything whose loss a reader could not notice is written
// down twice: the end of a stream and the version of a document in heads, the
// files of the journal in their bucket, and that a commit is durable in what
// follows it. What is not as it was written is reported as [stream.ErrDamaged],
// never returned.
//
// The package knows nothing of what chunks and documents mean, and nothing else
// of the project imports bbolt.
package boltstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Store keeps streams and documents in a directory. It implements
// [stream.Store] and [document.Store] and is safe for concurrent use.
//
// At most 1024 writes wait at a time; whoever comes then waits for a place. A
// write whose context is done before its turn is withdrawn: it stores nothing
// and fails as fault.Unavailable. Once its turn has come it waits for the
// outcome whatever its context says.
//
// A write that fails as fault.Storage stored nothing: the disk is full, and the
// store works again when there is room. After any other failure to write the
// outcome is unknown (fault.Uncertain), and because an operating system may
// drop what it could not write the store refuses everything until it is opened
// again.
type Store struct {
	db     *database
	tables *tables
	writer *writer
	limits limits
	saving chan struct{} // holds a token while a snapshot is being saved
}

// limits are the bounds of what the store holds and does at a time.
type limits struct {
	queue int // writes that wait
	batch int // bytes of writes in a commit, give or take one write
	table int // bytes of a table at which it is moved into the records
	slice int // pages changed by a commit that moves records
	page  int // bytes of chunks read in one transaction
	part  int // bytes of a part of a snapshot
}

func defaultLimits() limits {
	return limits{queue: 1024, batch: 8 << 20, table: 8 << 20, slice: 64, page: 1 << 20, part: 256 << 10}
}

// Open opens the store in a directory, which is created if need be. It fails at
// once when another process has it open. The error says what is wrong with
// which file, and what to do.
func Open(dir string) (*Store, error) { return open(dir, defaultLimits()) }

// OpenExisting is Open for a directory that holds a store already: it creates
// nothing, so that a mistyped name is an error and not an empty store.
func OpenExisting(dir string) (*Store, error) {
	if _, err := os.Stat(filepath.Join(dir, fileName)); err != nil {
		return nil, fmt.Errorf("%s holds no store: %w", dir, err)
	}
	return Open(dir)
}

func open(dir string, limits limits) (*Store, error) {
	db, err := openDatabase(dir)
	if err != nil {
		return nil, err
	}
	tables, err := replay(db)
	if err != nil {
		return nil, abandon(db, err)
	}
	s := &Store{
		db:     db,
		tables: tables,
		writer: newWriter(db, tables, limits),
		limits: limits,
		saving: make(chan struct{}, 1),
	}
	go s.writer.run()
	return s, nil
}

// Close answers the writes that wait, refuses later ones as fault.Unavailable,
// and closes the file. What is being read is finished first.
func (s *Store) Close() error {
	s.writer.close()
	return s.db.close()
}

// Err returns nil as long as the store works, and otherwise why it refuses
// everything: a failed write, damage to the file, or that it is closed.
func (s *Store) Err() error { return s.db.err() }

// Stats are counters since the store was opened.
type Stats struct {
	// Commits is the number of batches made durable.
	Commits uint64
	// Writes is the number of writes in them, so Writes/Commits is the mean size
	// of a batch.
	Writes uint64
	// FileBytes is the current size of the file.
	FileBytes int64
}

// Stats returns the store's counters.
func (s *Store) Stats() Stats {
	return Stats{
		Commits:   s.writer.commits.Load(),
		Writes:    s.writer.writes.Load(),
		FileBytes: s.db.size(),
	}
}

// lockSnapshots makes its caller the only one that saves a snapshot.
func (s *Store) lockSnapshots(ctx context.Context) (unlock func(), err error) {
	select {
	case s.saving <- struct{}{}:
		return func() { <-s.saving }, nil
	case <-ctx.Done():
		return nil, withdrawn(ctx)
	}
}
