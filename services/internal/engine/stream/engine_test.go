package stream_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ledger"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// slowStore takes a fixed simulated time for each append and each read, and
// counts what it is asked.
type slowStore struct {
	*storetest.Memory
	delay   time.Duration
	mu      sync.Mutex
	appends []stream.Chunk
	read    int
	answer  func(stream.Chunk) error // instead of appending, when not nil
}

func (s *slowStore) Append(ctx context.Context, chunk stream.Chunk) error {
	if err := stream.SystemClock().Sleep(ctx, s.delay); err != nil {
		return err
	}
	s.mu.Lock()
	s.appends = append(s.appends, chunk)
	s.mu.Unlock()
	if s.answer != nil {
		return s.answer(chunk)
	}
	return s.Memory.Append(ctx, chunk)
}

func (s *slowStore) Chunks(ctx context.Context, name string, after uint64) iter.Seq2[stream.Chunk, error] {
	return func(yield func(stream.Chunk, error) bool) {
		for chunk, err := range s.Memory.Chunks(ctx, name, after) {
			s.mu.Lock()
			s.read++
			s.mu.Unlock()
			if !yield(chunk, err) {
				return
			}
		}
	}
}

const testStream = ledger.Stream

func newSlow(delay time.Duration) *slowStore {
	return &slowStore{Memory: storetest.NewMemory(), delay: delay}
}

// Nearly every line of the tests calls one of these.
var newEngine, mustClose, sum, verify = ledger.New, ledger.MustClose, ledger.Sum, ledger.Verify

func TestCommandsThatArriveDuringACommitShareTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlow(10 * time.Millisecond)
		engine := newEngine(store, stream.Options{Exclusive: true})
		var callers sync.WaitGroup
		for id := range uint64(30) {
			callers.Go(func() {
				if id > 0 {
					time.Sleep(time.Millisecond) // the first command is being committed
				}
				if _, err := engine.Do(t.Context(), testStream, ledger.Post{ID: id, Amount: 1}); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		if len(store.appends) != 2 || store.appends[1].Count != 29 {
			t.Errorf("30 commands took %d appends, want 2", len(store.appends))
		}
		mustClose(t, engine)
	})
}

// A call that would wait for too long behind a slow store is refused at once, so that
// the accepted calls have a bounded wait. A store that is fast again holds all
// accepted commands.
func TestSlowStoreBoundsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlow(time.Second)
		engine := newEngine(store, stream.Options{Exclusive: true}.Tuned(stream.Tuning{BatchLimit: 4}))
		flood := func(firstID uint64) (accepted int) {
			var mu sync.Mutex
			var callers sync.WaitGroup
			for id := range uint64(100) {
				callers.Go(func() {
					start := time.Now()
					_, err := engine.Do(t.Context(), testStream, ledger.Post{ID: firstID + id, Amount: 0})
					mu.Lock()
					defer mu.Unlock()
					switch took := time.Since(start); {
					case err == nil && took <= 6*time.Second:
						accepted++
					case err == nil:
						t.Errorf("accepted after %v", took)
					case fault.KindOf(err) != fault.Unavailable || took > 0:
						t.Errorf("refused after %v: %v", took, err)
					}
				})
			}
			callers.Wait()
			return accepted
		}
		if _, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 1, Amount: 0}); err != nil {
			t.Fatal(err)
		}
		if n := flood(1000); n < 16 || n > 24 {
			t.Errorf("%d of 100 were accepted, want those of 4 to 6 appends", n)
		}
		store.delay = time.Millisecond
		if _, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 2, Amount: 0}); err != nil {
			t.Fatal(err)
		}
		if n := flood(2000); n != 100 {
			t.Errorf("%d of 100 were accepted by a fast store", n)
		}
		mustClose(t, engine)
	})
}

func TestRefusalThatRestsOnTheBatchWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlow(time.Second)
		engine := newEngine(store, stream.Options{Exclusive: true})
		start := time.Now()
		var callers sync.WaitGroup
		callers.Go(func() { _, _ = engine.Do(t.Context(), testStream, ledger.Post{ID: 1, Amount: 1}) })
		time.Sleep(time.Millisecond)
		callers.Go(func() { _, _ = engine.Do(t.Context(), testStream, ledger.Post{ID: 2, Amount: ledger.Limit - 1}) })
		time.Sleep(time.Millisecond)
		_, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 3, Amount: 1})
		if !errors.Is(err, ledger.ErrLimit) {
			t.Errorf("got %v, want the limit", err)
		}
		if took := time.Since(start); took < 2*time.Second {
			t.Errorf("refused after %v, before the commit it rests on", took)
		}
		callers.Wait()
		mustClose(t, engine)
	})
}

func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := newEngine(newSlow(time.Second), stream.Options{}.Tuned(stream.Tuning{QueueLimit: 3}))
		var callers sync.WaitGroup
		for id := range uint64(3) {
			callers.Go(func() { _, _ = engine.Do(t.Context(), testStream, ledger.Post{ID: id, Amount: 1}) })
		}
		synctest.Wait()
		_, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 9, Amount: 1})
		if fault.KindOf(err) != fault.Unavailable {
			t.Errorf("got %v, want a refusal", err)
		}
		callers.Wait()
		if got := sum(t, engine); got != 3 {
			t.Errorf("sum is %d, want 3", got)
		}
		mustClose(t, engine)
	})
}

func TestCallerThatGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := newEngine(newSlow(time.Second), stream.Options{})
		do := func(id uint64) error {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := engine.Do(ctx, testStream, ledger.Post{ID: id, Amount: 1})
			return err
		}
		var callers sync.WaitGroup
		callers.Go(func() {
			if err := do(1); fault.KindOf(err) != fault.Uncertain {
				t.Errorf("while committing: %v, want uncertain", err)
			}
		})
		synctest.Wait()
		if err := do(2); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("while waiting: %v, want unavailable", err)
		}
		callers.Wait()
		if got := sum(t, engine); got != 1 {
			t.Errorf("sum is %d, want 1: a withdrawn command stores nothing", got)
		}
		mustClose(t, engine)
	})
}

func TestPayloadLimitDividesABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlow(10 * time.Millisecond)
		engine := newEngine(store, stream.Options{}.Tuned(stream.Tuning{PayloadLimit: 4})) // two entries
		var callers sync.WaitGroup
		for id := range uint64(9) {
			callers.Go(func() { _, _ = engine.Do(t.Context(), testStream, ledger.Post{ID: id, Amount: 1}) })
		}
		callers.Wait()
		for _, chunk := range store.appends {
			if chunk.Count > 2 {
				t.Errorf("a chunk holds %d entries", chunk.Count)
			}
		}
		if got := sum(t, engine); got != 9 {
			t.Errorf("sum is %d, want 9", got)
		}
		mustClose(t, engine)
	})
}

func TestOutcomeThatCannotBeSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlow(0)
		store.answer = func(stream.Chunk) error { return errNetwork }
		engine := newEngine(store, stream.Options{}.Tuned(stream.Tuning{SettleTimeout: 20 * time.Millisecond}))
		_, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 1, Amount: 1})
		if fault.KindOf(err) != fault.Uncertain {
			t.Errorf("got %v, want uncertain", err)
		}
		if len(store.appends) != 3 {
			t.Fatalf("%d attempts, want 3", len(store.appends))
		}
		for _, chunk := range store.appends {
			if chunk.ID != store.appends[0].ID {
				t.Error("an attempt to settle appended another chunk")
			}
		}
		mustClose(t, engine)
	})
}

func TestCertainFailureIsAnsweredAtOnce(t *testing.T) {
	store := newSlow(0)
	store.answer = func(stream.Chunk) error { return fault.New(fault.Storage, "disk full") }
	engine := newEngine(store, stream.Options{})
	if _, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 1, Amount: 1}); fault.KindOf(err) != fault.Storage {
		t.Errorf("got %v, want a storage failure", err)
	}
	store.answer = nil
	if _, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 2, Amount: 1}); err != nil {
		t.Errorf("the stream did not recover: %v", err)
	}
	if len(store.appends) != 2 {
		t.Errorf("%d appends, want 2", len(store.appends))
	}
	mustClose(t, engine)
}

func TestTimesRiseWhileTheClockStepsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlow(0)
		clock := &skewedClock{}
		engine := ledger.Open(store, clock, stream.Options{})
		begin := clock.Now()
		for id := range uint64(20) {
			if id == 10 {
				clock.step(-time.Hour)
			}
			if _, err := engine.Do(t.Context(), testStream, ledger.Post{ID: id, Amount: 1}); err != nil {
				t.Fatal(err)
			}
		}
		for i, chunk := range store.appends {
			if i > 0 && chunk.At <= store.appends[i-1].At {
				t.Errorf("chunk %d has time %d after %d", i, chunk.At, store.appends[i-1].At)
			}
		}
		last := time.UnixMilli(store.appends[19].At)
		if ahead := last.Sub(begin); ahead > time.Since(begin)+time.Millisecond {
			t.Errorf("times ran ahead by %v", ahead)
		}
		mustClose(t, engine)
	})
}

func TestSnapshotShortensTheLoad(t *testing.T) {
	store := newSlow(0)
	engine := newEngine(store, stream.Options{SnapshotTail: 1})
	for id := range uint64(20) {
		if _, err := engine.Do(t.Context(), testStream, ledger.Post{ID: id, Amount: 1}); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, engine)
	if got := engine.Stats(); got.Commits != 20 || got.Entries != 20 {
		t.Errorf("%d commits of %d entries, want 20", got.Commits, got.Entries)
	}

	store.read = 0
	engine = newEngine(store, stream.Options{Exclusive: true})
	if got := sum(t, engine); got != 20 {
		t.Errorf("sum is %d, want 20", got)
	}
	if store.read != 2 {
		t.Errorf("read %d chunks, want only the first and the one the snapshot names", store.read)
	}
	if got := engine.Stats(); got.Loads != 1 || got.Commits != 0 || got.Entries != 0 {
		t.Errorf("%d loads, want 1, and %d commits of %d entries, want none: what was read is not stored again", got.Loads, got.Commits, got.Entries)
	}
	mustClose(t, engine)
}

func TestIdleStreamsAreDroppedWithinTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := newEngine(newSlow(0), stream.Options{Exclusive: true}.Tuned(stream.Tuning{MemoryBudget: 4 << 10}))
		for round := range uint64(3) {
			for i := range uint64(100) {
				name := string(rune('a'+i/26)) + string(rune('a'+i%26))
				got, err := engine.Do(t.Context(), name, ledger.Post{ID: round*100 + i, Amount: 1})
				if err != nil || got != int64(round)+1 {
					t.Fatalf("%s in round %d: %d, %v", name, round, got, err)
				}
				time.Sleep(2 * time.Millisecond) // simulated: the worker ends
			}
		}
		stats := engine.Stats()
		if stats.ResidentBytes > 4<<10 || stats.Evictions == 0 {
			t.Errorf("resident %d bytes in %d streams after %d evictions", stats.ResidentBytes, stats.Streams, stats.Evictions)
		}
		mustClose(t, engine)
	})
}

// Reads of streams that were never written leave nothing in memory, nor do commands that
// store nothing.
func TestUnwrittenStreamsTakeNoMemory(t *testing.T) {
	for name, options := range map[string]stream.Options{"alone": {Exclusive: true}, "among others": {}} {
		engine := newEngine(newSlow(0), options)
		for i := range 100 {
			if _, err := engine.View(t.Context(), fmt.Sprint("invented/", i), ledger.Post{}); err != nil {
				t.Fatal(err)
			}
		}
		mustClose(t, engine) // waits for the workers
		if stats := engine.Stats(); stats.Streams > 0 || stats.ResidentBytes > 0 {
			t.Errorf("%s: %d streams with %d bytes are in memory", name, stats.Streams, stats.ResidentBytes)
		}
		engine = newEngine(newSlow(0), options)
		if _, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 1, Amount: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := engine.View(t.Context(), testStream, ledger.Post{}); err != nil || engine.Stats().Streams != 1 {
			t.Errorf("%s: the stream with data is not in memory: %v", name, err)
		}
		mustClose(t, engine)
	}
}

func TestCloseWaitsForWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := newEngine(newSlow(time.Second), stream.Options{})
		var callers sync.WaitGroup
		callers.Go(func() {
			if _, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 1, Amount: 1}); err != nil {
				t.Errorf("cut off by an orderly close: %v", err)
			}
		})
		synctest.Wait()
		mustClose(t, engine)
		callers.Wait()
		if _, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 2, Amount: 1}); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("after close: %v, want unavailable", err)
		}
	})
}

func TestCloseCutsOffWhatTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := newEngine(newSlow(time.Hour), stream.Options{})
		var callers sync.WaitGroup
		callers.Go(func() {
			if _, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 1, Amount: 1}); fault.KindOf(err) != fault.Uncertain {
				t.Errorf("got %v, want uncertain", err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := engine.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: %v, want a deadline", err)
		}
		callers.Wait()
	})
}

// A chunk that a store shows before its append has succeeded is in no log that is read: a loss of
// power may still take it. After the append the log has it.
func TestChunksLeavesOutWhatIsNotDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlow(0)
		engine := newEngine(store, stream.Options{Exclusive: true})
		durable := make(chan struct{})
		store.answer = func(chunk stream.Chunk) error {
			err := store.Memory.Append(t.Context(), chunk)
			<-durable
			return err
		}
		read := func() (n int) {
			for _, err := range engine.Chunks(t.Context(), testStream, 0) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			return n
		}
		var caller sync.WaitGroup
		caller.Go(func() {
			if _, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 1, Amount: 1}); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if n := read(); n != 0 {
			t.Errorf("%d chunks are read while their append is under way", n)
		}
		close(durable)
		caller.Wait()
		if n := read(); n != 1 {
			t.Errorf("%d chunks are read after the append, want 1", n)
		}
		mustClose(t, engine)
	})
}
