package pebblestore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
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
	s := mustOpen(t, dir, defaultConfig())
	appendChunks(t, s, "s", 1, 1)
	mustClose(t, s)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v, want one that only its owner may read", info, err)
	}
}

func TestOpenRefusesWhatIsInUse(t *testing.T) {
	s := newHarness(t, defaultConfig())
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

// TestOpenRace creates the same store several times at once: one call gets it, the
// store is whole, and the other calls get an error.
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
	mustClose(t, mustOpen(t, dir, defaultConfig()))
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
}

func TestOpenRefusesReadOnly(t *testing.T) {
	if output, err := child(t, "readonly", t.TempDir()).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// readOnlyChild tries to open what it may not write, first an empty directory and
// then a store. Permissions mean nothing to root, so it becomes another user, and
// names the directory in a way that asks for no permission above it.
func readOnlyChild(dir string) error {
	if err := errors.Join(os.Chdir(dir), os.Chmod(".", 0o777), openChild("store"), os.Mkdir("empty", 0o755)); err != nil {
		return err
	}
	if syscall.Geteuid() == 0 {
		if err := errors.Join(os.Chmod("store", 0o755), syscall.Setuid(65534)); err != nil {
			return err
		}
	} else if err := errors.Join(os.Chmod("store", 0o555), os.Chmod("store/LOCK", 0o444), os.Chmod("empty", 0o555)); err != nil {
		return err
	}
	return errors.Join(
		refused("empty", "cannot be set up", "permission denied"),
		refused("store", "cannot be set up", "permission denied"),
	)
}

// refused returns nil if the store in a directory cannot be opened for reasons
// that the error names.
func refused(dir string, reasons ...string) error {
	err := openChild(dir)
	for _, reason := range reasons {
		if err == nil || !strings.Contains(err.Error(), reason) {
			return fmt.Errorf("error is %w, want one with %q", err, reason)
		}
	}
	return nil
}

// A store of an older or a later version is left alone, and so is a directory
// whose database is gone.
func TestOpenRefusesOtherStores(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"is of an older version": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, oldName), []byte("a bbolt file"), 0o600)
		},
		`format is "acclaim4"`: func(dir string) error { return setFormat(dir, "acclaim4") },
		"database does not exist": func(dir string) error {
			names, err := filepath.Glob(filepath.Join(dir, "*"))
			for _, name := range names {
				if filepath.Base(name) != witnessName {
					err = errors.Join(err, os.Remove(name))
				}
			}
			return err
		},
	} {
		dir := t.TempDir()
		s := mustOpen(t, dir, defaultConfig())
		appendChunks(t, s, "s", 1, 1)
		mustClose(t, s)
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		before := filesOf(t, dir)
		for _, open := range []func(string) (*Store, error){Open, OpenExisting} {
			_, err := open(dir)
			wantRefusal(t, err, dir, name)
		}
		if diff := cmp.Diff(before, filesOf(t, dir)); diff != "" {
			t.Errorf("%s: the directory was changed (-before +after):\n%s", name, diff)
		}
	}
}

// filesOf returns the content of the files in a directory, by name, but for the
// lock.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if entry.Name() != "LOCK" {
			files[entry.Name()] = string(content)
		}
	}
	return files
}

// setFormat changes the format in the witness, and its checksum.
func setFormat(dir, format string) error {
	content := binary.BigEndian.AppendUint64([]byte(format), 1)
	content = binary.BigEndian.AppendUint64(content, xxhash.Sum64(content))
	return os.WriteFile(filepath.Join(dir, witnessName), content, 0o600)
}

func TestOpenExistingCreatesNothing(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenExisting(dir); err == nil {
		t.Error("an empty directory was opened")
	}
	if files := filesOf(t, dir); len(files) > 0 {
		t.Errorf("the directory holds %v", files)
	}
}

func TestClosedStoreRefuses(t *testing.T) {
	s := mustOpen(t, t.TempDir(), defaultConfig())
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
