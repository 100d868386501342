package mongostore

import (
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

func TestListing(t *testing.T) {
	t.Parallel()
	storetest.RunListing(t, func(t *testing.T) storetest.ListingHarness { return newHarness(t) })
}

func TestTail(t *testing.T) {
	t.Parallel()
	storetest.RunTail(t, func(t *testing.T) storetest.TailHarness { return newHarness(t) })
}

func TestRestore(t *testing.T) {
	t.Parallel()
	storetest.RunRestore(t, func(t *testing.T) storetest.RestoringHarness { return newHarness(t) })
}

// A first write and a restored version make different records: Restore reports it.
func TestRestoreNoticesAFirstWrite(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	if err := s.insertVersion(t.Context(), document.Write{Key: "d", Expect: 3, Body: []byte("{}")}, putMark{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), document.Write{Key: "d", Body: []byte("{}")}); err != nil {
		t.Fatal("this test is about a write that is not refused", err)
	}
	if err := s.insertPlaceholder(t.Context(), "d", document.Document{Version: 4}); err == nil {
		t.Error("the first write was not noticed")
	}
}
