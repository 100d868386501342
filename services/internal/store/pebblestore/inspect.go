package pebblestore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

const (
	logSuffix     = ".log"
	tableSuffix   = ".sst"
	manifestStart = "MANIFEST-"
)

// inspect counts the commits that the database holds and changes nothing. It refuses
// a database that is damaged, lacks commits or is of another version.
//
// Pebble takes damage in a manifest for its end, and then knows an earlier set of
// sstables. That set is whole: Pebble finds all of it in the directory or opens
// nothing. It holds the commits up to one of them. So nothing is lost where the logs
// hold each later commit up to the one that the witness has seen, as they do when a
// crash cut off an edit that nothing depends on yet.
//
// A set that lacks an edit before its last is no earlier set: see checkManifest.
func (s *Store) inspect() error {
	known, err := s.readWitness()
	if err != nil {
		return err
	}
	return guard(func() error {
		if err := s.checkManifest(); err != nil {
			return err
		}
		flushed, err := s.countCommits(withoutLogs{s.fs})
		if errors.Is(err, pebble.ErrDBDoesNotExist) {
			return s.checkEmpty(known, err)
		}
		if err != nil {
			return err
		}
		if s.commits, err = s.countCommits(s.fs); err != nil {
			return err
		}
		if err := s.checkLogs(flushed); err != nil {
			return err
		}
		if s.commits < known {
			return fmt.Errorf("%w: it holds %d commits of %d, the others are lost", stream.ErrDamaged, s.commits, known)
		}
		return nil
	})
}

// checkEmpty returns nil where a database may be created. In a directory whose marker of
// the manifest is gone Pebble sees no database, and would delete all the rest.
func (s *Store) checkEmpty(known uint64, missing error) error {
	names, err := s.fs.List(s.dir)
	if known > 0 || slices.ContainsFunc(names, func(name string) bool {
		return strings.HasSuffix(name, logSuffix) || strings.HasSuffix(name, tableSuffix)
	}) {
		return fmt.Errorf("%w: its files are missing: %w", stream.ErrDamaged, missing)
	}
	return err
}

// countCommits returns the number of commits in the files that a file system shows.
func (s *Store) countCommits(fsys vfs.FS) (commits uint64, err error) {
	options := s.options(func(reason string) { panic(reason) })
	options.FS, options.ReadOnly = fsys, true
	db, err := pebble.Open(s.dir, options)
	if err != nil {
		return 0, err
	}
	value, err := get(db, commitsKey())
	if len(value) == 8 {
		commits = binary.BigEndian.Uint64(value)
	}
	return commits, errors.Join(err, db.Close())
}

// checkLogs returns an error unless the logs hold every commit after those in the
// sstables.
func (s *Store) checkLogs(flushed uint64) error {
	logs, err := wal.Scan(wal.Dir{FS: s.fs, Dirname: s.dir})
	if err != nil {
		return err
	}
	last := flushed
	for _, log := range logs {
		if last, err = followLog(log, last); err != nil {
			return err
		}
	}
	if last != s.commits { // a log may hold what the database has for an sstable's
		return lostCommits(min(last, s.commits)+1, max(last, s.commits))
	}
	return nil
}

// followLog returns the last commit of those in a log that follow one without a gap.
// It ends where the log cannot be read, as Pebble's replay does at the end of a log.
func followLog(log wal.LogicalLog, last uint64) (uint64, error) {
	reader := log.OpenForRead()
	defer func() { _ = reader.Close() }()
	var content bytes.Buffer
	for {
		content.Reset()
		r, _, err := reader.NextRecord()
		if err == nil {
			_, err = content.ReadFrom(r)
		}
		if errors.Is(err, io.EOF) || isInvalid(err) {
			return last, nil
		}
		if err != nil {
			return last, err
		}
		commit, err := commitOf(content.Bytes())
		if err != nil {
			return last, err
		}
		if commit > last+1 {
			return last, lostCommits(last+1, commit-1)
		}
		last = max(last, commit)
	}
}

// isInvalid reports whether a record cannot be read because of its bytes.
func isInvalid(err error) bool {
	return slices.ContainsFunc([]error{record.ErrZeroedChunk, record.ErrInvalidChunk, record.ErrUnexpectedEOF},
		func(invalid error) bool { return errors.Is(err, invalid) })
}

// commitOf returns the number of the commit that a record of a log holds.
func commitOf(content []byte) (commit uint64, err error) {
	if len(content) < batchrepr.HeaderLen {
		return 0, batchrepr.ErrInvalidBatch
	}
	batch := batchrepr.Read(content)
	for {
		_, key, value, ok, err := batch.Next()
		if !ok || err != nil {
			return commit, err
		}
		if len(value) == 8 && bytes.Equal(key, commitsKey()) {
			commit = binary.BigEndian.Uint64(value)
		}
	}
}

func lostCommits(first, last uint64) error {
	return fmt.Errorf("%w: it lacks the commits %d to %d: a file is damaged, missing or older than the others", stream.ErrDamaged, first, last)
}

// withoutLogs is a file system that hides logs.
type withoutLogs struct{ vfs.FS }

// List implements [vfs.FS].
func (w withoutLogs) List(dir string) ([]string, error) {
	names, err := w.FS.List(dir)
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, logSuffix) }), err
}
