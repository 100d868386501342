package boltstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
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
		err := s.writer.submit(t.Context(), change{apply: func(*bbolt.Tx) error {
			close(began)
			<-end
			return nil
		}})
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
	limits := defaultLimits()
	limits.queue = 2
	s := newHarness(t, limits)
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
	for len(s.writer.requests) < limits.queue { // two wait for their turn, the others for a place
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
	s := mustOpen(t, dir, defaultLimits())
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
	s = mustOpen(t, dir, defaultLimits())
	defer mustClose(t, s)
	for i := range writers {
		want := uint64(0)
		if stored[i].Load() {
			want = 1
		}
		wantStream(t, s, fmt.Sprint(i), want)
	}
}

// batchOf has several operations carried out in one commit and returns what
// became of each.
func batchOf(t *testing.T, s *Store, operations ...operation) []error {
	t.Helper()
	release := hold(t, s)
	requests := make([]*request, len(operations))
	for i, o := range operations {
		requests[i] = &request{operation: o, answer: make(chan error, 1)}
		if err := s.writer.enqueue(t.Context(), requests[i]); err != nil {
			t.Fatal(err)
		}
	}
	before := s.Stats().Commits
	release()
	errs := make([]error, len(requests))
	for i, r := range requests {
		errs[i] = <-r.answer
	}
	if commits := s.Stats().Commits - before; commits > 2 {
		t.Fatalf("%d commits, want one besides that which held the writer", commits)
	}
	return errs
}

// TestBatchDecidesInOrder: of what contradicts in one batch, the first is done.
func TestBatchDecidesInOrder(t *testing.T) {
	s := newHarness(t, defaultLimits())
	insert := func(seq uint64) operation {
		chunk := newChunk("s", seq)
		key, record := encodeChunk(&chunk)
		return insertion{key, record}
	}
	replace := func(writes ...document.Write) (r replacement) {
		for i := range writes {
			key, record := encodeDocument(&writes[i])
			r = append(r, entry{key, record})
		}
		return r
	}
	errs := batchOf(t, s.Store,
		insert(1), insert(1), insert(2),
		replace(newWrite("a", 1)), replace(newWrite("b", 1), newWrite("a", 1)), replace(newWrite("a", 2), newWrite("b", 1)),
	)
	for i, want := range []error{nil, stream.ErrConflict, nil, nil, document.ErrConflict, nil} {
		if !errors.Is(errs[i], want) {
			t.Errorf("operation %d: %v, want %v", i, errs[i], want)
		}
	}
	s.Reopen(t)
	wantStream(t, s.Store, "s", 2)
	wantDocument(t, s.Store, "a", 2)
	wantDocument(t, s.Store, "b", 1)
}

// TestFailedWriteEndsTheStore: when a write fails for any reason but a lack of
// space its outcome is unknown, and nothing is done until the store is opened
// again.
func TestFailedWriteEndsTheStore(t *testing.T) {
	s := mustOpen(t, t.TempDir(), defaultLimits())
	appendChunks(t, s, "s", 1, 3)
	putVersions(t, s, "d", 1, 1)
	stored := imageOf(t, s)
	if err := s.Err(); err != nil {
		t.Errorf("Err is %v before anything failed", err)
	}
	if err := s.writer.journal.file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), newChunk("s", 4)); fault.KindOf(err) != fault.Uncertain {
		t.Errorf("failed append: %v, want one of kind Uncertain", err)
	}
	for _, err := range append(attemptEverything(t.Context(), s), s.Err()) {
		if fault.KindOf(err) != fault.Storage || !strings.Contains(err.Error(), "started again") {
			t.Errorf("afterwards: %v, want one of kind Storage that says what to do", err)
		}
	}
	_ = s.Close() // of a file that is closed already
	s = mustOpen(t, stored.write(t), defaultLimits())
	defer mustClose(t, s)
	wantStream(t, s, "s", 3)
	wantDocument(t, s, "d", 1)
}

// TestNamesAreChecked: a name that could be mistaken for part of a key is
// refused.
func TestNamesAreChecked(t *testing.T) {
	s := newHarness(t, defaultLimits())
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
