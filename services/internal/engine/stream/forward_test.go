package stream_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ledger"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// slowLink is the way to an owner that gets requests only when the test delivers them.
type slowLink struct{ requests [][]byte }

func (l *slowLink) Owner(string) stream.Peer { return l }
func (*slowLink) Contenders(string) int      { return 0 }
func (*slowLink) ID() string                 { return "owner" }

func (l *slowLink) Send(_ context.Context, request []byte, _ func([]byte)) error {
	l.requests = append(l.requests, request)
	return errors.New("connection reset")
}

// A command that was refused after its request to the owner seemed lost is not accepted
// when that request arrives after all, although nothing forbids it any more.
func TestRefusedCommandWhoseRequestIsLate(t *testing.T) {
	store, link := storetest.NewMemory(), &slowLink{}
	owner := newEngine(store, stream.Options{})
	sender := newEngine(store, stream.Options{Peers: link})
	if _, err := owner.Do(t.Context(), testStream, ledger.Post{ID: 1, Amount: ledger.ViewerLimit, Who: "viewer-1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := sender.Do(t.Context(), testStream, ledger.Post{ID: 2, Amount: 1, Who: "viewer-1"}); !errors.Is(err, ledger.ErrLimit) {
		t.Errorf("got %v, want the limit", err)
	}
	if _, err := owner.Do(t.Context(), testStream, ledger.Post{ID: 3, Amount: 0}); err != nil {
		t.Fatal(err)
	}
	for _, request := range link.requests {
		if err := owner.Serve(t.Context(), request, func([]byte) {}); err != nil {
			t.Error(err)
		}
	}
	if n := sum(t, owner); len(link.requests) == 0 || n != 0 {
		t.Errorf("after %d late requests the sum is %d, want 0", len(link.requests), n)
	}
	mustClose(t, sender)
	mustClose(t, owner)
}

// settlingOwner is an owner that answers no request before it has settled what is unknown.
type settlingOwner struct{ slowLink }

func (o *settlingOwner) Owner(string) stream.Peer { return o }

func (*settlingOwner) Send(ctx context.Context, _ []byte, _ func([]byte)) error {
	select {
	case <-time.After(20 * time.Second):
	case <-ctx.Done():
	}
	return stream.ErrNotSent
}

// While a group waits at its owner for an outcome that is unknown, those behind it are
// refused, and so is a read that is with the owner itself.
func TestNobodyWaitsBehindAForwardedGroup(t *testing.T) {
	const limit = 8 * time.Second
	synctest.Test(t, func(t *testing.T) {
		engine := newEngine(storetest.NewMemory(), stream.Options{Peers: &settlingOwner{}})
		var calls sync.WaitGroup
		refused := func(what string, call func() error) {
			calls.Go(func() {
				start := time.Now()
				if err, took := call(), time.Since(start); fault.KindOf(err) != fault.Unavailable || took > limit {
					t.Errorf("%s: %v after %v", what, err, took)
				}
			})
		}
		read := func() error {
			_, err := engine.View(t.Context(), testStream, ledger.EntriesQuery)
			return err
		}
		refused("a read at the owner", read)
		calls.Wait()
		time.Sleep(time.Minute)

		calls.Go(func() {
			if _, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 1, Amount: 1}); err != nil {
				t.Errorf("the command at the owner, which has not run it: %v", err)
			}
		})
		time.Sleep(time.Second)
		refused("a read behind it", read)
		refused("a command behind it", func() error {
			_, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 2, Amount: 1})
			return err
		})
		calls.Wait()
		mustClose(t, engine)
	})
}

// lostOwner is an owner whose link is lost long after a request.
type lostOwner struct{ slowLink }

func (o *lostOwner) Owner(string) stream.Peer { return o }

func (*lostOwner) Send(context.Context, []byte, func([]byte)) error {
	time.Sleep(2 * time.Minute)
	return errors.New("connection reset")
}

// A caller learns within a time that the outcome of its command is unknown, however often what
// settles it has to wait.
func TestACallerDoesNotWaitForEachAttemptToSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory()
		engine := newEngine(store, stream.Options{Peers: &lostOwner{}})
		start := time.Now()
		_, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 1, Amount: 1})
		if took := time.Since(start); fault.KindOf(err) != fault.Uncertain || took > 40*time.Second {
			t.Errorf("%v after %v", err, took)
		}
		time.Sleep(2 * time.Minute)
		if n := sum(t, newEngine(store, stream.Options{})); n != 1 {
			t.Errorf("the sum is %d, and the command goes on without its caller", n)
		}
		mustClose(t, engine)
	})
}
