package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// A restore that claims its store restores into an empty one, goes on under its own name,
// and changes nothing in any other.
func TestRestoreIntoEmptyStore(t *testing.T) {
	t.Parallel()
	lost, folder := t.TempDir(), t.TempDir()
	fillStore(t, lost)
	mustBackUp(t, folder, "--data-dir", lost)
	name := filepath.Base(mustGlob(t, folder, "*"))
	for kind, store := range map[string][]string{
		"embedded": {"--data-dir", t.TempDir()},
		"database": {"--mongodb-uri", mongotest.Start(t)},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			claim := func(name string) []string { return append([]string{"--claim", name}, store...) }
			mustRestore(t, folder, claim("one")...)
			want := mustExport(t, store...)
			if out := mustRestore(t, folder, claim("one")...); !strings.Contains(out, "stored chunks: 0, documents: 0\n") {
				t.Errorf("the same restore again says\n%s", out)
			}
			_, problem, status := runCommand(t, nil, append([]string{"restore", folder}, claim("two")...)...)
			if status != 3 || !strings.Contains(problem, name+" was restored into it before") {
				t.Errorf("another restore: status %d\n%s", status, problem)
			}
			if got := mustExport(t, store...); got != want {
				t.Error("another restore has changed the store")
			}
			if out, status := runVerify(t, store...); status != 0 {
				t.Errorf("verify: status %d\n%s", status, out)
			}
		})
	}
	if _, problem, status := runCommand(t, nil, "restore", folder, "--data-dir", lost, "--claim", "one"); status != 3 || !strings.Contains(problem, "the store is not empty") {
		t.Errorf("a store in use: status %d\n%s", status, problem)
	}
}

// A date chooses the newest backup that had begun by then, and an interrupted restore goes on
// with the backup that it began with.
func TestRestoreOfDate(t *testing.T) {
	t.Parallel()
	lost, folder, restored := t.TempDir(), t.TempDir(), t.TempDir()
	fillStore(t, lost)
	mustBackUp(t, folder, "--data-dir", lost)
	name := filepath.Base(mustGlob(t, folder, "*"))
	begun, err := time.Parse("20060102T150405Z", name)
	if err != nil {
		t.Fatal(err)
	}
	at := func(after time.Duration) string { return "--before=" + begun.Add(after).Format(time.RFC3339) }
	if _, problem, status := runCommand(t, nil, "restore", folder, "--data-dir", restored, at(-time.Second)); status != exitFailed || !strings.Contains(problem, "none that had begun") {
		t.Errorf("before the first: status %d\n%s", status, problem)
	}
	if _, problem, status := runCommand(t, nil, "restore", folder, "--data-dir", restored, "--before=yesterday"); status != exitFailed || !strings.Contains(problem, "--before") {
		t.Errorf("not a time: status %d\n%s", status, problem)
	}
	for _, after := range []time.Duration{0, time.Hour} {
		if out := mustRestore(t, folder, "--data-dir", restored, at(after), "--claim=one"); !strings.Contains(out, "restored "+name+"\n") {
			t.Errorf("%v after it began: %s", after, out)
		}
	}
}
