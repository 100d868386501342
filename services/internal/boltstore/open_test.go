package boltstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// wantRefusal fails the test unless err names the path and says what is wrong.
func wantRefusal(t *testing.T, err error, path, what string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), what) {
		t.Errorf("error is %v\nwant one with %q and %q", err, path, what)
	}
}

func TestOpenCreatesDirectories(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b", "c")
	s := mustOpen(t, dir, defaultLimits())
	appendChunks(t, s, "s", 1, 1)
	mustClose(t, s)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("directory holds %v, %v, want one file", entries, err)
	}
}

func TestOpenRefusesWhatIsInUse(t *testing.T) {
	s := newHarness(t, defaultLimits())
	_, err := Open(s.dir)
	wantRefusal(t, err, s.dir, "in use by another process")

	output, err := child(t, "open", s.dir).CombinedOutput()
	if err == nil {
		t.Error("a second process could open the store")
	}
	wantRefusal(t, errors.New(string(output)), s.dir, "in use by another process")

	appendChunks(t, s.Store, "s", 1, 1)
	wantStream(t, s.Store, "s", 1)
}

// TestOpenRace has several create the same store at once: whoever gets it, it
// is whole, and the others are told.
func TestOpenRace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s, err := Open(dir)
			if err != nil {
				wantRefusal(t, err, dir, "in use by another process")
				return
			}
			mustClose(t, s)
		})
	}
	all.Wait()
	mustClose(t, mustOpen(t, dir, defaultLimits()))
}

func TestOpenRefusesDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("not a directory"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		_, err := Open(dir)
		wantRefusal(t, err, dir, "not a directory")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, fileName)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Open(dir)
	wantRefusal(t, err, path, "is a directory")
}

func TestOpenRefusesReadOnly(t *testing.T) {
	if output, err := child(t, "readonly", t.TempDir()).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// readOnlyChild tries to open what it may not write, first a directory and then
// a file. Permissions mean nothing to root, so it becomes somebody else, and
// names the directory in a way that asks for no permission above it.
func readOnlyChild(dir string) error {
	if err := errors.Join(os.Chdir(dir), os.Chmod(".", 0o555)); err != nil {
		return err
	}
	if syscall.Geteuid() != 0 {
		return errors.Join(
			refused("cannot be set up", "permission denied"),
			os.Chmod(".", 0o755), openChild("."), os.Chmod(fileName, 0o444),
			refused("cannot be opened", "permission denied"),
		)
	}
	if err := errors.Join(os.Mkdir("with-file", 0o755), openChild("with-file"), syscall.Setuid(65534)); err != nil {
		return err
	}
	err := refused("cannot be set up", "permission denied")
	return errors.Join(err, os.Chdir("with-file"), refused("cannot be opened", "permission denied"))
}

// refused returns nil if the store in the working directory cannot be opened
// for reasons that are said.
func refused(reasons ...string) error {
	err := openChild(".")
	for _, reason := range reasons {
		if err == nil || !strings.Contains(err.Error(), reason) {
			return fmt.Errorf("error is %w, want one with %q", err, reason)
		}
	}
	return nil
}

func TestOpenRefusesOtherFiles(t *testing.T) {
	for name, write := range map[string]func(path string) error{
		"file is empty": func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"not that of a bbolt file": func(path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("something else\n", 10000)), 0o600)
		},
		"another program": func(path string) error {
			return writeBuckets(path, "widgets")
		},
		"acclaim 3": func(path string) error {
			return errors.Join(writeBuckets(path, bucketNames()...), setFormat(path, "acclaim 3"))
		},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, fileName)
		if err := write(path); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Open(dir)
		wantRefusal(t, err, path, name)
		wantRefusal(t, err, path, "restore it from a backup")
		if after, err := os.ReadFile(path); err != nil || string(before) != string(after) {
			t.Errorf("%s: the file was changed, %v", name, err)
		}
	}
}

func writeBuckets(path string, names ...string) error {
	return changeFile(path, func(tx *bbolt.Tx) error {
		for _, name := range names {
			if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
				return err
			}
		}
		return nil
	})
}

func setFormat(path, format string) error {
	return changeFile(path, func(tx *bbolt.Tx) error {
		return bucket(tx, metaBucket).Put([]byte("format"), []byte(format))
	})
}

func changeFile(path string, change func(*bbolt.Tx) error) error {
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		return err
	}
	return errors.Join(db.Update(change), db.Close())
}

func TestClosedStoreRefuses(t *testing.T) {
	s := mustOpen(t, t.TempDir(), defaultLimits())
	appendChunks(t, s, "s", 1, 1)
	mustClose(t, s)
	mustClose(t, s)
	for _, err := range attemptEverything(t.Context(), s) {
		wantUnavailable(t, err)
	}
	wantUnavailable(t, s.Err())
}

// attemptEverything returns what comes of every kind of read and write.
func attemptEverything(ctx context.Context, s *Store) []error {
	_, getErr := s.Get(ctx, "d")
	_, _, loadErr := s.LoadSnapshot(ctx, "s")
	var readErr error
	for _, err := range s.Chunks(ctx, "s", 0) {
		readErr = err
	}
	return []error{
		getErr, loadErr, readErr,
		s.Append(ctx, newChunk("s", 100)),
		s.Put(ctx, newWrite("d", 1)),
		s.SaveSnapshot(ctx, "s", stream.Snapshot{State: []byte("state")}),
	}
}
