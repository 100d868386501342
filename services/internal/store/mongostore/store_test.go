package mongostore

import (
	"context"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// harness is a store that can be opened again.
type harness struct {
	*Store
	uri string
}

func mustOpen(t *testing.T, uri string) *Store {
	t.Helper()
	s, err := Open(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustClose(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Errorf("close: %v", err)
	}
}

func newHarness(t *testing.T) *harness {
	uri := mongotest.WithLongTimeouts(mongotest.Start(t))
	h := &harness{mustOpen(t, uri), uri}
	t.Cleanup(func() { mustClose(t, h.Store) })
	return h
}

func (h *harness) Reopen(t *testing.T) {
	mustClose(t, h.Store)
	h.Store = mustOpen(t, h.uri)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness { return newHarness(t) })
}

// TestConformanceThroughProxy shows that what is found behind a proxy with faults
// is the faults' doing and not the proxy's.
func TestConformanceThroughProxy(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		_, uri := mongotest.StartProxy(t, mongotest.WithLongTimeouts(mongotest.Start(t)))
		h := &harness{mustOpen(t, uri), uri}
		t.Cleanup(func() { mustClose(t, h.Store) })
		return h
	})
}
