package mongostore

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/document"
)

func versionAfter(expect uint64) document.Write {
	return document.Write{Key: "d", Expect: expect, ID: document.WriteID{byte(expect + 1)}, Body: fmt.Append(nil, `{"version":`, expect+1, `}`)}
}

// Of old versions some are kept, the others go.
func TestPruning(t *testing.T) {
	s := newHarness(t)
	const last = 4 * keepVersions
	for expect := range uint64(last) {
		if err := s.Put(t.Context(), versionAfter(expect)); err != nil {
			t.Fatalf("version %d: %v", expect+1, err)
		}
	}
	s.pruning.jobs.Wait()
	s.prune(t.Context(), "d", last)
	for version := uint64(1); version <= last; version++ {
		found, err := s.has(t.Context(), "d", version)
		if err != nil {
			t.Fatal(err)
		}
		if want := version > last-keepVersions; found != want {
			t.Errorf("version %d of %d is there: %t, want %t", version, last, found, want)
		}
	}
}

// sleepyPut is a writer that falls asleep between looking for the version
// it replaces and writing its own.
func sleepyPut(ctx context.Context, s *Store, w document.Write, asleep func()) error {
	if found, err := s.has(ctx, w.Key, w.Expect); err != nil || !found {
		return fmt.Errorf("version %d is not there: %w", w.Expect, err)
	}
	asleep()
	if err := s.insert(ctx, w); err != nil {
		return err
	}
	return s.confirm(ctx, w)
}

// A writer that slept while its version was replaced, and the one it would write
// was pruned, is not told that it has written.
func TestWriterThatSleptDoesNotWin(t *testing.T) {
	s := newHarness(t)
	for expect := range uint64(3) {
		if err := s.Put(t.Context(), versionAfter(expect)); err != nil {
			t.Fatal(err)
		}
	}
	late := document.Write{Key: "d", Expect: 3, ID: document.WriteID{99}, Body: []byte(`{"late":true}`)}
	err := sleepyPut(t.Context(), s.Store, late, func() {
		for expect := uint64(3); expect < 3*keepVersions; expect++ {
			if err := s.Put(t.Context(), versionAfter(expect)); err != nil {
				t.Fatal(err)
			}
		}
		s.pruning.jobs.Wait()
		s.prune(t.Context(), "d", 3*keepVersions)
	})
	if err == nil || errors.Is(err, document.ErrConflict) {
		t.Errorf("the late write: %v, want an error that leaves its outcome open", err)
	}
	found, err := s.Get(t.Context(), "d")
	if err != nil || found[0].Version != 3*keepVersions || found[0].ID == late.ID {
		t.Errorf("the document is at version %d, %v", found[0].Version, err)
	}
}

func TestOperationsAreCounted(t *testing.T) {
	s := newHarness(t)
	before := s.Operations()["insert"]
	if err := s.Put(t.Context(), versionAfter(0)); err != nil {
		t.Fatal(err)
	}
	if n := s.Operations()["insert"] - before; n != 1 {
		t.Errorf("%d inserts were counted, want 1", n)
	}
}
