package pebblestore

import (
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// harness is a store that can be opened again.
type harness struct {
	*Store
	config config
}

func newHarness(t *testing.T, c config) *harness {
	h := &harness{Store: mustOpen(t, t.TempDir(), c), config: c}
	t.Cleanup(func() { mustClose(t, h.Store) })
	return h
}

func (h *harness) Reopen(t *testing.T) {
	mustClose(t, h.Store)
	h.Store = mustOpen(t, h.dir, h.config)
}

// smallConfig makes a store do often what it does rarely otherwise: flush,
// compact, read in steps, commit in small batches.
func smallConfig() config {
	c := defaultConfig()
	c.cache, c.table, c.queue, c.batch, c.page, c.disk = 64<<10, 64<<10, 3, 2, 1000, 0
	return c
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness { return newHarness(t, defaultConfig()) })
}

func TestConformanceOfSmallStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness { return newHarness(t, smallConfig()) })
}

func TestListing(t *testing.T) {
	storetest.RunListing(t, func(t *testing.T) storetest.ListingHarness { return newHarness(t, defaultConfig()) })
}

func TestListingOfSmallStore(t *testing.T) {
	storetest.RunListing(t, func(t *testing.T) storetest.ListingHarness { return newHarness(t, smallConfig()) })
}

func TestRestore(t *testing.T) {
	storetest.RunRestore(t, func(t *testing.T) storetest.RestoringHarness { return newHarness(t, defaultConfig()) })
}

func TestRestoreOfSmallStore(t *testing.T) {
	storetest.RunRestore(t, func(t *testing.T) storetest.RestoringHarness { return newHarness(t, smallConfig()) })
}

// A stream that was removed begins again, also after a restart; others stay.
func TestRemoveStream(t *testing.T) {
	h := newHarness(t, smallConfig())
	ctx := t.Context()
	appendTo := func(name string, seq uint64) error {
		return h.Append(ctx, stream.Chunk{Stream: name, Seq: seq, Payload: []byte{1}})
	}
	count := func(name string) (n int) {
		for _, err := range h.Chunks(ctx, name, 0) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	for seq := range uint64(3) {
		for _, name := range []string{"s", "s2", "s/3", "r"} {
			if err := appendTo(name, seq+1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := h.SaveSnapshot(ctx, "s", stream.Snapshot{Head: stream.Head{Seq: 3}}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing
		if err := h.RemoveStream(ctx, "s"); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok, err := h.LoadSnapshot(ctx, "s"); ok || err != nil || count("s") != 0 {
		t.Errorf("%d chunks are left, a snapshot: %v, %v", count("s"), ok, err)
	}
	h.Reopen(t)
	for _, name := range []string{"s2", "s/3", "r"} {
		if n := count(name); n != 3 {
			t.Errorf("%s has %d chunks, want 3", name, n)
		}
	}
	if err := appendTo("s", 1); err != nil {
		t.Error(err)
	}
	if err := h.RemoveStream(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	if err := appendTo("s", 1); err != nil {
		t.Errorf("the head of the removed stream is remembered: %v", err)
	}
}
