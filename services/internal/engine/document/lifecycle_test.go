package document_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

func TestCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		service, gate := held(t, store)
		ctx, cancel := context.WithCancel(t.Context())
		queued := start(ctx, t, service, edit(t, "k", `{"queued":1}`))
		synctest.Wait()
		cancel()
		wantKind(t, (<-queued).err, fault.Unavailable)

		ctx, cancel = context.WithCancel(t.Context())
		begun := start(ctx, t, service, edit(t, "k", `{"begun":1}`))
		synctest.Wait()
		gate <- nil
		synctest.Wait()
		cancel()
		wantKind(t, (<-begun).err, fault.Uncertain)
		gate <- nil
		synctest.Wait()
		wantStored(t, store, "k", 2, `{"begun":1,"first":true}`)
	})
}

func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		gate := make(chan struct{})
		store.put = func(_ context.Context, _ int64, put func() error) error {
			<-gate
			return put()
		}
		service := document.NewService(store, newClock(), document.Options{}.Tuned(document.Tuning{QueueLimit: 5}))
		var waiting []<-chan outcome
		for i := range 10 {
			waiting = append(waiting, start(t.Context(), t, service, edit(t, "k", member(i))))
			synctest.Wait()
		}
		wantKind(t, service.EditAll(t.Context(), []document.Edit{edit(t, "j", `{}`), edit(t, "k", `{}`)}), fault.Unavailable)
		close(gate)
		refused := 0
		for _, w := range waiting {
			if got := <-w; got.err != nil {
				wantKind(t, got.err, fault.Unavailable)
				refused++
			}
		}
		if refused == 0 || refused == 10 {
			t.Errorf("%d of 10 edits were refused", refused)
		}
		if _, err := service.Edit(t.Context(), edit(t, "k", `{}`)); err != nil {
			t.Errorf("still refused when nobody waits: %v", err)
		}
	})
}

// However many documents they are about, callers in waiting are bounded.
func TestCallersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		gate := make(chan struct{})
		store.put = func(_ context.Context, _ int64, put func() error) error {
			<-gate
			return put()
		}
		service := document.NewService(store, newClock(), document.Options{}.Tuned(document.Tuning{Limit: 3}))
		var waiting sync.WaitGroup
		for i := range 3 {
			waiting.Go(func() {
				if _, err := service.Edit(t.Context(), edit(t, fmt.Sprint(i), `{}`)); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		_, err := service.Edit(t.Context(), edit(t, "k", `{}`))
		wantKind(t, err, fault.Unavailable)
		wantKind(t, service.EditAll(t.Context(), []document.Edit{edit(t, "k", `{}`)}), fault.Unavailable)
		_, err = service.Get(t.Context(), "k")
		wantKind(t, err, fault.Unavailable)
		close(gate)
		waiting.Wait()
		if _, err := service.Edit(t.Context(), edit(t, "k", `{}`)); err != nil {
			t.Errorf("still refused when nobody waits: %v", err)
		}
	})
}

func TestCloseDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		service, gate := held(t, store)
		waiting := start(t.Context(), t, service, edit(t, "k", `{"a":1}`))
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- service.Close(t.Context()) }()
		synctest.Wait()

		_, err := service.Edit(t.Context(), edit(t, "k", `{"late":1}`))
		wantKind(t, err, fault.Unavailable)
		wantKind(t, service.EditAll(t.Context(), []document.Edit{edit(t, "j", `{}`)}), fault.Unavailable)
		gate <- nil
		synctest.Wait()
		if len(closed) > 0 {
			t.Error("closed while an edit is under way")
		}
		gate <- nil
		wantOutcome(t, <-waiting, 2, `{"a":1,"first":true}`)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if err := service.Close(t.Context()); err != nil {
			t.Errorf("second Close: %v", err)
		}
	})
}

// The bubble ends only when every goroutine has: none outlives Close, even one
// that is cut short.
func TestCloseCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		store.put = func(ctx context.Context, _ int64, _ func() error) error {
			<-ctx.Done()
			return ctx.Err()
		}
		service := newService(store)
		begun := start(t.Context(), t, service, edit(t, "k", `{}`))
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := service.Close(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Close: %v", err)
		}
		wantKind(t, (<-begun).err, fault.Uncertain)
		if err := service.Close(t.Context()); err != nil {
			t.Errorf("Close after the end: %v", err)
		}
	})
}
