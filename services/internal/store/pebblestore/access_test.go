package pebblestore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
)

// TestDeletedLock deletes LOCK beside a process that has the store open: no other
// process, and no other open of this one, gets in, by any name of the directory.
func TestDeletedLock(t *testing.T) {
	s := newHarness(t, defaultConfig())
	appendChunks(t, s.Store, "s", 1, 1)
	link := filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.Symlink(s.dir, link), os.Remove(filepath.Join(s.dir, "LOCK"))); err != nil {
		t.Fatal(err)
	}
	before := filesOf(t, s.dir)
	for _, dir := range []string{s.dir, link} {
		output, err := child(t, "open", dir).CombinedOutput()
		if err == nil {
			t.Errorf("a second process could open %s", dir)
		}
		wantRefusal(t, errors.New(string(output)), dir, "in use by another process")
	}
	for _, open := range []func(string) (*Store, error){Open, OpenToRead, OpenDamaged} {
		_, err := open(link)
		wantRefusal(t, err, link, "in use by another process")
	}
	if diff := cmp.Diff(before, filesOf(t, s.dir)); diff != "" {
		t.Errorf("the directory was changed (-before +after):\n%s", diff)
	}
	appendChunks(t, s.Store, "s", 2, 2)
	s.Reopen(t)
	wantStream(t, s.Store, "s", 2)
}

// TestOpenToRead reads a store and changes no file of it. Writes are refused.
func TestOpenToRead(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, smallConfig())
	appendChunks(t, s, "s", 1, 300)
	mustClose(t, s)
	before := filesOf(t, dir)
	for _, open := range []func(string) (*Store, error){OpenToRead, OpenDamaged} {
		s, err := open(dir)
		if err != nil {
			t.Fatal(err)
		}
		wantStream(t, s, "s", 300)
		for _, err := range []error{s.Append(t.Context(), newChunk("s", 301)), s.Compact(t.Context())} {
			if !errors.Is(err, pebble.ErrReadOnly) {
				t.Errorf("a write gives %v", err)
			}
		}
		mustClose(t, s)
	}
	if diff := cmp.Diff(before, filesOf(t, dir)); diff != "" {
		t.Errorf("reading has changed the directory (-before +after):\n%s", diff)
	}
}

// TestOpenDamaged takes a file after the other from a store. What is left of it is read
// and stays.
func TestOpenDamaged(t *testing.T) {
	disk, _ := shapes()["levels"].make(t)
	for file := range contentsOf(t, disk) {
		changed := killedNow(t, disk)
		if err := changed.Remove("/data/" + file); err != nil {
			t.Fatal(err)
		}
		before := contentsOf(t, changed)
		c := memoryConfig(changed)
		c.access = readDamaged
		s, err := open("/data", c, false)
		if err != nil {
			if filepath.Ext(file) == logSuffix || filepath.Ext(file) == tableSuffix {
				t.Errorf("without %s: %v", file, err)
			}
			continue
		}
		if found, err := s.Get(t.Context(), "document-1"); err == nil && found[0].Version == 0 && filepath.Ext(file) != tableSuffix {
			t.Errorf("without %s a document is gone", file)
		}
		mustClose(t, s)
		if diff := diffNames(before, contentsOf(t, changed)); diff != "" {
			t.Errorf("without %s: reading has changed the files (-before +after):\n%s", file, diff)
		}
	}
}

// TestEmptiedManifest damages the last edit of a manifest, as a power failure may: the
// refusal says what is missing and what to do.
func TestEmptiedManifest(t *testing.T) {
	disk, _ := shapes()["opened again"].make(t)
	manifest := lastWith(contentsOf(t, disk), manifestStart, "")
	content := contentOf(t, disk, manifest)
	content[len(content)-10] ^= 1
	write(t, disk, manifest, content)
	_, err := open("/data", memoryConfig(disk), true)
	for _, want := range []string{"it lacks the commits 1 to ", "nothing was changed", "restore a backup", "acclaim verify --damaged"} {
		wantRefusal(t, err, "/data", want)
	}
}

// TestWitnessIsDurable loses power after a flush, when Pebble has deleted the log: the
// witness knows what the log held.
func TestWitnessIsDurable(t *testing.T) {
	disk := vfs.NewCrashableMem()
	s, err := open("/data", memoryConfig(disk), true)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, s)
	appendChunks(t, s, "s", 1, 20)
	flush(t, s)
	left := disk.CrashClone(vfs.CrashCloneCfg{})
	if diff := cmp.Diff(contentOf(t, disk, witnessName), contentOf(t, left, witnessName)); diff != "" {
		t.Errorf("the power loss has changed the witness (-before +after):\n%s", diff)
	}
}
