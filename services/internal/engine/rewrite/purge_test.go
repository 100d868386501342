package rewrite_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ledger"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

func purge(t *testing.T, e *ledger.Engine, before time.Time, dryRun bool) rewrite.PurgeResult {
	t.Helper()
	purged, err := e.Purge(t.Context(), testStream, before, dryRun)
	if err != nil {
		t.Fatal(err)
	}
	return purged
}

// wantEmpty makes sure that an engine knows nothing of what viewers have posted.
func wantEmpty(t *testing.T, e *ledger.Engine) {
	t.Helper()
	for _, who := range ledger.Viewers[1:] {
		if n := given(t, e, who); n != 0 {
			t.Errorf("%s has given %d", who, n)
		}
	}
	entries, err := e.View(t.Context(), testStream, ledger.EntriesQuery)
	if err != nil || entries != 0 || sum(t, e) != 0 {
		t.Errorf("the state is the fold of %d entries (%v), the sum is %d", entries, err, sum(t, e))
	}
}

// Engines that have the whole stream in memory, that have slept since its first chunk, and
// that come later begin with an empty one.
func TestPurgeBeginsTheStreamAgain(t *testing.T) {
	for _, exclusive := range []bool{false, true} {
		store := posted(t)
		owner, behind := newEngine(store, stream.Options{Exclusive: exclusive}), newEngine(store, stream.Options{})
		wantTotals(t, owner)
		wantTotals(t, behind)
		if got := purge(t, owner, after(t, store, 5), false); got.Found {
			t.Errorf("a stream with a newer entry is purged: %+v", got)
		}
		cutoff := after(t, store, 6)
		dry := purge(t, owner, cutoff, true)
		if !dry.Found || dry.Entries != 6 || dry.Bytes == 0 {
			t.Errorf("a dry run finds %+v, want 6 entries", dry)
		}
		wantTotals(t, owner)
		if diff := cmp.Diff(dry, purge(t, owner, cutoff, false)); diff != "" {
			t.Errorf("dry run (-), purge (+):\n%s", diff)
		}
		wantEmpty(t, owner)
		wantEmpty(t, behind)
		late := newEngine(store, stream.Options{})
		wantEmpty(t, late)
		for i, chunk := range ledger.ChunksOf(t, store) {
			if chunk.Seq != uint64(i)+1 {
				t.Errorf("chunk %d is missing", i+1)
			}
			for _, err := range owner.Entries(&chunk) {
				t.Errorf("chunk %d has entries (%v)", i+1, err)
			}
		}
		if got := purge(t, behind, time.Now().Add(time.Hour), false); got.Found {
			t.Errorf("purged again: %+v", got)
		}
		if _, err := behind.Do(t.Context(), testStream, ledger.Post{ID: 9, Amount: ledger.ViewerLimit, Who: "viewer-1"}); err != nil {
			t.Errorf("after the purge: %v", err)
		}
		if n := sum(t, late); n != ledger.ViewerLimit {
			t.Errorf("the sum is %d, want %d", n, ledger.ViewerLimit)
		}
		if _, err := verify(t, store); err != nil {
			t.Error(err)
		}
		// It can be purged again, together with what a truncation has left.
		truncate(t, late, after(t, store, uint64(len(ledger.ChunksOf(t, store)))))
		if got := purge(t, late, time.Now().Add(time.Hour), false); !got.Found {
			t.Error("a truncated stream is not purged")
		}
		wantEmpty(t, late)
		wantEmpty(t, behind)
		if _, err := verify(t, store); err != nil {
			t.Error(err)
		}
		for _, e := range []*ledger.Engine{owner, behind, late} {
			mustClose(t, e)
		}
	}
}

// An engine appends before a step of a purge. What is acknowledged stays, unless the purge
// comes after it and is allowed to remove it; an engine that knows only the first chunk
// does not get in between.
func TestPurgeRacesWithAppends(t *testing.T) {
	for step := 1; ; step++ {
		memory := storetest.NewMemory()
		asleep, awake := newEngine(memory, stream.Options{}), newEngine(memory, stream.Options{})
		for id, e := range []*ledger.Engine{asleep, awake, awake, awake} {
			if _, err := e.Do(t.Context(), testStream, ledger.Post{ID: uint64(id), Amount: 2, Who: "viewer-1"}); err != nil {
				t.Fatal(err)
			}
		}
		store := &interrupted{Memory: memory, left: step}
		met := false
		store.then = func() {
			met = true
			if _, err := asleep.Do(t.Context(), testStream, ledger.Post{ID: 9, Amount: 1, Who: "viewer-2"}); err != nil {
				t.Errorf("before step %d: %v", step, err)
			}
		}
		purger := newEngine(store, stream.Options{})
		found := purge(t, purger, after(t, memory, 4), false).Found
		want := int64(0)
		switch {
		case met && step == 1:
			want = 9
		case met:
			want = 1
		}
		if found != (want < 9) {
			t.Errorf("before step %d: purged is %v", step, found)
		}
		for _, e := range []*ledger.Engine{purger, asleep, awake} {
			if n := sum(t, e); n != want {
				t.Errorf("before step %d: the sum is %d, want %d", step, n, want)
			}
			mustClose(t, e)
		}
		if _, err := verify(t, memory); err != nil {
			t.Errorf("before step %d: %v", step, err)
		}
		if !met {
			return
		}
	}
}

// A purge that is cut off at any step, whether that was stored or not, leaves either the
// whole stream or an empty one, and purging again finishes it.
func TestPurgeIsFinishedLater(t *testing.T) {
	for _, applies := range []bool{false, true} {
		for step := 0; ; step++ {
			store := posted(t)
			cutoff := after(t, store, 6)
			cutOff := newEngine(&ailing{Memory: store, left: step, applies: applies}, stream.Options{})
			_, failure := cutOff.Purge(t.Context(), testStream, cutoff, false)
			if failure != nil && !errors.Is(failure, errAiling) {
				t.Fatal(failure)
			}
			other := newEngine(store, stream.Options{})
			if n := sum(t, other); n != 12 && n != 0 {
				t.Errorf("cut off at step %d: the sum is %d", step, n)
			}
			purge(t, other, cutoff, false)
			wantEmpty(t, other)
			if _, err := verify(t, store); err != nil {
				t.Errorf("cut off at step %d: %v", step, err)
			}
			mustClose(t, other)
			mustClose(t, cutOff)
			if failure == nil {
				break
			}
		}
	}
}
