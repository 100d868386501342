package document_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Two processes patch a few documents through an unreliable store: every patch that is
// acknowledged is there, once, and of the others only those may be whose callers got
// fault.Uncertain.
func TestConcurrentPatchesNeverLoseOneAnother(t *testing.T) {
	const writers, documents = 400, 3
	store := newFaulty()
	for key := range documents {
		store.intrude(t, fmt.Sprint(key), `{"order":[]}`)
	}
	store.put = func(_ context.Context, n int64, put func() error) error {
		switch n % 7 {
		case 3:
			return errLost
		case 5:
			return errors.Join(put(), errLost)
		case 6:
			return fault.New(fault.Unavailable, "busy")
		}
		return put()
	}
	services := []*document.Service{newService(store), newService(store)}
	failures := make([]error, writers)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			e := edit(t, fmt.Sprint(i%documents), fmt.Sprintf(`[{"op":"add","path":"/order/-","value":%d}]`, i))
			_, failures[i] = services[i%2].Edit(t.Context(), e)
		})
	}
	all.Wait()
	times := make([]int, writers)
	for key := range documents {
		for _, i := range readOrder(t, store, fmt.Sprint(key)) {
			times[i]++
		}
	}
	for i, err := range failures {
		kind := fault.KindOf(err)
		switch {
		case err == nil && times[i] == 1:
		case err != nil && kind == fault.Uncertain && times[i] <= 1:
		case err != nil && kind == fault.Unavailable && times[i] == 0:
		default:
			t.Errorf("patch %d is there %d times, its answer was %v", i, times[i], err)
		}
	}
}

func readOrder(t *testing.T, store *faulty, key string) []int {
	t.Helper()
	found, err := store.Memory.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	var body struct{ Order []int }
	if err := json.Unmarshal(found[0].Body, &body); err != nil {
		t.Fatal(err)
	}
	return body.Order
}

// Sets of documents change together while single edits go on and other sets
// overlap them: no deadlock, no starvation, and never half of a set.
func TestConcurrentSetsAreAtomic(t *testing.T) {
	const sets, size = 60, 8
	store := newFaulty()
	service := newService(store)
	keys := make([]string, size)
	for i := range keys {
		keys[i] = fmt.Sprint("k", i)
	}
	ctx, stop := context.WithCancel(t.Context())
	var singles, writers sync.WaitGroup
	for i := range 4 {
		singles.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				single := edit(t, keys[n%size], fmt.Sprintf(`{"single%d":%d}`, i, n))
				if _, err := service.Edit(context.WithoutCancel(ctx), single); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range sets {
		writers.Go(func() {
			edits := make([]document.Edit, size)
			for j, at := range rand.New(rand.NewPCG(uint64(i), 0)).Perm(size) {
				edits[j] = edit(t, keys[at], fmt.Sprintf(`[{"op":"add","path":"/set%d","value":%d}]`, i, i))
			}
			if err := service.EditAll(t.Context(), edits); err != nil {
				t.Error(err)
			}
		})
	}
	for range 50 {
		wantSameSets(t, store, keys)
	}
	writers.Wait()
	stop()
	singles.Wait()
	if n := wantSameSets(t, store, keys); n != sets {
		t.Errorf("%d sets are there, want %d", n, sets)
	}
}

// wantSameSets checks that all documents have the same sets, and returns how many.
func wantSameSets(t *testing.T, store document.Store, keys []string) int {
	t.Helper()
	found, err := store.Get(t.Context(), keys...)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, d := range found {
		body := map[string]any{}
		if err := json.Unmarshal(append([]byte{}, d.Body...), &body); err != nil && d.Version > 0 {
			t.Fatal(err)
		}
		for name := range body {
			if name[:3] == "set" {
				counts[name]++
			}
		}
	}
	for name, n := range counts {
		if n != len(keys) {
			t.Errorf("%s is in %d of %d documents", name, n, len(keys))
		}
	}
	return len(counts)
}

func TestOneFailureRefusesAll(t *testing.T) {
	store := newFaulty()
	service := newService(store)
	edits := []document.Edit{edit(t, "a", `{"x":1}`), edit(t, "b", `{"x":1}`), edit(t, "c", `[{"op":"remove","path":"/x"}]`)}
	err := service.EditAll(t.Context(), edits)
	wantKind(t, err, fault.Invalid)
	if failed, ok := errors.AsType[*document.EditError](err); !ok || failed.Index != 2 {
		t.Errorf("error is %v, want that of edit 2", err)
	}
	if store.puts.Load() != 0 {
		t.Error("something was written")
	}
	edits[2] = edit(t, "c", `{"x":1}`)
	edits[1].MaxBytes = 3
	wantKind(t, service.EditAll(t.Context(), edits), fault.TooLarge)
	edits[1].MaxBytes = 0
	if err := service.EditAll(t.Context(), edits); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c"} {
		wantStored(t, store, key, 1, `{"x":1}`)
	}
	edits[2].Key = "a"
	if service.EditAll(t.Context(), edits) == nil {
		t.Error("two edits of one document are accepted")
	}
	if err := service.EditAll(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
