package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

func wantUnavailable(t *testing.T, err error) {
	t.Helper()
	if fault.KindOf(err) != fault.Unavailable {
		t.Errorf("error is %v, want one of kind Unavailable", err)
	}
}

// hold occupies the writer until release is called.
func hold(t *testing.T, s *Store) (release func()) {
	t.Helper()
	began, end := make(chan struct{}), make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		err := s.submit(t.Context(), func(*writeBatch) error {
			close(began)
			<-end
			return nil
		})
		if err != nil {
			t.Errorf("holding the writer: %v", err)
		}
	})
	<-began
	return func() { close(end); ended.Wait() }
}

// TestWithdrawal cancels writes that wait for their turn, more than the queue
// holds: none is stored.
func TestWithdrawal(t *testing.T) {
	c := defaultConfig()
	c.queue = 3 // one of them holds the writer
	s := newHarness(t, c)
	release := hold(t, s.Store)
	ctx, cancel := context.WithCancel(t.Context())
	var writes sync.WaitGroup
	for i := range 6 {
		writes.Go(func() {
			err := s.Append(ctx, newChunk(fmt.Sprint(i), 1))
			wantUnavailable(t, err)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error is %v, want it to wrap context.Canceled", err)
			}
		})
	}
	for s.queue.Len() < c.queue-1 { // two wait for their turn, the others for a place
		runtime.Gosched()
	}
	cancel()
	writes.Wait()
	release()
	for i := range 6 {
		wantStream(t, s.Store, fmt.Sprint(i), 0)
		appendChunks(t, s.Store, fmt.Sprint(i), 1, 1)
	}
}

// TestCloseAnswersWhoWaits closes a store while writes wait: what is answered
// with success is stored, and everything is answered.
func TestCloseAnswersWhoWaits(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, defaultConfig())
	release := hold(t, s)
	const writers = 50
	var stored [writers]atomic.Bool
	var writes sync.WaitGroup
	for i := range writers {
		writes.Go(func() {
			err := s.Append(t.Context(), newChunk(fmt.Sprint(i), 1))
			if err != nil {
				wantUnavailable(t, err)
			}
			stored[i].Store(err == nil)
		})
	}
	var closing sync.WaitGroup
	closing.Go(func() { mustClose(t, s) })
	release()
	writes.Wait()
	closing.Wait()
	s = mustOpen(t, dir, defaultConfig())
	defer mustClose(t, s)
	for i := range writers {
		want := uint64(0)
		if stored[i].Load() {
			want = 1
		}
		wantStream(t, s, fmt.Sprint(i), want)
	}
}

// TestBatchDecidesInOrder: of what contradicts in one batch, the first is done.
func TestBatchDecidesInOrder(t *testing.T) {
	s := newHarness(t, defaultConfig())
	ctx := t.Context()
	insert := func(seq uint64) func() error { return func() error { return s.Append(ctx, newChunk("s", seq)) } }
	replace := func(writes ...document.Write) func() error { return func() error { return s.Put(ctx, writes...) } }
	writes := []func() error{
		insert(1), insert(1), insert(2),
		replace(newWrite("a", 1)), replace(newWrite("b", 1), newWrite("a", 1)), replace(newWrite("a", 2), newWrite("b", 1)),
		func() error { return s.Delete(ctx, "a") }, replace(newWrite("a", 1)),
	}
	release := hold(t, s.Store)
	before := s.commits
	errs := make([]error, len(writes))
	var all sync.WaitGroup
	for i, write := range writes {
		all.Go(func() { errs[i] = write() })
		for s.queue.Len() <= i {
			runtime.Gosched()
		}
	}
	release()
	all.Wait()
	if commits := s.commits - before; commits != 1 {
		t.Errorf("%d commits, want one", commits)
	}
	for i, want := range []error{nil, stream.ErrConflict, nil, nil, document.ErrConflict, nil, nil, nil} {
		if !errors.Is(errs[i], want) {
			t.Errorf("write %d: %v, want %v", i, errs[i], want)
		}
	}
	s.Reopen(t)
	wantStream(t, s.Store, "s", 2)
	wantDocument(t, s.Store, "a", 1)
	wantDocument(t, s.Store, "b", 1)
}

// TestNamesAreChecked: a name that could be mistaken for part of a key is
// refused.
func TestNamesAreChecked(t *testing.T) {
	s := newHarness(t, defaultConfig())
	for _, name := range []string{"", "a\x00b", strings.Repeat("x", longestName+1)} {
		_, getErr := s.Get(t.Context(), name)
		for _, err := range []error{
			getErr,
			s.Append(t.Context(), stream.Chunk{Stream: name, Seq: 1}),
			s.Put(t.Context(), document.Write{Key: name}),
			s.SaveSnapshot(t.Context(), name, stream.Snapshot{}),
		} {
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("name of %d bytes: %v, want one of kind Invalid", len(name), err)
			}
		}
	}
	longest := strings.Repeat("x", longestName)
	appendChunks(t, s.Store, longest, 1, 2)
	s.Reopen(t)
	wantStream(t, s.Store, longest, 2)
}

// TestRecentDocuments: what is remembered of documents has a bound, and reads are right
// whether a document is remembered or not.
func TestRecentDocuments(t *testing.T) {
	s := newHarness(t, memoryConfig(vfs.NewMem()))
	const documents, size = 40, recentBytes / 30
	body := func(n, version int) []byte { return bytes.Repeat([]byte{byte(n), byte(version)}, size/2) }
	for version := 1; version <= 3; version++ {
		for n := range documents {
			write := document.Write{Key: fmt.Sprint("document-", n), Expect: uint64(version - 1), Body: body(n, version)}
			if err := s.Put(t.Context(), write); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Delete(t.Context(), "document-39"); err != nil {
			t.Fatal(err)
		}
		for n := range documents {
			found, err := s.Get(t.Context(), fmt.Sprint("document-", n))
			if err != nil {
				t.Fatal(err)
			}
			want := document.Document{Version: uint64(version), Body: body(n, version)}
			if n == 39 {
				want = document.Document{}
			}
			if found[0].Version != want.Version || !bytes.Equal(found[0].Body, want.Body) {
				t.Errorf("document %d has version %d, want %d", n, found[0].Version, want.Version)
			}
		}
		if r := s.recent; r.bytes > recentBytes || r.bytes < recentBytes*8/10 || r.byKey.Len() > 30 {
			t.Errorf("%d documents of %d bytes are remembered, want at most %d bytes", r.byKey.Len(), r.bytes, recentBytes)
		}
		for v := range version {
			if err := s.Put(t.Context(), document.Write{Key: "document-39", Expect: uint64(v), Body: body(39, v)}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
