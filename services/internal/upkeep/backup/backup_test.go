package backup_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/backup"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/transfer"
	"github.com/acclaim-dev/acclaim/services/voting"
)

var environments = []string{"production", "sandbox"}

// begin is the time of the first backup of a test.
var begin = time.Date(2026, 11, 23, 3, 17, 0, 0, time.UTC)

// storeOf returns a store in which each extension has a poll with one vote.
func storeOf(t *testing.T, extensions ...string) *storetest.Memory {
	t.Helper()
	m := storetest.NewMemory()
	service := voting.NewService(m, stream.SystemClock(), stream.Options{})
	for _, extension := range extensions {
		poll := voting.Poll{Environment: "production", Extension: extension, Channel: "1", ID: "p"}
		if _, err := service.Vote(t.Context(), poll, voting.Voter{OpaqueID: "U1"}, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := service.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

// damagedStore returns a store with a sound extension and one whose log is damaged.
func damagedStore(t *testing.T) *storetest.Memory {
	t.Helper()
	damaged := storeOf(t, "a", "quiz")
	for chunk, err := range damaged.Chunks(t.Context(), voting.Poll{Environment: "production", Extension: "quiz", Channel: "1", ID: "p"}.Stream(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		sum := chunk.Sum()
		chunk.Prev[0]++
		if err := damaged.Replace(t.Context(), chunk, sum); err != nil {
			t.Fatal(err)
		}
	}
	return damaged
}

func mustOpen(t *testing.T, location string) backup.Storage {
	t.Helper()
	storage, err := backup.OpenStorage(location)
	if err != nil {
		t.Fatal(err)
	}
	return storage
}

func mustCreate(t *testing.T, store transfer.Source, location string, at time.Time) backup.Report {
	t.Helper()
	r, err := backup.Create(t.Context(), store, mustOpen(t, location), environments, at)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustList(t *testing.T, location string) []string {
	t.Helper()
	names, err := mustOpen(t, location).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// export returns the export of an extension.
func export(t *testing.T, store transfer.Source, extension string) string {
	t.Helper()
	var out bytes.Buffer
	if _, err := transfer.Export(t.Context(), store, transfer.Scope{Extension: extension, Environments: environments, Kinds: transfer.Kinds()}, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A backup has the export of each extension, whatever its client id is.
func TestBackupIsReadAgain(t *testing.T) {
	for kind, newLocation := range locations {
		t.Run(kind, func(t *testing.T) { checkReadAgain(t, newLocation(t)) })
	}
}

func checkReadAgain(t *testing.T, folder string) {
	extensions := []string{"..", "a/b \\\n", "quiz"}
	store := storeOf(t, extensions...)
	r := mustCreate(t, store, folder, begin)
	if r.Name != "20261123T031700Z" || r.Extensions != 3 || r.Totals.Streams != 3 || r.Totals.Entries != 3 || r.Bytes == 0 {
		t.Errorf("report is %+v", r)
	}
	for _, name := range []string{"", r.Name} {
		b, err := backup.Open(t.Context(), mustOpen(t, folder), name)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(b.Extensions, extensions) {
			t.Errorf("it has the extensions %q", b.Extensions)
		}
		for _, extension := range extensions {
			err := b.Read(t.Context(), extension, func(in io.Reader) error {
				got, err := io.ReadAll(in)
				if diff := cmp.Diff(export(t, store, extension), string(got)); diff != "" {
					t.Errorf("%q (-export +backup):\n%s", extension, diff)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
		if err := b.Read(t.Context(), "other", nil); !errors.Is(err, backup.ErrNoBackup) {
			t.Errorf("of another extension: %v", err)
		}
	}
}

// Only the owner may read what names viewers.
func TestBackupIsPrivate(t *testing.T) {
	folder := t.TempDir()
	mustCreate(t, storeOf(t, "quiz"), folder, begin)
	err := filepath.WalkDir(filepath.Join(folder, "20261123T031700Z"), func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPruneKeepsTheNewest(t *testing.T) {
	folder, store := t.TempDir(), storeOf(t, "quiz")
	for day := range 4 {
		mustCreate(t, store, folder, begin.AddDate(0, 0, day))
	}
	now := begin.AddDate(0, 0, 3)
	for _, name := range []string{"other", ".unfinished-20261122T031700Z", ".unfinished-20261126T031659Z"} { // a process may still write the last one
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := backup.Prune(t.Context(), mustOpen(t, folder), 2, now)
	if want := []string{"20261123T031700Z", "20261124T031700Z"}; err != nil || !slices.Equal(removed, want) {
		t.Errorf("removed %q, %v, want %q", removed, err, want)
	}
	if got, want := mustList(t, folder), []string{"20261125T031700Z", "20261126T031700Z"}; !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 4 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
	if removed, err := backup.Prune(t.Context(), mustOpen(t, folder), 5, now); err != nil || len(removed) > 0 {
		t.Errorf("of two backups, five are kept: removed %q, %v", removed, err)
	}
}

// A backup that fails leaves nothing, and no backup before it changes.
func TestCreateFails(t *testing.T) {
	folder := t.TempDir()
	mustCreate(t, storeOf(t, "quiz"), folder, begin)
	damaged := damagedStore(t)
	for name, c := range map[string]struct {
		store transfer.Source
		at    time.Time
		want  error
	}{
		"damaged": {damaged, begin.Add(time.Hour), stream.ErrDamaged},
		"empty":   {storetest.NewMemory(), begin.Add(time.Hour), backup.ErrEmptyStore},
		"twice":   {storeOf(t, "quiz"), begin, os.ErrExist},
	} {
		if _, err := backup.Create(t.Context(), c.store, mustOpen(t, folder), environments, c.at); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
			t.Errorf("%s: the folder has %v, %v", name, entries, err)
		}
		if _, err := backup.Open(t.Context(), mustOpen(t, folder), ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A new store has nothing to back up.
func TestNothingStored(t *testing.T) {
	folder := t.TempDir()
	if r := mustCreate(t, storetest.NewMemory(), folder, begin); r != (backup.Report{}) || len(mustList(t, folder)) > 0 {
		t.Errorf("report is %+v", r)
	}
}

// A backup whose files are not those that were written is refused.
func TestOpenRefuses(t *testing.T) {
	const file = "20261123T031700Z/quiz.jsonl.gz"
	const sums = "20261123T031700Z/SHA256SUMS"
	rewrite := func(name string, change func([]byte) []byte) func(t *testing.T, folder string) {
		return func(t *testing.T, folder string) {
			content, err := os.ReadFile(filepath.Join(folder, name))
			if err == nil {
				err = os.WriteFile(filepath.Join(folder, name), change(content), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			if err := os.RemoveAll(filepath.Join(folder, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*testing.T, string)
		name   string
		want   error
		says   string
	}{
		"changed":    {rewrite(file, func(b []byte) []byte { b[len(b)/2]++; return b }), "", transfer.ErrBadFile, "quiz.jsonl.gz of the backup 20261123T031700Z was changed"},
		"cut off":    {rewrite(file, func(b []byte) []byte { return b[:len(b)-1] }), "", transfer.ErrBadFile, "was changed"},
		"missing":    {remove(file), "", transfer.ErrBadFile, "no such file"},
		"no sums":    {remove(sums), "", transfer.ErrBadFile, "no such file"},
		"empty sums": {rewrite(sums, func([]byte) []byte { return nil }), "", transfer.ErrBadFile, "is empty"},
		"endless":    {rewrite(sums, func([]byte) []byte { return bytes.Repeat([]byte("x"), 16<<20+1) }), "", transfer.ErrBadFile, "larger than 16777216 bytes"},
		"other file": {rewrite(sums, func(b []byte) []byte { return append(b, "00  ../../x.jsonl.gz\n"...) }), "", transfer.ErrBadFile, "x.jsonl.gz"},
		"not a sum":  {rewrite(sums, func([]byte) []byte { return []byte("nonsense\n") }), "", transfer.ErrBadFile, "nonsense"},
		"other name": {func(*testing.T, string) {}, "20261124T031700Z", backup.ErrNoBackup, "20261123T031700Z"},
		"path":       {func(*testing.T, string) {}, "../20261123T031700Z", backup.ErrNoBackup, "20261123T031700Z"},
		"no backups": {remove("20261123T031700Z"), "", backup.ErrNoBackup, "has none"},
		"no folder":  {remove("../backups"), "", backup.ErrNoBackup, "has none"},
		"unfinished": {unfinish, "", backup.ErrNoBackup, "has none"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "backups")
			mustCreate(t, storeOf(t, "quiz"), folder, begin)
			c.change(t, folder)
			if _, err := backup.Open(t.Context(), mustOpen(t, folder), c.name); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %v, want %v that says %q", err, c.want, c.says)
			}
		})
	}
}

// unfinish makes a backup one that a process has not finished.
func unfinish(t *testing.T, folder string) {
	t.Helper()
	if err := os.Rename(filepath.Join(folder, "20261123T031700Z"), filepath.Join(folder, ".unfinished-20261123T031700Z")); err != nil {
		t.Fatal(err)
	}
}
