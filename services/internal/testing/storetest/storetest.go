// Package storetest holds the tests that every store of streams and documents must
// pass, and a store in memory to test other packages with.
//
// A store passes when Run does with a harness that opens it. The tests are of
// promises alone: nothing here knows how a store works, and none of it waits
// for time to pass. The package may not import a store.
package storetest

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// Store is a store under test: of streams and of documents.
type Store interface {
	stream.Store
	document.Store
}

// Harness is an empty store of a test's own. What opened it also closes it when
// the test ends.
type Harness interface {
	Store
	// Reopen closes the store and opens it again on what is stored. No caller uses
	// it meanwhile.
	Reopen(t *testing.T)
}

// Run tests the store that open opens, once for each test.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for name, test := range map[string]func(*testing.T, Harness){
		"StreamBeginsEmpty":          streamBeginsEmpty,
		"ChunksComeBackAsWritten":    chunksComeBackAsWritten,
		"SecondChunkConflicts":       secondChunkConflicts,
		"OrderIsThatOfSeq":           orderIsThatOfSeq,
		"LateChunksHideNoOther":      lateChunksHideNoOther,
		"AppendRaceHasOneWinner":     appendRaceHasOneWinner,
		"AppendsStandAlone":          appendsStandAlone,
		"LongStreamIsReadInOrder":    longStreamIsReadInOrder,
		"LargeChunks":                largeChunks,
		"StreamsDoNotMix":            streamsDoNotMix,
		"ReadSeesAcknowledged":       readSeesAcknowledged,
		"ReadWhileWriting":           readWhileWriting,
		"ReaderHoldsNothing":         readerHoldsNothing,
		"StreamsSurviveReopen":       streamsSurviveReopen,
		"CancelledStoresNothing":     cancelledStoresNothing,
		"ChunkIsReplaced":            chunkIsReplaced,
		"ReplaceOnlyWhatIsExpected":  replaceOnlyWhatIsExpected,
		"ReplaceRaceIsHarmless":      replaceRaceIsHarmless,
		"ReplaceWhileReading":        replaceWhileReading,
		"PurgedStreamBeginsAgain":    purgedStreamBeginsAgain,
		"SnapshotIsDeleted":          snapshotIsDeleted,
		"DocumentIsDeleted":          documentIsDeleted,
		"DocumentDeleteRace":         documentDeleteRace,
		"SnapshotBeginsAbsent":       snapshotBeginsAbsent,
		"SnapshotIsReplaced":         snapshotIsReplaced,
		"SnapshotBelongsToItsStream": snapshotBelongsToItsStream,
		"SnapshotIsTheCallersToKeep": snapshotIsTheCallersToKeep,
		"SnapshotSaveRace":           snapshotSaveRace,
		"SnapshotSurvivesReopen":     snapshotSurvivesReopen,
		"DocumentBeginsAbsent":       documentBeginsAbsent,
		"DocumentVersions":           documentVersions,
		"DocumentKeys":               documentKeys,
		"DocumentsComeInOrder":       documentsComeInOrder,
		"DocumentRaceLosesNothing":   documentRaceLosesNothing,
		"DocumentsAllOrNone":         documentsAllOrNone,
		"DocumentsRaceAllOrNone":     documentsRaceAllOrNone,
		"DocumentsSurviveReopen":     documentsSurviveReopen,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// newChunk returns a chunk whose content follows from its arguments and is
// unlike that of any other.
func newChunk(name string, seq uint64, writer, size int) stream.Chunk {
	random := rand.NewChaCha8([32]byte{})
	random.Seed(seedOf(name, seq, writer))
	chunk := stream.Chunk{Stream: name, Seq: seq, At: int64(1000 * seq), Count: size + 1, Payload: make([]byte, size)}
	_, _ = random.Read(chunk.ID[:])
	_, _ = random.Read(chunk.Prev[:])
	_, _ = random.Read(chunk.Payload)
	return chunk
}

func seedOf(name string, seq uint64, writer int) (seed [32]byte) {
	digest := (&stream.Chunk{Stream: name, Seq: seq, Count: writer}).Sum()
	copy(seed[:], digest[:])
	return seed
}

// add appends chunks, and reports an error as the test's failure.
func add(t *testing.T, s Store, chunks ...stream.Chunk) {
	t.Helper()
	for _, chunk := range chunks {
		if err := s.Append(t.Context(), chunk); err != nil {
			t.Errorf("append %s %d: %v", chunk.Stream, chunk.Seq, err)
		}
	}
}

// read returns the chunks of a stream after a seq, and an error as the test's
// failure.
func read(t *testing.T, s Store, name string, after uint64) (chunks []stream.Chunk) {
	t.Helper()
	for chunk, err := range s.Chunks(t.Context(), name, after) {
		if err != nil {
			t.Errorf("read %s: %v", name, err)
			return chunks
		}
		chunks = append(chunks, chunk)
	}
	return chunks
}

func wantChunks(t *testing.T, s Store, name string, after uint64, want ...stream.Chunk) {
	t.Helper()
	got := read(t, s, name, after)
	if !slices.EqualFunc(want, got, same) {
		t.Errorf("%s after %d (-want +got):\n%s", name, after, diff(want, got))
	}
}

// same compares chunks faster than cmp does, which matters for many.
func same(a, b stream.Chunk) bool { return a.Sum() == b.Sum() }

// diff compares values that hold large bodies by content and shows them by
// their length.
func diff(want, got any) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.FilterValues(
		func(a, b []byte) bool { return len(a) > 1024 || len(b) > 1024 },
		cmp.Comparer(func(a, b []byte) bool { return string(a) == string(b) }),
	))
}

// concurrently calls do with 0 to n-1, each in a goroutine of its own, and waits
// for them.
func concurrently(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// increment adds one to the numbers in documents, in one write, until that
// succeeds.
func increment(ctx context.Context, s Store, id byte, keys ...string) error {
	for {
		found, err := s.Get(ctx, keys...)
		if err != nil {
			return err
		}
		writes := make([]document.Write, len(keys))
		for i, key := range keys {
			body := binary.BigEndian.AppendUint64(nil, numberIn(found[i])+1)
			writes[i] = document.Write{Key: key, Expect: found[i].Version, ID: document.WriteID{id}, Body: body}
		}
		if err := s.Put(ctx, writes...); !errors.Is(err, document.ErrConflict) {
			return err
		}
	}
}

// numberIn returns what increment wrote, 0 if nothing.
func numberIn(d document.Document) uint64 {
	if len(d.Body) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(d.Body)
}
