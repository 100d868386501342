package stream_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ledger"
)

// While the store is busy every call, reads included, is refused without a request to
// the store. A command that may have been stored already is still looked for.
func TestBusyStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, refused := newSlow(time.Millisecond), fault.New(fault.Unavailable, "busy")
		var busy atomic.Bool
		engine := newEngine(store, stream.Options{Busy: func() error {
			if busy.Load() {
				return refused
			}
			return nil
		}})
		wantRefused := func(name string) {
			t.Helper()
			before := len(store.appends)
			_, err := engine.Do(t.Context(), name, ledger.Post{ID: 2, Amount: 2})
			_, failed := engine.View(t.Context(), name, ledger.SumQuery)
			if !errors.Is(err, refused) || !errors.Is(failed, refused) || len(store.appends) > before {
				t.Errorf("%s: to write: %v, to read: %v, %d appends", name, err, failed, len(store.appends)-before)
			}
		}
		busy.Store(true)
		wantRefused("ledger/cold")
		busy.Store(false)
		store.answer = func(chunk stream.Chunk) error {
			store.answer = nil
			busy.Store(true) // from now on
			if err := store.Memory.Append(t.Context(), chunk); err != nil {
				t.Error(err)
			}
			return errNetwork
		}
		if _, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 1, Amount: 1}); err != nil {
			t.Errorf("an append whose answer was lost: %v", err)
		}
		wantRefused(testStream)
		busy.Store(false)
		if got := sum(t, engine); got != 1 {
			t.Errorf("the sum is %d", got)
		}
		mustClose(t, engine)
	})
}
