package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
)

// Lister is a store that can name what it holds, ascending and each name once.
// It holds nothing locked between two names; the first error ends a listing.
type Lister interface {
	// Streams yields the names of the streams that begin with prefix.
	Streams(ctx context.Context, prefix string) iter.Seq2[string, error]
	// StreamsAfter yields those of the names that come after another one.
	StreamsAfter(ctx context.Context, prefix, after string) iter.Seq2[string, error]
	// Keys yields the keys of the documents that begin with prefix.
	Keys(ctx context.Context, prefix string) iter.Seq2[string, error]
}

// ListingHarness is a harness whose store can list.
type ListingHarness interface {
	Harness
	Lister
}

// RunListing tests the listings of the store that open opens.
func RunListing(t *testing.T, open func(t *testing.T) ListingHarness) {
	for name, test := range map[string]func(*testing.T, ListingHarness){
		"EmptyStoreListsNothing":  func(t *testing.T, s ListingHarness) { wantListed(t, s, "") },
		"ListedOnceInOrder":       listedOnceInOrder,
		"ListingHoldsNothing":     listingHoldsNothing,
		"DeletedIsNotListed":      deletedIsNotListed,
		"CancelledListingIsError": cancelledListing,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func listedOnceInOrder(t *testing.T, s ListingHarness) {
	for i := range 40 {
		fill(t, s, fmt.Sprintf("b/%02d", i))
	}
	for _, name := range []string{"b", "a", "b/0", "b0", "b/00/x", "c", "b/00!"} {
		fill(t, s, name)
	}
	for range 2 {
		wantListed(t, s, "b/0", "b/0", "b/00", "b/00!", "b/00/x", "b/01", "b/02", "b/03", "b/04",
			"b/05", "b/06", "b/07", "b/08", "b/09")
		wantListed(t, s, "c", "c")
		wantListed(t, s, "d")
		if n := len(collect(t, s.Streams(t.Context(), ""))); n != 47 {
			t.Errorf("%d streams are listed, want 47", n)
		}
		s.Reopen(t)
	}
	fill(t, s, "e")
	wantListed(t, s, "e", "e")
	keys := collect(t, s.Keys(t.Context(), ""))
	if len(keys) != 48 || !slices.IsSorted(keys) {
		t.Errorf("after opening again the keys are %q", keys)
	}
}

// listingHoldsNothing writes in the middle of a listing.
func listingHoldsNothing(t *testing.T, s ListingHarness) {
	fill(t, s, "a")
	fill(t, s, "b")
	for _, err := range s.Streams(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		fill(t, s, "c")
		break
	}
	wantListed(t, s, "", "a", "b", "c")
}

// deletedIsNotListed, wherever the store had put what is deleted.
func deletedIsNotListed(t *testing.T, s ListingHarness) {
	names := []string{"a", "b", "b/c", "c"}
	for _, name := range names {
		fill(t, s, name)
	}
	s.Reopen(t)
	for _, name := range []string{"a", "b/c"} {
		remove(t, s, name)
	}
	put(t, s, document.Write{Key: "d", Body: []byte("{}")})
	remove(t, s, "d")
	for range 2 {
		if got := collect(t, s.Keys(t.Context(), "")); !slices.Equal(got, []string{"b", "c"}) {
			t.Errorf("keys are %q", got)
		}
		if got := collect(t, s.Streams(t.Context(), "")); !slices.Equal(got, names) {
			t.Errorf("streams are %q", got)
		}
		s.Reopen(t)
	}
	put(t, s, document.Write{Key: "a", Body: []byte("{}")})
	if got := collect(t, s.Keys(t.Context(), "a")); !slices.Equal(got, []string{"a"}) {
		t.Errorf("keys are %q, want the one written again", got)
	}
}

func cancelledListing(t *testing.T, s ListingHarness) {
	fill(t, s, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range s.Streams(ctx, "") {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %q, %v, want the context's error", name, err)
		}
	}
}

// fill stores three chunks of a stream and a document, both of one name.
func fill(t *testing.T, s Store, name string) {
	t.Helper()
	for seq := range uint64(3) {
		add(t, s, newChunk(name, seq+1, 0, 200))
	}
	if err := s.Put(t.Context(), document.Write{Key: name, Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
}

func wantListed(t *testing.T, s Lister, prefix string, want ...string) {
	t.Helper()
	if got := collect(t, s.Streams(t.Context(), prefix)); !slices.Equal(got, want) {
		t.Errorf("streams of %q are %q, want %q", prefix, got, want)
	}
	for i, name := range want {
		if got := collect(t, s.StreamsAfter(t.Context(), prefix, name)); !slices.Equal(got, want[i+1:]) {
			t.Errorf("streams of %q after %q are %q, want %q", prefix, name, got, want[i+1:])
		}
	}
	if got := collect(t, s.StreamsAfter(t.Context(), prefix, "!")); !slices.Equal(got, want) {
		t.Errorf("streams of %q after what comes before all are %q, want %q", prefix, got, want)
	}
	if got := collect(t, s.Keys(t.Context(), prefix)); !slices.Equal(got, want) {
		t.Errorf("keys of %q are %q, want %q", prefix, got, want)
	}
}

func collect(t *testing.T, listing iter.Seq2[string, error]) (names []string) {
	t.Helper()
	for name, err := range listing {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}
