package mongostore

import (
	"fmt"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
)

func versionAfter(expect uint64) document.Write {
	return document.Write{Key: "d", Expect: expect, ID: document.WriteID{byte(expect + 1)}, Body: fmt.Append(nil, `{"version":`, expect+1, `}`)}
}

// Of old versions some are kept, the others go.
func TestPruning(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	const last = 4 * keepVersions
	for expect := range uint64(last) {
		if err := s.Put(t.Context(), versionAfter(expect)); err != nil {
			t.Fatalf("version %d: %v", expect+1, err)
		}
	}
	s.pruning.jobs.Wait()
	s.pruneVersions(t.Context(), "d", last)
	for version := uint64(1); version <= last; version++ {
		found, err := s.hasVersion(t.Context(), "d", version)
		if err != nil {
			t.Fatal(err)
		}
		if want := version > last-keepVersions; found != want {
			t.Errorf("version %d of %d is there: %t, want %t", version, last, found, want)
		}
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
