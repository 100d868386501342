package boltstore

import (
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/storetest"
)

// harness is a store that can be opened again.
type harness struct {
	*Store
	dir    string
	limits limits
}

func newHarness(t *testing.T, limits limits) *harness {
	h := &harness{Store: mustOpen(t, t.TempDir(), limits), limits: limits}
	h.dir = dirOf(h.Store)
	t.Cleanup(func() { mustClose(t, h.Store) })
	return h
}

func (h *harness) Reopen(t *testing.T) {
	mustClose(t, h.Store)
	h.Store = mustOpen(t, h.dir, h.limits)
}

// smallLimits make a store do often what it does rarely otherwise.
func smallLimits() limits {
	return limits{queue: 3, batch: 2000, table: 4000, slice: 2, page: 1000, part: 1000}
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness { return newHarness(t, defaultLimits()) })
}

// TestConformanceOfSmallLimits reads across many pages and moves records all the
// time.
func TestConformanceOfSmallLimits(t *testing.T) {
	limits := smallLimits()
	limits.part = 100 << 10
	storetest.Run(t, func(t *testing.T) storetest.Harness { return newHarness(t, limits) })
}
