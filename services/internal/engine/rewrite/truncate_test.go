package rewrite_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ledger"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// after returns a time after a chunk and before the next one.
func after(t *testing.T, store stream.Store, seq uint64) time.Time {
	t.Helper()
	return time.UnixMilli(ledger.ChunksOf(t, store)[seq-1].At + 1)
}

func truncate(t *testing.T, e *ledger.Engine, before time.Time) rewrite.Truncation {
	t.Helper()
	truncated, err := e.Truncate(t.Context(), testStream, before)
	if err != nil {
		t.Fatal(err)
	}
	return truncated
}

// wantTotals makes sure that an engine knows what three viewers have posted.
func wantTotals(t *testing.T, e *ledger.Engine) {
	t.Helper()
	if n := sum(t, e); n != 12 {
		t.Errorf("the sum is %d, want 12", n)
	}
	for _, who := range ledger.Viewers[1:] {
		if n := given(t, e, who); n != 4 {
			t.Errorf("%s has given %d, want 4", who, n)
		}
	}
}

func TestTruncationRemovesEntriesAndLeavesTheState(t *testing.T) {
	for _, exclusive := range []bool{false, true} {
		store := posted(t)
		first, behind := newEngine(store, stream.Options{Exclusive: exclusive}), newEngine(store, stream.Options{})
		wantTotals(t, first)
		cutoff := after(t, store, 4)
		if got := truncate(t, first, cutoff); got.Chunks != 4 || got.Bytes == 0 {
			t.Errorf("truncated %+v, want 4 chunks", got)
		}
		if diff := cmp.Diff(rewrite.Truncation{}, truncate(t, first, cutoff)); diff != "" {
			t.Errorf("truncated again (-want +got):\n%s", diff)
		}
		for i, chunk := range ledger.ChunksOf(t, store)[:4] {
			for _, err := range first.Entries(&chunk) {
				t.Errorf("chunk %d has entries still (%v)", i+1, err)
			}
		}
		report, err := verify(t, store)
		if want := (rewrite.Report{Chunks: 5, Entries: 2, Bytes: report.Bytes, Redacted: 1, Truncated: 4, Snapshot: true}); err != nil || report != want {
			t.Errorf("verify: %+v, %v, want %+v", report, err, want)
		}
		if err := store.DeleteSnapshot(t.Context(), testStream); err != nil {
			t.Fatal(err)
		}
		wantTotals(t, first)
		wantTotals(t, behind)
		// The limits hold across the truncation, and the log goes on.
		if _, err := behind.Do(t.Context(), testStream, ledger.Post{ID: 9, Amount: ledger.ViewerLimit - 3, Who: "viewer-1"}); !errors.Is(err, ledger.ErrLimit) {
			t.Errorf("got %v, want the limit", err)
		}
		if _, err := behind.Do(t.Context(), testStream, ledger.Post{ID: 10, Amount: 0}); err != nil {
			t.Error(err)
		}
		if got := truncate(t, first, after(t, store, 9)); got.Chunks < 3 {
			t.Errorf("truncated %+v, want the rest", got)
		}
		if report, err := verify(t, store); err != nil || report.Entries != 0 || report.Truncated != 9 || sum(t, behind) != 0 {
			t.Errorf("verify: %+v, %v, want that all is truncated", report, err)
		}
		mustClose(t, first)
		mustClose(t, behind)
	}
}

// reading counts the chunks that are read.
type reading struct {
	stream.Store
	read int
}

func (r *reading) Chunks(ctx context.Context, name string, after uint64) iter.Seq2[stream.Chunk, error] {
	return func(yield func(stream.Chunk, error) bool) {
		for chunk, err := range r.Store.Chunks(ctx, name, after) {
			if r.read++; !yield(chunk, err) {
				return
			}
		}
	}
}

// What a stream costs that is truncated again and again does not grow with what has
// left it.
func TestTruncationDoesNotReadWhatIsGone(t *testing.T) {
	memory := storetest.NewMemory()
	store := &reading{Store: memory}
	e := newEngine(store, stream.Options{Exclusive: true})
	var costs []int
	for round := range uint64(10) {
		for id := range uint64(20) {
			if _, err := e.Do(t.Context(), testStream, ledger.Post{ID: 20*round + id}); err != nil {
				t.Fatal(err)
			}
		}
		store.read = 0
		if got := truncate(t, e, after(t, memory, uint64(len(ledger.ChunksOf(t, memory))))); got.Chunks < 20 {
			t.Errorf("truncated %+v", got)
		}
		costs = append(costs, store.read)
	}
	if costs[9] > costs[1] {
		t.Errorf("truncations have read %d chunks", costs)
	}
	if _, err := verify(t, memory); err != nil {
		t.Error(err)
	}
	mustClose(t, e)
}

// A process that did not run during a truncation cannot append where the truncated
// chunks were.
func TestTruncationIsNoticedLater(t *testing.T) {
	store := storetest.NewMemory()
	asleep, awake := newEngine(store, stream.Options{}), newEngine(store, stream.Options{})
	if _, err := asleep.Do(t.Context(), testStream, ledger.Post{ID: 1, Amount: 1, Who: "viewer-1"}); err != nil {
		t.Fatal(err)
	}
	for id := range uint64(6) {
		if _, err := awake.Do(t.Context(), testStream, ledger.Post{ID: 2 + id, Amount: 1, Who: "viewer-1"}); err != nil {
			t.Fatal(err)
		}
	}
	truncate(t, awake, after(t, store, 6))
	if _, err := asleep.Do(t.Context(), testStream, ledger.Post{ID: 8, Amount: ledger.ViewerLimit - 6, Who: "viewer-1"}); !errors.Is(err, ledger.ErrLimit) {
		t.Errorf("got %v, want the limit", err)
	}
	if n, err := asleep.Do(t.Context(), testStream, ledger.Post{ID: 9, Amount: 1, Who: "viewer-1"}); n != 8 || err != nil {
		t.Errorf("the sum is %d, %v, want 8", n, err)
	}
	if _, err := verify(t, store); err != nil {
		t.Error(err)
	}
	mustClose(t, asleep)
	mustClose(t, awake)
}

// A truncation that is cut off at any step changes no result, and the next truncation
// or erasure finishes it.
func TestTruncationIsCutOff(t *testing.T) {
	for earlier, writes := range map[uint64]int{
		0: 1 + 5 + 1 + 1, // control record, chunks, checksum record, control record
		2: 1 + 4 + 1 + 1, // chunk 2 has gone before
	} {
		truncateCutOff(t, earlier, writes)
	}
}

// truncateCutOff cuts a truncation off at each of its writes, of a stream from which some chunks
// have gone already.
func truncateCutOff(t *testing.T, earlier uint64, writes int) {
	t.Helper()
	for i := 0; ; i++ {
		store := posted(t)
		if earlier > 0 {
			first := newEngine(store, stream.Options{})
			truncate(t, first, after(t, store, earlier))
			mustClose(t, first)
		}
		resident := newEngine(store, stream.Options{})
		wantTotals(t, resident)
		cutoff := after(t, store, 5)
		broken := &ailing{Memory: store, left: i / 2, applies: i%2 == 1}
		engine := newEngine(broken, stream.Options{})
		_, err := engine.Truncate(t.Context(), testStream, cutoff)
		if broken.left >= 0 {
			if err != nil || i != 2*writes {
				t.Errorf("done after %d cuts: %v", i, err)
			}
			break
		}
		fresh := newEngine(store, stream.Options{})
		wantTotals(t, resident)
		wantTotals(t, fresh)
		if _, err := verify(t, store); err != nil && !errors.Is(err, rewrite.ErrUnfinished) {
			t.Errorf("step %d: cut off: %v", i, err)
		}
		if i%4 < 2 {
			erase(t, fresh, "viewer-1")
		}
		truncate(t, fresh, cutoff)
		if report, err := verify(t, store); err != nil || report.Truncated != 5 || sum(t, fresh) != 12 {
			t.Errorf("step %d: finished: %+v, %v", i, report, err)
		}
		for _, chunk := range ledger.ChunksOf(t, store)[:5] {
			if chunk.Count > 0 {
				t.Errorf("step %d: chunk %d has entries still", i, chunk.Seq)
			}
		}
		for _, e := range []*ledger.Engine{engine, fresh, resident} {
			mustClose(t, e)
		}
	}
}

// Of a truncated stream the state that it begins with knows the viewers: an erasure,
// whole or cut off, takes one out of it.
func TestEraseFromATruncatedStream(t *testing.T) {
	for i := range 12 {
		store := posted(t)
		engine := newEngine(store, stream.Options{})
		truncate(t, engine, after(t, store, 5))
		if err := store.DeleteSnapshot(t.Context(), testStream); err != nil {
			t.Fatal(err)
		}
		broken := newEngine(&ailing{Memory: store, left: i / 2, applies: i%2 == 1}, stream.Options{})
		_, err := broken.Erase(t.Context(), testStream, rewrite.Viewer{IDs: []string{"viewer-1"}})
		if i == 11 && err != nil {
			t.Fatal(err)
		}
		fresh := newEngine(store, stream.Options{})
		want := int64(0)
		if i == 0 {
			want = 4 // not begun
		}
		if first, third := given(t, fresh, "viewer-1"), given(t, fresh, "viewer-3"); first != want || third != 4 || sum(t, fresh) != 12 {
			t.Errorf("step %d: %d and %d are given, want %d and 4", i, first, third, want)
		}
		erase(t, fresh, "viewer-1")
		ledger.WantErased(t, store, testStream, "viewer-1")
		if _, err := verify(t, store); err != nil || given(t, engine, "viewer-1") != 0 || given(t, engine, "viewer-2") != 4 {
			t.Errorf("step %d: %v", i, err)
		}
		for _, e := range []*ledger.Engine{engine, broken, fresh} {
			mustClose(t, e)
		}
	}
}

// stepping reads one chunk at a time, as stores read page by page, and lets something
// happen before the nth.
type stepping struct {
	*storetest.Memory
	left int
	then func()
}

func (s *stepping) Chunks(ctx context.Context, name string, after uint64) iter.Seq2[stream.Chunk, error] {
	return func(yield func(stream.Chunk, error) bool) {
		for more := true; more; {
			more = false
			if s.left--; s.left == 0 {
				s.then()
			}
			for chunk, err := range s.Memory.Chunks(ctx, name, after) {
				if !yield(chunk, err) || err != nil {
					return
				}
				after, more = chunk.Seq, true
				break
			}
		}
	}
}

// A reader that runs while chunks are truncated or a viewer is erased folds all of
// that or nothing.
func TestReadersMeetATruncation(t *testing.T) {
	for _, snapshot := range []bool{true, false} {
		for n := 1; ; n++ {
			store := posted(t)
			if !snapshot {
				if err := store.DeleteSnapshot(t.Context(), testStream); err != nil {
					t.Fatal(err)
				}
			}
			other := newEngine(store, stream.Options{})
			erase(t, other, "viewer-9", "viewer-3") // so that readers begin twice
			steps := &stepping{Memory: store, left: n, then: func() { truncate(t, other, after(t, store, 6)) }}
			reader := newEngine(steps, stream.Options{})
			if total, first := sum(t, reader), given(t, reader, "viewer-1"); total != 12 || first != 4 {
				t.Errorf("truncated before step %d, the sum is %d, %d are given", n, total, first)
			}
			mustClose(t, reader)
			mustClose(t, other)
			if steps.left > 0 {
				break
			}
		}
	}
}

// What verify proves of a truncated stream: that the checkpoint is the one the truncation left, and
// all after it.
func TestVerifyFindsWhatTrimsHaveNotDone(t *testing.T) {
	for name, damage := range map[string]func(c []stream.Chunk) []stream.Chunk{
		"the base changed": func(c []stream.Chunk) []stream.Chunk {
			c[0].Payload[len(c[0].Payload)-1]++
			return c
		},
		"a chunk after it changed": func(c []stream.Chunk) []stream.Chunk { c[4].At++; return c },
		"the chunk after it gone":  func(c []stream.Chunk) []stream.Chunk { return append(c[:4], c[5:]...) },
		"no base": func(c []stream.Chunk) []stream.Chunk {
			c[0].Payload = c[1].Payload
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := posted(t)
			engine := newEngine(store, stream.Options{})
			truncate(t, engine, after(t, store, 4))
			mustClose(t, engine)
			if _, err := verify(t, storetest.NewMemoryOf(damage(ledger.ChunksOf(t, store))...)); !errors.Is(err, stream.ErrDamaged) {
				t.Errorf("got %v, want damage", err)
			}
		})
	}
}

// A log whose checkpoint is lost has tombstones that nothing replaces. Nothing that reads it begins
// again without end.
func TestLogWithoutItsCheckpointIsRefused(t *testing.T) {
	store := posted(t)
	first := ledger.ChunksOf(t, store)[0]
	engine := newEngine(store, stream.Options{})
	truncate(t, engine, after(t, store, 4))
	mustClose(t, engine)
	chunks := ledger.ChunksOf(t, store)
	chunks[0] = first
	for name, read := range map[string]func(e *ledger.Engine) error{
		"a view": func(e *ledger.Engine) error {
			_, err := e.View(t.Context(), testStream, ledger.SumQuery)
			return err
		},
		"a fold": func(e *ledger.Engine) error { return ledger.FoldStates(t, e) },
		"a truncation": func(e *ledger.Engine) error {
			_, err := e.Truncate(t.Context(), testStream, time.Now())
			return err
		},
		"an erasure": func(e *ledger.Engine) error {
			_, err := e.Erase(t.Context(), testStream, rewrite.Viewer{IDs: []string{"viewer-1"}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(storetest.NewMemoryOf(chunks...), stream.Options{})
			defer mustClose(t, e)
			if err := read(e); !errors.Is(err, stream.ErrDamaged) {
				t.Errorf("got %v, want damage", err)
			}
		})
	}
}
