package document_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

var errLost = errors.New("connection lost")

// faulty is a store whose every Put goes through a hook, which may do anything
// instead of, before or after calling the real one.
type faulty struct {
	*storetest.Memory
	puts atomic.Int64
	get  func(ctx context.Context) error
	put  func(ctx context.Context, n int64, put func() error) error
}

func newFaulty() *faulty {
	return &faulty{
		Memory: storetest.NewMemory(),
		get:    func(context.Context) error { return nil },
		put:    func(_ context.Context, _ int64, put func() error) error { return put() },
	}
}

func (f *faulty) Get(ctx context.Context, keys ...string) ([]document.Document, error) {
	if err := f.get(ctx); err != nil {
		return nil, err
	}
	return f.Memory.Get(ctx, keys...)
}

// Put numbers the calls from 1.
func (f *faulty) Put(ctx context.Context, writes ...document.Write) error {
	return f.put(ctx, f.puts.Add(1), func() error { return f.Memory.Put(ctx, writes...) })
}

// intrude replaces a document as another process would.
func (f *faulty) intrude(t *testing.T, key, body string) {
	t.Helper()
	current, err := f.Memory.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	other := document.WriteID{1: byte(current[0].Version + 1)}
	write := document.Write{Key: key, Expect: current[0].Version, ID: other, Body: []byte(body)}
	if err := f.Memory.Put(t.Context(), write); err != nil {
		t.Fatal(err)
	}
}

func newService(store document.Store) *document.Service {
	return document.NewService(store, newClock(), document.Options{})
}

func mustParse(t testing.TB, change string) document.Change {
	t.Helper()
	parsed, err := document.ParseChange([]byte(change))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// outcome holds the results of Edit.
type outcome struct {
	document.Document
	err error
}

// start runs an edit of document "k" in a goroutine.
func start(ctx context.Context, t *testing.T, service *document.Service, edit document.Edit) <-chan outcome {
	t.Helper()
	done := make(chan outcome, 1)
	go func() {
		made, err := service.Edit(ctx, edit)
		done <- outcome{made, err}
	}()
	return done
}

func edit(t testing.TB, key, change string) document.Edit {
	t.Helper()
	return document.Edit{Key: key, Change: mustParse(t, change)}
}

func wantStored(t *testing.T, store document.Store, key string, version uint64, body string) {
	t.Helper()
	found, err := store.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if found[0].Version != version || string(found[0].Body) != body {
		t.Errorf("%s is version %d, %s; want version %d, %s", key, found[0].Version, found[0].Body, version, body)
	}
}

func wantOutcome(t *testing.T, got outcome, version uint64, body string) {
	t.Helper()
	if got.err != nil || got.Version != version || string(got.Body) != body {
		t.Errorf("answered version %d, %s, error %v; want version %d, %s", got.Version, got.Body, got.err, version, body)
	}
}

func member(i int) string { return fmt.Sprintf(`{"m%d":%d}`, i, i) }
