package stream_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ledger"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// ownerLink is the way to the owner of all streams. A request takes a time.
type ownerLink struct {
	owner    *ledger.Engine
	takes    time.Duration
	requests atomic.Int64
}

func (l *ownerLink) Owner(string) stream.Peer { return l }
func (*ownerLink) Contenders(string) int      { return 0 }
func (*ownerLink) ID() string                 { return "owner" }

func (l *ownerLink) Send(ctx context.Context, request []byte, receive func(part []byte)) error {
	l.requests.Add(1)
	<-time.After(l.takes)
	return l.owner.Serve(ctx, request, receive)
}

// Calls of many streams share requests to the owner of the streams, and wait for a part of
// one before them at most.
func TestCallsOfManyStreamsShareRequests(t *testing.T) {
	const streams, each, takes = 60, 40, 10 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		owner := newEngine(storetest.NewMemory(), stream.Options{})
		link := &ownerLink{owner: owner, takes: takes}
		sender := newEngine(storetest.NewMemory(), stream.Options{Peers: link})
		start := time.Now()
		var callers sync.WaitGroup
		for i := range streams {
			callers.Go(func() {
				for n := range each {
					if _, err := sender.Do(t.Context(), fmt.Sprint(testStream, i), ledger.Post{ID: uint64(i*each + n + 1), Amount: 1}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		callers.Wait()
		// A request and its answer take 10 ms, the pace of commits a millisecond.
		if mean := time.Since(start) / each; mean > takes*3/2 {
			t.Errorf("a call takes %v, and a request %v", mean, takes)
		}
		if n := link.requests.Load(); n > streams*each/15 {
			t.Errorf("%d requests for %d calls", n, streams*each)
		}
		mustClose(t, sender)
		mustClose(t, owner)
	})
}

// A stream whose owner does not get on with it holds the calls of its own request back, and
// none that come later.
func TestSlowStreamHoldsOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owner := newEngine(&stallingStore{Memory: storetest.NewMemory(), stalls: isTestStream}, stream.Options{})
		link := &ownerLink{owner: owner, takes: time.Millisecond}
		sender := newEngine(storetest.NewMemory(), stream.Options{Peers: link})
		var callers sync.WaitGroup
		for i := range 5 {
			callers.Go(func() {
				if _, err := sender.Do(t.Context(), testStream, ledger.Post{ID: uint64(1 + i), Amount: 1}); err != nil {
					t.Error(err)
				}
			})
			<-time.After(5 * time.Millisecond)
		}
		for i := range 50 {
			start := time.Now()
			if _, err := sender.Do(t.Context(), fmt.Sprint(testStream, i), ledger.Post{ID: uint64(100 + i), Amount: 1}); err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took > 50*time.Millisecond {
				t.Errorf("a call of another stream takes %v", took)
			}
		}
		callers.Wait()
		mustClose(t, sender)
		mustClose(t, owner)
	})
}

// A stream whose append takes long does not hold up another one in the same request.
func TestSlowStreamHoldsNoneOfItsRequest(t *testing.T) {
	const takes = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		owner := newEngine(&stallingStore{Memory: storetest.NewMemory(), stalls: isTestStream}, stream.Options{})
		link := &ownerLink{owner: owner, takes: takes}
		sender := newEngine(storetest.NewMemory(), stream.Options{Peers: link})
		var id atomic.Uint64
		post := func(stream string) (took time.Duration) {
			start := time.Now()
			if _, err := sender.Do(t.Context(), stream, ledger.Post{ID: id.Add(1), Amount: 1}); err != nil {
				t.Error(err)
			}
			return time.Since(start)
		}
		var callers sync.WaitGroup
		callers.Go(func() { post("first") })
		synctest.Wait() // it is under way, and what comes now waits for the next request
		callers.Go(func() { post(testStream) })
		callers.Go(func() {
			if took := post("beside"); took > 100*takes {
				t.Errorf("a call beside one of a slow stream takes %v", took)
			}
			if n := link.requests.Load(); n != 2 {
				t.Errorf("%d requests, want both in the second", n)
			}
		})
		callers.Wait()
		mustClose(t, sender)
		mustClose(t, owner)
	})
}

// Requests that hold streams only whose appends take long do not hold up those of other
// streams, however many there are.
func TestHungStreamsHoldNoOthers(t *testing.T) {
	const hung = 60
	synctest.Test(t, func(t *testing.T) {
		owner := newEngine(&stallingStore{Memory: storetest.NewMemory(), stalls: func(name string) bool { return strings.HasPrefix(name, "hung") }}, stream.Options{})
		link := &ownerLink{owner: owner, takes: time.Millisecond}
		sender := newEngine(storetest.NewMemory(), stream.Options{Peers: link})
		var id atomic.Uint64
		post := func(stream string) {
			if _, err := sender.Do(t.Context(), stream, ledger.Post{ID: id.Add(1), Amount: 1}); err != nil {
				t.Error(err)
			}
		}
		var callers sync.WaitGroup
		for i := range hung {
			callers.Go(func() { post(fmt.Sprint("hung", i)) })
			<-time.After(6 * time.Millisecond) // so that each has a request of its own
		}
		for i := range 20 {
			start := time.Now()
			post(fmt.Sprint(testStream, i))
			if took := time.Since(start); took > 200*time.Millisecond {
				t.Errorf("a call of another stream takes %v", took)
			}
		}
		callers.Wait()
		mustClose(t, sender)
		mustClose(t, owner)
	})
}

func isTestStream(name string) bool { return name == testStream }

// stallingStore takes long to append to some streams, though not longer than calls wait.
type stallingStore struct {
	*storetest.Memory
	stalls func(name string) bool
}

func (s *stallingStore) Append(ctx context.Context, chunk stream.Chunk) error {
	if s.stalls(chunk.Stream) {
		<-time.After(5 * time.Second)
	}
	return s.Memory.Append(ctx, chunk)
}
