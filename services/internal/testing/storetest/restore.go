package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Restorer is a store that can take documents over from another.
type Restorer interface {
	// Restore stores a document as it was elsewhere, its version and write id
	// included. Where one was ever written it stores nothing and returns
	// [document.ErrConflict], even if it is the same. No other caller may write the document
	// by Put meanwhile.
	Restore(ctx context.Context, key string, d document.Document) error
}

// RestoringHarness is a harness whose store can take documents over.
type RestoringHarness interface {
	ListingHarness
	Restorer
}

// RunRestore tests how the store that open opens takes documents over.
func RunRestore(t *testing.T, open func(t *testing.T) RestoringHarness) {
	for name, test := range map[string]func(*testing.T, RestoringHarness){
		"RestoredAsItWas":      restoredAsItWas,
		"RestoredGoesOn":       restoredGoesOn,
		"RestoreReplacesNone":  restoreReplacesNone,
		"RestoreRaceHasOne":    restoreRaceHasOne,
		"RestoreStoresNothing": restoreStoresNothing,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// at returns a document of its own content at a version.
func at(version uint64, content string) document.Document {
	_, d := write("", version-1, content)
	return d
}

func restore(t *testing.T, s Restorer, key string, d document.Document) {
	t.Helper()
	if err := s.Restore(t.Context(), key, d); err != nil {
		t.Errorf("restore %s: %v", key, err)
	}
}

func restoredAsItWas(t *testing.T, s RestoringHarness) {
	keys := []string{"first", "seventh", "late", "anonymous"}
	want := []document.Document{at(1, "one"), at(7, "seven"), at(math.MaxInt64, "many"), {Version: 40, Body: []byte("{}"), Keys: []once.Kept{{At: 7}}}}
	for i, key := range keys {
		restore(t, s, key, want[i])
	}
	for range 2 {
		wantDocuments(t, s, keys, want...)
		if listed := collect(t, s.Keys(t.Context(), "")); len(listed) != len(keys) {
			t.Errorf("listed are %q, want %q", listed, keys)
		}
		s.Reopen(t)
	}
}

// restoredGoesOn: the next write is that of the next version, also where a store
// has reason to look at or to delete older ones.
func restoredGoesOn(t *testing.T, s RestoringHarness) {
	for _, version := range []uint64{1, 2, 5, 40} {
		key := fmt.Sprint("at ", version)
		restore(t, s, key, at(version, "restored"))
		for _, wrong := range []uint64{0, version - 1, version + 1} {
			w, _ := write(key, wrong, "wrong")
			wantConflict(t, s, w)
		}
		for after := range uint64(20) {
			w, made := write(key, version+after, "after")
			put(t, s, w)
			wantDocuments(t, s, []string{key}, made)
		}
	}
}

func restoreReplacesNone(t *testing.T, s RestoringHarness) {
	w, made := write("written", 0, "written")
	put(t, s, w)
	restore(t, s, "restored", at(5, "restored"))
	for range 2 {
		for _, d := range []document.Document{made, at(2, "next"), at(5, "restored"), at(6, "next"), at(50, "late")} {
			for _, key := range []string{"written", "restored"} {
				if err := s.Restore(t.Context(), key, d); !errors.Is(err, document.ErrConflict) {
					t.Errorf("restore %s at version %d again: %v, want ErrConflict", key, d.Version, err)
				}
			}
		}
		wantDocuments(t, s, []string{"written", "restored"}, made, at(5, "restored"))
		s.Reopen(t)
	}
}

func restoreRaceHasOne(t *testing.T, s RestoringHarness) {
	contents := []string{"a", "b", "c", "d"}
	var winner atomic.Int64 // two winners make a sum that is not read back
	concurrently(len(contents), func(i int) {
		switch err := s.Restore(t.Context(), "d", at(9, contents[i])); {
		case err == nil:
			winner.Add(int64(i) + 10)
		case !errors.Is(err, document.ErrConflict):
			t.Errorf("restore: %v", err)
		}
	})
	if won := winner.Load() - 10; won < 0 || won >= int64(len(contents)) {
		t.Fatalf("the winners' sum is %d", won)
	}
	wantDocuments(t, s, []string{"d"}, at(9, contents[winner.Load()-10]))
}

func restoreStoresNothing(t *testing.T, s RestoringHarness) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Restore(cancelled, "d", at(3, "cancelled")); !errors.Is(err, context.Canceled) {
		t.Errorf("with a cancelled context: %v, want context.Canceled", err)
	}
	if err := s.Restore(t.Context(), "d", document.Document{Body: []byte("{}")}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("at no version: %v, want fault.Invalid", err)
	}
	wantDocuments(t, s, []string{"d"}, document.Document{})
}
