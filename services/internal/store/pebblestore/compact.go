package pebblestore

import (
	"bytes"
	"cmp"
	"context"

	"github.com/cockroachdb/pebble/v2"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Compact gives the space of what was replaced or deleted back to the disk and
// leaves no byte of it in any file, a checkpoint included. With prefixes it does so only for streams and
// documents whose names begin with one of them. Reads and writes wait for a short
// time at the end.
func (s *Store) Compact(ctx context.Context, prefixes ...string) error {
	s.compacting.Lock()
	defer s.compacting.Unlock()
	// It holds the bytes to remove.
	if err := s.endCheckpoint(fault.New(fault.Conflict, "An erasure removed the checkpoint")); err != nil {
		return err
	}
	if len(prefixes) == 0 {
		prefixes = []string{""}
	}
	for _, prefix := range prefixes {
		for _, sort := range []byte{chunkSort, documentSort, snapshotSort} {
			if err := s.compactRange(ctx, keyOf(sort, prefix), keyAfter(keyOf(sort, prefix))); err != nil {
				return err
			}
		}
	}
	// Logs and manifests hold old keys and values, too. Opening starts both from the
	// current content when the log holds a commit, and Pebble keeps the manifest before.
	for range 3 {
		if err := s.submit(ctx, func(b *writeBatch) error { return b.set(commitsKey(), nil) }); err != nil {
			return err
		}
		if err := s.reopen(); err != nil {
			return err
		}
	}
	return nil
}

// compactRange rewrites all sstables with keys from one to before another, down
// to the last level.
func (s *Store) compactRange(ctx context.Context, from, to []byte) error {
	if err := s.view(func(db *pebble.DB) error { return db.Flush() }); err != nil {
		return err
	}
	// Pebble moves an sstable that overlaps no other to the level below as it is.
	// Deletions of two keys that cannot exist, in an sstable of their own, overlap
	// all in the range.
	first, last := append(from, 0), append(bytes.Clone(from), 0xff, 0)
	if err := s.submit(ctx, func(b *writeBatch) error { return b.remove(first, last) }); err != nil {
		return err
	}
	return s.view(func(db *pebble.DB) error { return db.Compact(ctx, from, to, false) })
}

// reopen closes the database and opens it again, while reads and writes wait.
func (s *Store) reopen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return errClosed()
	}
	if err := cmp.Or(s.db.Close(), s.openDatabase()); err != nil {
		s.end(err.Error())
	}
	return nil
}
