package storetest

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// redaction returns a chunk that may take the place of another.
func redaction(of stream.Chunk, writer, size int) stream.Chunk {
	chunk := newChunk(of.Stream, of.Seq, writer, size)
	chunk.Original = digestOf(of)
	return chunk
}

func digestOf(chunk stream.Chunk) stream.Digest { return chunk.Sum() }

func replace(t *testing.T, s Store, chunk stream.Chunk, expect stream.Chunk) {
	t.Helper()
	if err := s.Replace(t.Context(), chunk, expect.Sum()); err != nil {
		t.Errorf("replace %s %d: %v", chunk.Stream, chunk.Seq, err)
	}
}

func wantNoReplace(t *testing.T, s Store, chunk stream.Chunk, expect stream.Digest) {
	t.Helper()
	if err := s.Replace(t.Context(), chunk, expect); !errors.Is(err, stream.ErrConflict) {
		t.Errorf("replace %s %d: %v, want ErrConflict", chunk.Stream, chunk.Seq, err)
	}
}

// chunkIsReplaced by smaller and larger ones, wherever the store has put it.
func chunkIsReplaced(t *testing.T, s Harness) {
	var chunks []stream.Chunk
	for seq := uint64(1); seq <= 40; seq++ {
		chunks = append(chunks, newChunk("s", seq, 0, 100))
	}
	add(t, s, chunks...)
	for round := 1; round <= 4; round++ {
		for _, i := range []int{0, 7, 8, 39} {
			next := redaction(chunks[i], round, []int{0, 3 << 20, 10, 100}[i%4]/round)
			replace(t, s, next, chunks[i])
			replace(t, s, next, chunks[i]) // once more, without an effect
			chunks[i] = next
		}
		wantChunks(t, s, "s", 0, chunks...)
		wantChunks(t, s, "s", 7, chunks[7:]...)
		if round%2 == 0 {
			s.Reopen(t)
			wantChunks(t, s, "s", 0, chunks...)
		}
	}
	if err := s.Append(t.Context(), newChunk("s", 8, 0, 100)); !errors.Is(err, stream.ErrConflict) {
		t.Errorf("append at the number of a redacted chunk: %v, want ErrConflict", err)
	}
	for writer, size := range []int{9 << 20, 9 << 20, 10} { // more than a checkpoint may have
		next := redaction(chunks[0], writer+5, size)
		replace(t, s, next, chunks[0])
		chunks[0] = next
		wantChunks(t, s, "s", 0, chunks...)
	}
}

func replaceOnlyWhatIsExpected(t *testing.T, s Harness) {
	first := newChunk("s", 1, 0, 10)
	wantNoReplace(t, s, redaction(first, 1, 10), digestOf(first))
	add(t, s, first)
	wantNoReplace(t, s, redaction(first, 1, 10), stream.Digest{})
	wantNoReplace(t, s, redaction(first, 1, 10), digestOf(newChunk("s", 1, 2, 10)))
	wantNoReplace(t, s, redaction(newChunk("s", 2, 0, 10), 1, 10), digestOf(first))
	wantChunks(t, s, "s", 0, first)
	replace(t, s, redaction(first, 1, 10), first)
	wantNoReplace(t, s, redaction(first, 2, 10), digestOf(first))
	s.Reopen(t)
	wantChunks(t, s, "s", 0, redaction(first, 1, 10))
}

// replaceRaceIsHarmless: who replaces a chunk agrees with all others on what by.
func replaceRaceIsHarmless(t *testing.T, s Harness) {
	const writers, last = 6, 20
	var chunks, redacted []stream.Chunk
	for seq := uint64(1); seq <= last; seq++ {
		chunks = append(chunks, newChunk("s", seq, 0, 20))
		redacted = append(redacted, redaction(chunks[seq-1], 1, 20))
	}
	add(t, s, chunks...)
	concurrently(writers, func(writer int) {
		for i := range chunks {
			replace(t, s, redacted[i], chunks[i])
		}
	})
	wantChunks(t, s, "s", 0, redacted...)
	s.Reopen(t)
	wantChunks(t, s, "s", 0, redacted...)
}

// replaceWhileReading: a reader sees each chunk as it was or as it is, and the
// stream whole, while others are appended.
func replaceWhileReading(t *testing.T, s Harness) {
	const last = 60
	var chunks []stream.Chunk
	for seq := uint64(1); seq <= last; seq++ {
		chunks = append(chunks, newChunk("s", seq, 0, 4096))
	}
	add(t, s, chunks...)
	var over atomic.Bool
	concurrently(3, func(i int) {
		switch i {
		case 0:
			defer over.Store(true)
			for _, chunk := range chunks {
				replace(t, s, redaction(chunk, 1, 4096), chunk)
			}
		case 1:
			for seq := uint64(last + 1); seq <= 2*last; seq++ {
				add(t, s, newChunk("s", seq, 0, 4096))
			}
		default:
			for !over.Load() && !t.Failed() {
				wantEither(t, read(t, s, "s", 0), last)
			}
		}
	})
}

func wantEither(t *testing.T, got []stream.Chunk, last int) {
	t.Helper()
	if len(got) < last {
		t.Errorf("read %d chunks of at least %d", len(got), last)
	}
	for i, chunk := range got {
		was := newChunk("s", uint64(i+1), 0, 4096)
		if !same(chunk, was) && !same(chunk, redaction(was, 1, 4096)) {
			t.Errorf("chunk %d is neither what was written nor its redaction", i+1)
		}
	}
}
