package storetest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
)

// Tail is a store that lists what is new in it, whichever process wrote it.
type Tail interface {
	// Advanced returns which of the streams, given with the sequence number of a chunk,
	// have a chunk after that.
	Advanced(ctx context.Context, heads map[string]uint64) ([]string, error)
	// Versions returns the newest versions of those of the documents that exist.
	Versions(ctx context.Context, keys []string) (map[string]uint64, error)
	// FirstChunks yields the names of the streams that begin with prefix, ascending.
	FirstChunks(ctx context.Context, prefix string) iter.Seq2[string, error]
}

// TailHarness is a harness whose store has a tail.
type TailHarness interface {
	Harness
	Tail
}

// RunTail tests the tail of the store that open opens.
func RunTail(t *testing.T, open func(t *testing.T) TailHarness) {
	s := open(t)
	for _, name := range []string{"poll/a/1", "poll/a/2", "poll/b/1"} {
		fill(t, s, name) // three chunks and a document
	}
	if err := s.Put(t.Context(), document.Write{Key: "poll/a/1", Expect: 1, ID: document.WriteID{2}, Body: []byte(`{"a":1}`)}); err != nil {
		t.Fatal(err)
	}
	heads := map[string]uint64{"poll/a/1": 0, "poll/a/2": 2, "poll/b/1": 3, "poll/c": 0}
	for n := range 3000 { // more than one query takes
		heads[fmt.Sprint("poll/d/", n)] = 7
	}
	grown, err := s.Advanced(t.Context(), heads)
	slices.Sort(grown)
	if want := []string{"poll/a/1", "poll/a/2"}; err != nil || !slices.Equal(grown, want) {
		t.Errorf("grown are %q, %v, want %q", grown, err, want)
	}
	versions, err := s.Versions(t.Context(), []string{"poll/a/1", "poll/a/2", "none"})
	if diff := cmp.Diff(map[string]uint64{"poll/a/1": 2, "poll/a/2": 1}, versions); err != nil || diff != "" {
		t.Errorf("versions (-want +got): %v\n%s", err, diff)
	}
	for prefix, want := range map[string][]string{
		"poll/a/": {"poll/a/1", "poll/a/2"},
		"poll/b/": {"poll/b/1"},
		"poll/e/": nil,
	} {
		if got := collect(t, s.FirstChunks(t.Context(), prefix)); !slices.Equal(got, want) {
			t.Errorf("below %s are %q, want %q", prefix, got, want)
		}
	}
}
