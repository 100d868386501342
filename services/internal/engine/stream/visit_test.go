package stream_test

import (
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ledger"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// A visit gets its answer and leaves nothing in memory, wherever the owner of the stream is, and it
// pushes out no other stream. A stream that is in memory for another reason stays there.
func TestVisitsKeepNoStreams(t *testing.T) {
	store := storetest.NewMemory()
	writer := newEngine(store, stream.Options{})
	for _, name := range []string{testStream, "ledger/kept"} {
		if _, err := writer.Do(t.Context(), name, ledger.Post{ID: 1, Amount: 3}); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, writer)

	visit := func(engine *ledger.Engine, name string) {
		t.Helper()
		if got, _, err := engine.ViewFrom(t.Context(), stream.LevelPublicResults, name, ledger.SumVisit); err != nil || got != 3 {
			t.Fatalf("the sum of %s is %d, %v", name, got, err)
		}
	}
	owner := newEngine(store, stream.Options{}.Tuned(stream.Tuning{MemoryBudget: 1}))
	link := &ownerLink{owner: owner}
	front := newEngine(store, stream.Options{Peers: link})
	visit(owner, testStream)
	visit(front, testStream)
	mustClose(t, front)
	if link.requests.Load() == 0 {
		t.Error("the visit did not reach the owner")
	}
	mustClose(t, owner) // waits for its workers
	if stats := owner.Stats(); stats.Streams != 0 || stats.ResidentBytes != 0 || stats.Evictions != 0 {
		t.Errorf("visits left %d streams with %d bytes in memory, after %d evictions", stats.Streams, stats.ResidentBytes, stats.Evictions)
	}

	alone := newEngine(store, stream.Options{Exclusive: true})
	if got := sum(t, alone); got != 3 {
		t.Errorf("the sum is %d", got)
	}
	visit(alone, testStream)
	visit(alone, "ledger/kept")
	if stats := alone.Stats(); stats.Streams != 1 {
		t.Errorf("%d streams are in memory, want the one that a view has read", stats.Streams)
	}
	mustClose(t, alone)
}

// While a live process does not read a visit, the process that asks answers it.
func TestVisitsAmongEarlierReleases(t *testing.T) {
	store := storetest.NewMemory()
	owner := newEngine(store, stream.Options{})
	if _, err := owner.Do(t.Context(), testStream, ledger.Post{ID: 1, Amount: 3}); err != nil {
		t.Fatal(err)
	}
	link := &ownerLink{owner: owner}
	front := newEngine(store, stream.Options{Peers: link, PeersRead: func(level stream.Level) bool { return level < stream.LevelPublicResults }})
	if got, _, err := front.ViewFrom(t.Context(), stream.LevelPublicResults, testStream, ledger.SumVisit); err != nil || got != 3 || link.requests.Load() > 0 {
		t.Errorf("the sum is %d after %d requests to the owner, %v", got, link.requests.Load(), err)
	}
	mustClose(t, front)
	mustClose(t, owner)
}
