package document_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

func TestLostRaceIsDecidedAgain(t *testing.T) {
	store := newFaulty()
	store.put = func(_ context.Context, n int64, put func() error) error {
		if n <= 3 {
			store.intrude(t, "k", `{"counter":`+string('0'+rune(n))+`}`)
		}
		return put()
	}
	got, err := newService(store).Edit(t.Context(), edit(t, "k", `{"mine":1}`))
	wantOutcome(t, outcome{got, err}, 4, `{"counter":3,"mine":1}`)
	wantStored(t, store, "k", 4, `{"counter":3,"mine":1}`)
}

func TestLostRaceCanMakeAnEditFail(t *testing.T) {
	store := newFaulty()
	store.put = func(_ context.Context, _ int64, put func() error) error {
		store.intrude(t, "k", `{"theirs":1}`)
		return put()
	}
	never := uint64(0)
	_, err := newService(store).Edit(t.Context(), document.Edit{Key: "k", Change: mustParse(t, `{}`), Match: &never})
	wantKind(t, err, fault.Mismatch)
}

func TestTooManyLostRaces(t *testing.T) {
	store := newFaulty()
	store.put = func(context.Context, int64, func() error) error { return document.ErrConflict }
	service := newService(store)
	_, err := service.Edit(t.Context(), edit(t, "k", `{}`))
	wantKind(t, err, fault.Unavailable)
	wantKind(t, service.EditAll(t.Context(), []document.Edit{edit(t, "k", `{}`)}), fault.Unavailable)
}

func TestFailureIsPassedOn(t *testing.T) {
	for _, kind := range []fault.Kind{fault.Storage, fault.Unavailable} {
		store := newFaulty()
		store.put = func(context.Context, int64, func() error) error { return fault.New(kind, "no") }
		service := newService(store)
		_, err := service.Edit(t.Context(), edit(t, "k", `{}`))
		wantKind(t, err, kind)
		wantKind(t, service.EditAll(t.Context(), []document.Edit{edit(t, "k", `{}`)}), kind)

		store.get = func(context.Context) error { return fault.New(kind, "no") }
		_, err = service.Get(t.Context(), "k")
		wantKind(t, err, kind)
	}
}

func TestFailedReadStoresNothing(t *testing.T) {
	store := newFaulty()
	store.get = func(context.Context) error { return errLost }
	service := newService(store)
	_, err := service.Edit(t.Context(), edit(t, "k", `{}`))
	wantKind(t, err, fault.Storage)
	_, err = service.Get(t.Context(), "k")
	wantKind(t, err, fault.Storage)
	if store.puts.Load() != 0 {
		t.Error("wrote what could not be read")
	}
}

// What became of a write is found out whatever happened to it.
func TestUnknownOutcomeIsSettled(t *testing.T) {
	for name, test := range map[string]struct {
		put     func(store *faulty, t *testing.T) func(n int64, put func() error) error
		version uint64
		body    string
	}{
		"stored, answer lost": {func(*faulty, *testing.T) func(int64, func() error) error {
			return func(_ int64, put func() error) error {
				if err := put(); err != nil {
					return err
				}
				return errLost
			}
		}, 1, `{"mine":1}`},
		"request lost": {func(*faulty, *testing.T) func(int64, func() error) error {
			return func(n int64, put func() error) error {
				if n <= 3 {
					return errLost
				}
				return put()
			}
		}, 1, `{"mine":1}`},
		"stored late": {func(*faulty, *testing.T) func(int64, func() error) error {
			var late func() error
			return func(n int64, put func() error) error {
				if n == 1 {
					late = put
					return errLost
				}
				if err := late(); err != nil {
					return err
				}
				return put()
			}
		}, 1, `{"mine":1}`},
		"another took its place": {func(store *faulty, t *testing.T) func(int64, func() error) error {
			return func(n int64, put func() error) error {
				if n == 1 {
					store.intrude(t, "k", `{"theirs":1}`)
					return errLost
				}
				return put()
			}
		}, 2, `{"mine":1,"theirs":1}`},
		"failed for certain after that": {func(*faulty, *testing.T) func(int64, func() error) error {
			return func(n int64, put func() error) error {
				switch n {
				case 1:
					return errLost
				case 2:
					return fault.New(fault.Storage, "disk full")
				}
				return put()
			}
		}, 1, `{"mine":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			store := newFaulty()
			hook := test.put(store, t)
			store.put = func(_ context.Context, n int64, put func() error) error { return hook(n, put) }
			got, err := newService(store).Edit(t.Context(), edit(t, "k", `{"mine":1}`))
			wantOutcome(t, outcome{got, err}, test.version, test.body)
			wantStored(t, store, "k", test.version, test.body)
		})
	}
}

func TestUnknownOutcomeThatCannotBeSettled(t *testing.T) {
	for name, test := range map[string]func(store *faulty) error{
		"store gone": func(store *faulty) error {
			store.get = func(context.Context) error { return errLost }
			return errLost
		},
		"others wrote since": func(store *faulty) error {
			store.intrude(t, "k", `{}`)
			store.intrude(t, "k", `{}`)
			return errLost
		},
		"never arrives": func(*faulty) error { return errLost },
	} {
		t.Run(name, func(t *testing.T) {
			store := newFaulty()
			store.put = func(context.Context, int64, func() error) error { return test(store) }
			_, err := newService(store).Edit(t.Context(), edit(t, "k", `{"mine":1}`))
			wantKind(t, err, fault.Uncertain)
		})
	}
}

// A store that takes five seconds to fail, as a database without a majority does, holds a
// caller for that time and for the time of settling.
func TestSettlingIsBoundedInTime(t *testing.T) {
	for name, cause := range map[string]error{"one": errLost, "several": fmt.Errorf("no majority: %w", document.ErrIncomplete)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const slow, most = 5 * time.Second, 20 * time.Second
				store := newFaulty()
				wait := func(ctx context.Context, err error) error {
					select {
					case <-time.After(slow):
						return err
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				store.put = func(ctx context.Context, _ int64, _ func() error) error {
					store.get = func(ctx context.Context) error { return wait(ctx, errLost) }
					return wait(ctx, cause)
				}
				began := time.Now()
				err := newService(store).EditAll(t.Context(), []document.Edit{edit(t, "a", `{"mine":1}`), edit(t, "b", `{"mine":1}`)})
				wantKind(t, err, fault.Uncertain)
				if took := time.Since(began); took > most {
					t.Errorf("the caller waited %v, more than %v", took, most)
				}
			})
		})
	}
}

func TestUnknownOutcomeOfSeveral(t *testing.T) {
	store := newFaulty()
	store.put = func(_ context.Context, n int64, put func() error) error {
		switch n {
		case 1:
			// The transaction is stored, and another writer changes one of its
			// documents.
			if err := put(); err != nil {
				return err
			}
			store.intrude(t, "a", `{"theirs":1}`)
			return errLost
		case 2:
			// Not stored, and never will be: one document has moved on by two.
			store.intrude(t, "b", `{"x":1}`)
			store.intrude(t, "b", `{"x":2}`)
			return errLost
		}
		return put()
	}
	service := newService(store)
	both := func(change string) []document.Edit {
		return []document.Edit{edit(t, "a", change), edit(t, "b", change)}
	}
	if err := service.EditAll(t.Context(), both(`{"first":1}`)); err != nil {
		t.Fatal(err)
	}
	wantStored(t, store, "a", 2, `{"theirs":1}`)
	wantStored(t, store, "b", 1, `{"first":1}`)
	if err := service.EditAll(t.Context(), both(`{"second":1}`)); err != nil {
		t.Fatal(err)
	}
	wantStored(t, store, "a", 3, `{"second":1,"theirs":1}`)
	wantStored(t, store, "b", 4, `{"second":1,"x":2}`)
}

// What a store without transactions has begun is completed, unless another took
// the rest.
func TestIncompleteWrites(t *testing.T) {
	incomplete := fmt.Errorf("a connection broke: %w", document.ErrIncomplete)
	for name, test := range map[string]struct {
		answers []error // of the store; afterwards it writes
		intrude string
		kind    fault.Kind
		puts    int64
	}{
		"completed":        {[]error{incomplete, errLost, fault.New(fault.Unavailable, "away")}, "", 0, 4},
		"overtaken":        {[]error{incomplete, document.ErrPartial}, "", fault.Uncertain, 2},
		"first overtaken":  {[]error{incomplete, document.ErrConflict}, "a", 0, 3},
		"second overtaken": {slices.Repeat([]error{incomplete, document.ErrConflict}, 5), "b", fault.Uncertain, 9},
	} {
		t.Run(name, func(t *testing.T) {
			store := newFaulty()
			store.put = func(_ context.Context, n int64, put func() error) error {
				if int(n) > len(test.answers) {
					return put()
				}
				if n == 1 && test.intrude != "" {
					store.intrude(t, test.intrude, `{"theirs":1}`)
				}
				return test.answers[n-1]
			}
			err := newService(store).EditAll(t.Context(), []document.Edit{edit(t, "a", `{"mine":1}`), edit(t, "b", `{"mine":1}`)})
			if err != nil || test.kind != 0 {
				wantKind(t, err, test.kind)
			}
			if n := store.puts.Load(); n != test.puts {
				t.Errorf("%d writes, want %d", n, test.puts)
			}
		})
	}
}

// While the store is unavailable no edit waits behind a write of unknown outcome.
func TestThoseWhoWaitAreRefusedWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		service, gate := held(t, store)
		behind := start(t.Context(), t, service, edit(t, "k", `{"second":true}`))
		synctest.Wait()
		asked := make(chan error)
		store.get = func(context.Context) error { return <-asked }
		gate <- errLost
		asked <- fault.New(fault.Unavailable, "away")
		wantKind(t, (<-behind).err, fault.Unavailable)
		asked <- nil // it is back, and has nothing
		gate <- nil
		synctest.Wait()
		store.get = func(context.Context) error { return nil }
		wantStored(t, store, "k", 1, `{"first":true}`)
	})
}

// While the store is busy reads and edits are refused before it is asked, but for
// what may have been stored already.
func TestBusyStore(t *testing.T) {
	store := newFaulty()
	var busy atomic.Bool
	service := document.NewService(store, newClock(), document.Options{Busy: func() error {
		if busy.Load() {
			return fault.New(fault.Unavailable, "busy")
		}
		return nil
	}})
	store.put = func(_ context.Context, n int64, put func() error) error {
		if n > 1 {
			return put()
		}
		busy.Store(true)
		return errLost
	}
	if _, err := service.Edit(t.Context(), edit(t, "k", `{"a":1}`)); err != nil {
		t.Errorf("a write whose answer was lost: %v", err)
	}
	puts := store.puts.Load()
	_, err := service.Get(t.Context(), "k")
	wantKind(t, err, fault.Unavailable)
	_, err = service.Edit(t.Context(), edit(t, "k", `{"a":2}`))
	wantKind(t, err, fault.Unavailable)
	wantKind(t, service.EditAll(t.Context(), []document.Edit{edit(t, "k", `{"a":3}`)}), fault.Unavailable)
	if store.puts.Load() != puts {
		t.Error("something was written while the store was busy")
	}
	wantStored(t, store, "k", 1, `{"a":1}`)
}
