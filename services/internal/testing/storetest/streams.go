package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

func streamBeginsEmpty(t *testing.T, s Harness) {
	wantChunks(t, s, "empty", 0)
	wantChunks(t, s, "empty", 7)
	wantChunks(t, s, "empty", math.MaxUint64)
}

func chunksComeBackAsWritten(t *testing.T, s Harness) {
	chunks := []stream.Chunk{newChunk("s", 1, 0, 100), newChunk("s", 2, 0, 0), newChunk("s", 3, 0, 1)}
	chunks[1].At = math.MaxInt64
	chunks[2].Count = math.MaxInt32
	add(t, s, chunks...)
	wantChunks(t, s, "s", 0, chunks...)
	wantChunks(t, s, "s", 2, chunks[2])
	wantChunks(t, s, "s", 3)
	wantChunks(t, s, "s", math.MaxUint64)
}

func secondChunkConflicts(t *testing.T, s Harness) {
	first := newChunk("s", 1, 0, 10)
	add(t, s, first)
	for writer := range 3 { // 0: the same chunk again
		if err := s.Append(t.Context(), newChunk("s", 1, writer, 10)); !errors.Is(err, stream.ErrConflict) {
			t.Errorf("second chunk by writer %d: %v, want ErrConflict", writer, err)
		}
	}
	wantChunks(t, s, "s", 0, first)
	s.Reopen(t)
	if err := s.Append(t.Context(), newChunk("s", 1, 3, 10)); !errors.Is(err, stream.ErrConflict) {
		t.Errorf("second chunk after reopening: %v, want ErrConflict", err)
	}
	wantChunks(t, s, "s", 0, first)
}

// orderIsThatOfSeq: a store does not ask for the chunk before.
func orderIsThatOfSeq(t *testing.T, s Harness) {
	const last = 258 // more than fits a byte
	chunks := make([]stream.Chunk, last)
	for i := range chunks {
		chunks[i] = newChunk("s", uint64(i+1), 0, 10)
	}
	for i := range chunks {
		add(t, s, chunks[last-1-i])
	}
	wantChunks(t, s, "s", 0, chunks...)
	s.Reopen(t)
	wantChunks(t, s, "s", 0, chunks...)
}

// lateChunksHideNoOther: one that comes before others leaves those where they are.
func lateChunksHideNoOther(t *testing.T, s Harness) {
	var chunks []stream.Chunk
	for _, seq := range []uint64{1, 5, 9, 3} {
		chunks = append(chunks, newChunk("s", seq, 0, 10))
		add(t, s, chunks[len(chunks)-1])
	}
	for _, taken := range chunks {
		if err := s.Append(t.Context(), newChunk("s", taken.Seq, 1, 10)); !errors.Is(err, stream.ErrConflict) {
			t.Errorf("second chunk %d: %v, want ErrConflict", taken.Seq, err)
		}
		replace(t, s, redaction(taken, 1, 10), taken)
	}
	for _, taken := range chunks {
		if err := s.Append(t.Context(), newChunk("s", taken.Seq, 2, 10)); !errors.Is(err, stream.ErrConflict) {
			t.Errorf("second chunk %d after its redaction: %v, want ErrConflict", taken.Seq, err)
		}
	}
}

func appendRaceHasOneWinner(t *testing.T, s Harness) {
	const writers, last = 8, 60
	var winners [last + 1]atomic.Int64
	concurrently(writers, func(writer int) {
		for seq := uint64(1); seq <= last; seq++ {
			switch err := s.Append(t.Context(), newChunk("s", seq, writer, 20)); {
			case err == nil:
				winners[seq].Add(int64(1 + writer)) // two winners make a sum that nothing read back matches
			case !errors.Is(err, stream.ErrConflict):
				t.Errorf("writer %d append %d: %v", writer, seq, err)
			}
		}
	})
	var want []stream.Chunk
	for seq := uint64(1); seq <= last; seq++ {
		want = append(want, newChunk("s", seq, int(winners[seq].Load())-1, 20))
	}
	wantChunks(t, s, "s", 0, want...)
	s.Reopen(t)
	wantChunks(t, s, "s", 0, want...)
}

// appendsStandAlone: what befalls one of those that come at the same time, to any
// streams, befalls no other.
func appendsStandAlone(t *testing.T, s Harness) {
	const writers, streams = 16, 50
	var winners [streams]atomic.Int64
	name := func(i int) string { return fmt.Sprint("s/", i) }
	concurrently(writers, func(writer int) {
		for i := range streams {
			switch err := s.Append(t.Context(), newChunk(name(i), 1, writer, 20)); {
			case err == nil:
				winners[i].Add(int64(1 + writer))
			case !errors.Is(err, stream.ErrConflict):
				t.Errorf("writer %d append to %s: %v", writer, name(i), err)
			}
			add(t, s, newChunk(fmt.Sprint("own/", writer), uint64(1+i), writer, 20))
		}
	})
	for i := range streams {
		wantChunks(t, s, name(i), 0, newChunk(name(i), 1, int(winners[i].Load())-1, 20))
	}
	for writer := range writers {
		var want []stream.Chunk
		for i := range streams {
			want = append(want, newChunk(fmt.Sprint("own/", writer), uint64(1+i), writer, 20))
		}
		wantChunks(t, s, fmt.Sprint("own/", writer), 0, want...)
	}
}

// longStreamIsReadInOrder reads more than a store reads in one step.
func longStreamIsReadInOrder(t *testing.T, s Harness) {
	const last, writers = 2400, 16
	var chunks []stream.Chunk
	for seq := uint64(1); seq <= last; seq++ {
		chunks = append(chunks, newChunk("s", seq, 0, 2048))
	}
	concurrently(writers, func(writer int) {
		for i := writer; i < last; i += writers {
			add(t, s, chunks[i])
		}
	})
	for _, after := range []uint64{0, 1, last / 2, last - 1, last} {
		wantChunks(t, s, "s", after, chunks[after:]...)
	}
	s.Reopen(t)
	wantChunks(t, s, "s", 0, chunks...)
}

func largeChunks(t *testing.T, s Harness) {
	var chunks []stream.Chunk
	for seq := uint64(1); seq <= 4; seq++ {
		chunks = append(chunks, newChunk("s", seq, 0, 4<<20))
	}
	add(t, s, chunks...)
	wantChunks(t, s, "s", 0, chunks...)
	s.Reopen(t)
	wantChunks(t, s, "s", 1, chunks[1:]...)
}

// streamsDoNotMix uses names that are prefixes of one another or sort closely.
func streamsDoNotMix(t *testing.T, s Harness) {
	names := []string{"a", "a/", "a/b", "a/b/", "a/b/c", "ab", "a%00", "a%2Fb", "a.", "a!", "a~", "A", "aa", "b"}
	for i := range names {
		for seq := 1; seq <= 1+i%3; seq++ {
			add(t, s, newChunk(names[i], uint64(seq), 0, 10))
		}
	}
	check := func() {
		for i := range names {
			var want []stream.Chunk
			for seq := 1; seq <= 1+i%3; seq++ {
				want = append(want, newChunk(names[i], uint64(seq), 0, 10))
			}
			wantChunks(t, s, names[i], 0, want...)
		}
		wantChunks(t, s, "a/b/c/d", 0)
	}
	check()
	s.Reopen(t)
	check()
}

func readSeesAcknowledged(t *testing.T, s Harness) {
	const streams, last = 8, 40
	concurrently(streams, func(i int) {
		name := string(rune('a' + i))
		for seq := uint64(1); seq <= last; seq++ {
			chunk := newChunk(name, seq, 0, 100)
			if err := s.Append(t.Context(), chunk); err != nil {
				t.Errorf("append %s %d: %v", name, seq, err)
				return
			}
			wantChunks(t, s, name, seq-1, chunk)
		}
	})
}

func readWhileWriting(t *testing.T, s Harness) {
	const readers, last = 4, 300
	var acknowledged atomic.Uint64
	concurrently(1+readers, func(i int) {
		if i > 0 {
			readAll(t, s, &acknowledged, last)
			return
		}
		defer acknowledged.Store(last) // so that the readers end in any case
		for seq := uint64(1); seq <= last; seq++ {
			if err := s.Append(t.Context(), newChunk("s", seq, 0, 4096)); err != nil {
				t.Errorf("append %d: %v", seq, err)
				return
			}
			acknowledged.Store(seq)
		}
	})
}

// readAll reads a stream that is being written until its last chunk is there.
func readAll(t *testing.T, s Store, acknowledged *atomic.Uint64, last uint64) {
	for seen := uint64(0); seen < last; {
		least := acknowledged.Load()
		chunks := read(t, s, "s", 0)
		for i, chunk := range chunks {
			if want := newChunk("s", uint64(i+1), 0, 4096); chunk.Sum() != want.Sum() {
				t.Errorf("chunk %d is not what was written there", i+1)
				return
			}
		}
		if seen = uint64(len(chunks)); seen < least {
			t.Errorf("read %d chunks, %d were acknowledged before", seen, least)
			return
		}
	}
}

// readerHoldsNothing: a reader that stops reading delays no other caller.
func readerHoldsNothing(t *testing.T, s Harness) {
	chunks := []stream.Chunk{newChunk("s", 1, 0, 10), newChunk("s", 2, 0, 10), newChunk("s", 3, 0, 10)}
	add(t, s, chunks[:2]...)
	for first, err := range s.Chunks(t.Context(), "s", 0) {
		if err != nil || first.Seq != 1 {
			t.Fatalf("first chunk is %d, %v", first.Seq, err)
		}
		add(t, s, chunks[2])
		wantChunks(t, s, "s", 0, chunks...)
		break
	}
	wantChunks(t, s, "s", 0, chunks...)
}

func streamsSurviveReopen(t *testing.T, s Harness) {
	const streams = 300
	name := func(i int) string { return "stream/" + string(rune('a'+i%26)) + "/" + string(rune('a'+i/26)) }
	for seq := uint64(1); seq <= 3; seq++ {
		concurrently(streams, func(i int) { add(t, s, newChunk(name(i), seq, 0, 200)) })
		s.Reopen(t)
		for i := range streams {
			var want []stream.Chunk
			for n := uint64(1); n <= seq; n++ {
				want = append(want, newChunk(name(i), n, 0, 200))
			}
			wantChunks(t, s, name(i), 0, want...)
		}
	}
}

func cancelledStoresNothing(t *testing.T, s Harness) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	attempts := map[string]func() error{
		"append": func() error { return s.Append(cancelled, newChunk("s", 1, 0, 10)) },
		"put":    func() error { return s.Put(cancelled, document.Write{Key: "d", Body: []byte("{}")}) },
		"replace": func() error {
			return s.Replace(cancelled, newChunk("other", 1, 1, 10), digestOf(newChunk("other", 1, 0, 10)))
		},
		"forget": func() error { return s.DeleteSnapshot(cancelled, "other") },
		"delete": func() error { return s.Delete(cancelled, "d") },
		"save":   func() error { return s.SaveSnapshot(cancelled, "s", stream.Snapshot{State: []byte("state")}) },
		"get":    func() error { _, err := s.Get(cancelled, "d"); return err },
		"load":   func() error { _, _, err := s.LoadSnapshot(cancelled, "s"); return err },
		"chunks": func() error {
			for _, err := range s.Chunks(cancelled, "other", 0) {
				return err
			}
			return nil
		},
	}
	add(t, s, newChunk("other", 1, 0, 10))
	for name, attempt := range attempts {
		if err := attempt(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a cancelled context: %v, want context.Canceled", name, err)
		}
	}
	s.Reopen(t)
	wantChunks(t, s, "s", 0)
	wantChunks(t, s, "other", 0, newChunk("other", 1, 0, 10))
	wantDocuments(t, s, []string{"d"}, document.Document{})
	wantNoSnapshot(t, s, "s")
}
