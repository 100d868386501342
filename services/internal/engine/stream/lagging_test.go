package stream_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ledger"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// The answer to the append of a command is lost, and readers see its chunk after a while.
// Until then its sequence number is taken by a chunk that cannot be read: the command is
// neither decided again nor refused.
func TestOccupantThatCannotBeReadYet(t *testing.T) {
	for name, test := range map[string]struct {
		lag  time.Duration
		kind fault.Kind // of the answer; 0 for success
	}{
		"readable after a few attempts": {30 * time.Millisecond, 0},
		"readable after a while":        {5 * time.Second, 0},
		"readable much later":           {time.Hour, fault.Uncertain},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lag := storetest.Lag{For: test.lag, AnswerLost: true}
				store := storetest.NewLagging(storetest.NewMemory(), func(stream.Chunk) (next storetest.Lag) {
					next, lag = lag, next // the first chunk lags, no other does
					return next
				})
				engine := newEngine(store, stream.Options{})
				got, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 1, Amount: 5})
				if kind := fault.KindOf(err); kind != test.kind || err == nil && got != 5 {
					t.Errorf("answered %d, %v", got, err)
				}
				time.Sleep(test.lag)
				entries, err := engine.View(t.Context(), testStream, ledger.EntriesQuery)
				if got := sum(t, engine); got != 5 || entries != 1 || err != nil {
					t.Errorf("the sum is %d of %d entries, %v; want 5 of 1", got, entries, err)
				}
				mustClose(t, engine)
			})
		})
	}
}

// A chunk that is rolled back is appended again.
func TestChunkThatIsRolledBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lag := storetest.Lag{For: 5 * time.Second, RolledBack: true, AnswerLost: true}
		store := storetest.NewLagging(storetest.NewMemory(), func(stream.Chunk) (next storetest.Lag) {
			next, lag = lag, next
			return next
		})
		engine := newEngine(store, stream.Options{})
		got, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 1, Amount: 5})
		if got != 5 || err != nil || sum(t, engine) != 5 {
			t.Errorf("answered %d, %v; the sum is %d", got, err, sum(t, engine))
		}
		mustClose(t, engine)
	})
}

// While no majority confirms an append, each attempt at it takes as long as the store
// waits. The caller gets an answer soon after the time to settle it, and those behind, who
// read or write, are refused meanwhile.
func TestNobodyWaitsBehindAnUnsettledAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const wait = 5 * time.Second // of the store for a majority
		store := newSlow(wait)
		store.answer = func(stream.Chunk) error { return errNetwork }
		engine := newEngine(store, stream.Options{})
		start := time.Now()
		first := make(chan error, 1)
		go func() {
			_, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 1, Amount: 1})
			first <- err
		}()
		time.Sleep(time.Second)
		var behind sync.WaitGroup
		refused := func(from, most time.Duration) {
			for id := range uint64(2) {
				behind.Go(func() {
					start := time.Now()
					p, err := ledger.Post{ID: 2 + id, Amount: 1}, error(nil)
					if id == 0 {
						_, err = engine.View(t.Context(), testStream, p)
					} else {
						_, err = engine.Do(t.Context(), testStream, p)
					}
					if took := time.Since(start); fault.KindOf(err) != fault.Unavailable || took > most {
						t.Errorf("one that came %v after the first: %v after %v", from, err, took)
					}
				})
			}
		}
		refused(time.Second, wait)
		time.Sleep(wait) // the first attempt has ended
		refused(wait+time.Second, 0)
		if err := <-first; fault.KindOf(err) != fault.Uncertain || time.Since(start) > 20*time.Second {
			t.Errorf("the first: %v after %v", err, time.Since(start))
		}
		behind.Wait()
		store.answer, store.delay = nil, 0
		if _, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 9, Amount: 1}); err != nil {
			t.Errorf("the store answers again: %v", err)
		}
		mustClose(t, engine)
	})
}

// A read that shares the batch of an append whose outcome stays unknown is refused with those
// behind it.
func TestReadBesideAnUnsettledAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const wait = 5 * time.Second
		store := newSlow(wait)
		store.answer = func(c stream.Chunk) error {
			if c.Seq == 1 {
				return nil
			}
			return errNetwork
		}
		engine := newEngine(store, stream.Options{})
		start := time.Now()
		var calls sync.WaitGroup
		do := func(id uint64, kind fault.Kind) {
			calls.Go(func() {
				if _, err := engine.Do(t.Context(), testStream, ledger.Post{ID: id, Amount: 1}); fault.KindOf(err) != kind {
					t.Errorf("command %d: %v", id, err)
				}
			})
		}
		do(1, 0)
		time.Sleep(time.Second)
		do(2, fault.Uncertain) // the next batch, and the read with it
		calls.Go(func() {
			_, err := engine.View(t.Context(), testStream, ledger.EntriesQuery)
			if took := time.Since(start); fault.KindOf(err) != fault.Unavailable || took > 2*wait {
				t.Errorf("the read: %v after %v", err, took)
			}
		})
		calls.Wait()
		mustClose(t, engine)
	})
}
