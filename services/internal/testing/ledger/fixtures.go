package ledger

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// Stream is the name of the stream of tests that need only one.
const Stream = "ledger/test"

// Viewers holds the ids that post; the empty one is no viewer.
var Viewers = [...]string{"", "viewer-1", "viewer-2", "viewer-3"} //nolint:gochecknoglobals // never written

// New opens an engine with the time of the system.
func New(store stream.Store, options stream.Options) *Engine {
	return Open(store, stream.SystemClock(), options)
}

// MustClose closes an engine.
func MustClose(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
}

// Sum returns the sum of Stream.
func Sum(t *testing.T, e *Engine) int64 {
	t.Helper()
	sum, err := e.View(t.Context(), Stream, SumQuery)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// FoldStates folds Stream from its beginning, as a reader of its history does.
func FoldStates(t *testing.T, e *Engine) error {
	t.Helper()
	show := func(stream.Span, *ledger) bool { return true }
	_, _, err := e.Fold(t.Context(), Stream, func() func(stream.Span, *ledger) bool { return show })
	return err
}

// Recorded returns the chunks and the snapshot of a healthy stream.
func Recorded(t *testing.T) ([]stream.Chunk, stream.Snapshot) {
	t.Helper()
	store := storetest.NewMemory()
	engine := New(store, stream.Options{SnapshotTail: 1})
	for id := range uint64(5) {
		if _, err := engine.Do(t.Context(), Stream, Post{ID: id, Amount: 1}); err != nil {
			t.Fatal(err)
		}
	}
	MustClose(t, engine)
	snapshot, ok, err := store.LoadSnapshot(t.Context(), Stream)
	if !ok || err != nil {
		t.Fatalf("no snapshot: %v", err)
	}
	return ChunksOf(t, store), snapshot
}

// Verify verifies Stream in a store.
func Verify(t *testing.T, store stream.Store) (rewrite.Report, error) {
	t.Helper()
	engine := New(store, stream.Options{})
	defer MustClose(t, engine)
	return engine.Verify(t.Context(), Stream)
}

// ChunksOf returns the chunks of Stream in a store.
func ChunksOf(t *testing.T, store stream.Store) (chunks []stream.Chunk) {
	t.Helper()
	for chunk, err := range store.Chunks(t.Context(), Stream, 0) {
		if err != nil {
			t.Fatal(err)
		}
		chunks = append(chunks, chunk)
	}
	return chunks
}

// WantErased makes sure that nothing stored of a stream holds one of the ids.
func WantErased(t *testing.T, store stream.Store, name string, ids ...string) {
	t.Helper()
	snapshot, _, err := store.LoadSnapshot(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	places := map[string][]byte{"the snapshot": snapshot.State}
	for chunk, err := range store.Chunks(t.Context(), name, 0) {
		if err != nil {
			t.Fatal(err)
		}
		places[fmt.Sprintf("chunk %d", chunk.Seq)] = chunk.Payload
	}
	for place, content := range places {
		for _, id := range ids {
			if bytes.Contains(content, []byte(id)) {
				t.Errorf("%s holds %s still: %q", place, id, content)
			}
		}
	}
}
