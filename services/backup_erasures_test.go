package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// oldest is the name that a test gives its first backup: names are times in seconds, and the next
// backup may come within the same one.
const oldest = "20200101T000000Z"

// backUpAs backs a store up and gives the backup another name.
func backUpAs(t *testing.T, folder, name string, flags ...string) {
	t.Helper()
	made, _, _ := strings.Cut(strings.TrimPrefix(mustBackUp(t, folder, flags...), "backup "), ":")
	if err := os.Rename(filepath.Join(folder, made), filepath.Join(folder, name)); err != nil {
		t.Fatal(err)
	}
}

// erasedStore returns a folder with a backup from before an erasure, named oldest, and one from
// after it, and the answers of the store.
func erasedStore(t *testing.T, flags []string, dir string) (folder string, answered map[string]any) {
	t.Helper()
	folder = t.TempDir()
	p := startProgram(t, dir, "serve", flags...)
	populate(t, p)
	answered = answers(t, p)
	p.end(t)
	store := append([]string{"--data-dir", dir}, flags...)
	backUpAs(t, folder, oldest, store...)
	if out, status := runErase(t, append(store, "--user", leavingUser)...); status != 0 {
		t.Fatalf("erase: status %d\n%s", status, out)
	}
	mustBackUp(t, folder, store...)
	return folder, answered
}

// A restore of a backup from before an erasure erases the viewer again, from an embedded store
// and from a database, and the next backup lists the erasure for a restore of the same backup.
func TestRestoreErasesAgain(t *testing.T) {
	t.Parallel()
	folder, answered := erasedStore(t, nil, t.TempDir())
	restored := t.TempDir()
	out := mustRestore(t, folder, "--data-dir", restored, "--name", oldest)
	if want := "erasures since " + oldest + ": applied: 2, ids erased again: 2\n"; !strings.Contains(out, want) {
		t.Errorf("restore does not say %q:\n%s", want, out)
	}
	for _, id := range []string{leavingOpaque, leavingUser} {
		if holds(t, restored, id) {
			t.Errorf("a file has %s", id)
		}
	}
	if out := mustRestore(t, folder, "--data-dir", restored, "--name", oldest); !strings.Contains(out, "imported before") {
		t.Errorf("the same restore again says\n%s", out)
	}
	next := t.TempDir()
	mustBackUp(t, next, "--data-dir", restored)
	if err := os.Rename(filepath.Join(folder, oldest), filepath.Join(next, oldest)); err != nil {
		t.Fatal(err)
	}
	uri := mongotest.Start(t)
	if out := mustRestore(t, next, "--mongodb-uri", uri, "--name", oldest); !strings.Contains(out, "ids erased again: 2\n") {
		t.Errorf("from the next backup's list, restore says\n%s", out)
	}
	for _, id := range []string{leavingOpaque, leavingUser} {
		if where := collectionsWith(t, uri, id); len(where) > 0 {
			t.Errorf("%s is in %v", id, where)
		}
	}
	wantGone(t, startProgram(t, restored, "serve"), answered)
}

// A viewer who came back after the erasure keeps what a later backup has of them.
func TestRestoreKeepsReturnedViewers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	erasedStore(t, nil, dir)
	p := startProgram(t, dir, "serve")
	if f, why := send(p, http.MethodPost, "/vote", signViewer(t, leavingOpaque, leavingUser), `{"value":9}`, nil); f != stored {
		t.Fatal(why)
	}
	p.end(t)
	later, restored := t.TempDir(), t.TempDir()
	mustBackUp(t, later, "--data-dir", dir)
	if out := mustRestore(t, later, "--data-dir", restored); !strings.Contains(out, "applied: 0, ids erased again: 0\n") || !holds(t, restored, leavingOpaque) {
		t.Errorf("restore says\n%s", out)
	}
}

// Lists name no viewer, and a newer backup that cannot tell its list ends a restore before it
// begins, unless it is elsewhere.
func TestRestoreWithoutAList(t *testing.T) {
	t.Parallel()
	folder, _ := erasedStore(t, nil, t.TempDir())
	list := mustGlob(t, folder, "*", "erasures.jsonl")
	content, err := os.ReadFile(list)
	if err != nil || strings.Contains(string(content), leavingUser) || strings.Contains(string(content), leavingOpaque) {
		t.Fatalf("%v, the list is\n%s", err, content)
	}
	if err := os.WriteFile(list, content[1:], 0o600); err != nil {
		t.Fatal(err)
	}
	newer, restored := filepath.Base(filepath.Dir(list)), t.TempDir()
	_, problem, status := runCommand(t, nil, "restore", folder, "--data-dir", restored, "--name", oldest)
	if status != exitProblems || !strings.Contains(problem, "the backup "+newer) || !strings.Contains(problem, "move it elsewhere") {
		t.Errorf("status %d\n%s", status, problem)
	}
	if err := os.Rename(filepath.Join(folder, newer), filepath.Join(t.TempDir(), newer)); err != nil {
		t.Fatal(err)
	}
	mustRestore(t, folder, "--data-dir", restored)
	if !holds(t, restored, leavingUser) {
		t.Error("a backup without lists was not restored as it is")
	}
}
