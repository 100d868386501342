package document_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// held returns a service whose first write of document "k" is under way, and
// what lets every write go on, one at a time.
func held(t *testing.T, store *faulty) (*document.Service, chan<- error) {
	t.Helper()
	gate := make(chan error)
	put := store.put
	store.put = func(ctx context.Context, n int64, real func() error) error {
		if err := <-gate; err != nil {
			return err
		}
		return put(ctx, n, real)
	}
	service := newService(store)
	start(t.Context(), t, service, edit(t, "k", `{"first":true}`))
	synctest.Wait()
	return service, gate
}

func TestEditsThatWaitBecomeOneVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		service, gate := held(t, store)
		var waiting []<-chan outcome
		for i := range 100 {
			waiting = append(waiting, start(t.Context(), t, service, edit(t, "k", member(i))))
		}
		synctest.Wait()
		gate <- nil
		gate <- nil
		last := 0
		for _, w := range waiting {
			got := <-w
			if got.err != nil {
				t.Error(got.err)
			}
			if got.Version == 2 {
				last++
			}
		}
		if last != 1 {
			t.Errorf("%d edits say that they made version 2, want the last alone", last)
		}
		if n := store.puts.Load(); n != 2 {
			t.Errorf("%d writes, want 2", n)
		}
	})
}

func TestEveryEditOfABatchHasItsOwnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		service, gate := held(t, store)
		var waiting []<-chan outcome
		queue := func(e document.Edit) {
			waiting = append(waiting, start(t.Context(), t, service, e))
			synctest.Wait() // so that they are decided in this order
		}
		one, two := uint64(1), uint64(2)
		queue(document.Edit{Key: "k", Change: mustParse(t, `{}`), Match: &one})
		queue(document.Edit{Key: "k", Change: mustParse(t, `[{"op":"test","path":"/a","value":1}]`)})
		queue(document.Edit{Key: "k", Change: mustParse(t, `{"a":1}`), Match: &one})
		queue(document.Edit{Key: "k", Change: mustParse(t, `{"a":2}`), Match: &one})
		queue(document.Edit{Key: "k", Change: mustParse(t, `[{"op":"test","path":"/a","value":1},{"op":"add","path":"/b","value":2}]`)})
		queue(document.Edit{Key: "k", Change: mustParse(t, `{"c":"too large"}`), MaxBytes: 20})
		queue(document.Edit{Key: "k", Change: mustParse(t, `{"b":2}`), Match: &two})
		gate <- nil
		gate <- nil

		wantOutcome(t, <-waiting[0], 1, `{"first":true}`)
		wantKind(t, (<-waiting[1]).err, fault.Invalid)
		wantOutcome(t, <-waiting[2], 0, `{"a":1,"first":true}`)
		wantKind(t, (<-waiting[3]).err, fault.Mismatch)
		wantOutcome(t, <-waiting[4], 2, `{"a":1,"b":2,"first":true}`)
		wantKind(t, (<-waiting[5]).err, fault.TooLarge)
		wantOutcome(t, <-waiting[6], 2, `{"a":1,"b":2,"first":true}`)
		wantStored(t, store, "k", 2, `{"a":1,"b":2,"first":true}`)
	})
}

// A refusal that rests on other edits is answered only once those are durable.
func TestRefusalWaitsForWhatItRestsOn(t *testing.T) {
	for name, test := range map[string]struct {
		failure           error
		accepted, refused fault.Kind
	}{
		"stored":     {nil, 0, fault.Invalid},
		"not stored": {fault.New(fault.Storage, "disk full"), fault.Storage, fault.Storage},
		"unknown":    {errLost, fault.Uncertain, fault.Storage},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newFaulty()
				service, gate := held(t, store)
				accepted := start(t.Context(), t, service, edit(t, "k", `{"a":1}`))
				synctest.Wait()
				refused := start(t.Context(), t, service, edit(t, "k", `[{"op":"test","path":"/a","value":2}]`))
				synctest.Wait()
				gate <- nil
				synctest.Wait()
				if len(refused) > 0 {
					t.Error("refused before the write it rests on")
				}
				store.get = func(context.Context) error { return test.failure } // cannot be settled
				gate <- test.failure
				if got := <-accepted; test.failure != nil {
					wantKind(t, got.err, test.accepted)
				} else {
					wantOutcome(t, got, 2, `{"a":1,"first":true}`)
				}
				wantKind(t, (<-refused).err, test.refused)
			})
		})
	}
}

func TestEditThatChangesNothingIsNotWritten(t *testing.T) {
	store := newFaulty()
	service := newService(store)
	for _, change := range []string{`{}`, `{}`, `[]`, `{"a":null}`} {
		got, err := service.Edit(t.Context(), edit(t, "k", change))
		wantOutcome(t, outcome{got, err}, 1, `{}`)
	}
	if n := store.puts.Load(); n != 1 {
		t.Errorf("%d writes, want that of the first version", n)
	}
}

func TestMatch(t *testing.T) {
	service := newService(newFaulty())
	for _, step := range []struct{ match, version uint64 }{{0, 1}, {1, 2}, {0, 0}, {1, 0}, {2, 3}, {4, 0}} {
		got, err := service.Edit(t.Context(), document.Edit{
			Key: "k", Change: mustParse(t, member(int(step.match))), Match: &step.match,
		})
		if step.version == 0 {
			wantKind(t, err, fault.Mismatch)
		} else if err != nil || got.Version != step.version {
			t.Errorf("match %d: version %d, error %v, want version %d", step.match, got.Version, err, step.version)
		}
	}
}

func TestLimitIsThatOfTheEdit(t *testing.T) {
	service := newService(newFaulty())
	large := mustParse(t, `{"a":"`+string(make64KiB())+`"}`)
	_, err := service.Edit(t.Context(), document.Edit{Key: "k", Change: large})
	wantKind(t, err, fault.TooLarge)
	got, err := service.Edit(t.Context(), document.Edit{Key: "k", Change: large, MaxBytes: document.DefaultMaxBytes + 8})
	if err != nil || len(got.Body) != document.DefaultMaxBytes+8 {
		t.Errorf("%d bytes, error %v", len(got.Body), err)
	}
}

func make64KiB() []byte {
	text := make([]byte, document.DefaultMaxBytes)
	for i := range text {
		text[i] = 'x'
	}
	return text
}

func TestOtherDocumentsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		gate := make(chan struct{})
		store.put = func(_ context.Context, n int64, put func() error) error {
			if n == 1 {
				<-gate
			}
			return put()
		}
		service := newService(store)
		slow := start(t.Context(), t, service, edit(t, "slow", `{}`))
		synctest.Wait()
		if _, err := service.Edit(t.Context(), edit(t, "fast", `{}`)); err != nil {
			t.Error(err)
		}
		close(gate)
		wantOutcome(t, <-slow, 1, `{}`)
	})
}
