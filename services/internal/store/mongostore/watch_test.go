package mongostore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/faultproxy"
	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// watcher records the calls of a Watch.
type watcher struct {
	t       *testing.T
	touched chan string // name and place
	told    chan error  // whether it is watching
	ended   chan error  // what Watch returned
	stop    context.CancelFunc
}

// mustWatch has a store watched until the test ends.
func mustWatch(t *testing.T, s *Store) *watcher {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &watcher{t: t, touched: make(chan string, 10_000), told: make(chan error, 100), ended: make(chan error, 1), stop: cancel}
	var running sync.WaitGroup
	running.Go(func() {
		w.ended <- s.Watch(ctx, func(name string, place uint64) {
			w.touched <- fmt.Sprint(name, " ", place)
		}, func(err error) { w.told <- err })
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return w
}

// watching waits until Watch reports that it watches.
func (w *watcher) watching() {
	w.t.Helper()
	for {
		select {
		case err := <-w.told:
			if err == nil {
				return
			}
		case err := <-w.ended:
			w.t.Fatalf("the watch has ended: %v", err)
		}
	}
}

// until waits for a place and returns all places reported before.
func (w *watcher) until(last string) (before []string) {
	w.t.Helper()
	for {
		select {
		case touched := <-w.touched:
			if touched == last {
				return before
			}
			before = append(before, touched)
		case err := <-w.ended:
			w.t.Fatalf("the watch has ended: %v", err)
		}
	}
}

func mustAppend(t *testing.T, s *Store, name string, seq uint64) {
	t.Helper()
	if err := s.Append(t.Context(), stream.Chunk{Stream: name, Seq: seq, Payload: []byte("p")}); err != nil {
		t.Fatal(err)
	}
}

// played returns a store over change streams that are played, one of another process
// and what plays them. The store's commands go through a proxy.
func played(t *testing.T) (s, other *Store, streams *mongotest.ChangeStreams, proxy *faultproxy.Proxy) {
	t.Helper()
	streams, uri := mongotest.WithChangeStreams(t, mongotest.StartServer(t, t.TempDir()))
	other = mustOpen(t, uri)
	t.Cleanup(func() { mustClose(t, other) })
	proxy, uri = mongotest.StartProxy(t, uri)
	s = mustOpen(t, uri)
	t.Cleanup(func() { mustClose(t, s) })
	return s, other, streams, proxy
}

// Inserts of any process are reported, and nothing else. Of several chunks of a
// stream the last may stand for all. A real server is asked where there is one: a
// replica set or a sharded cluster must have change streams.
func TestWatch(t *testing.T) {
	t.Parallel()
	uri := mongotest.WithLongTimeouts(mongotest.Start(t))
	if os.Getenv(mongotest.ServerVariable) == "" {
		_, uri = mongotest.WithChangeStreams(t, uri)
	}
	wantWatched(t, uri)
}

// On a replica set the events are those of the committed log, and a watch goes on over
// elections.
func TestWatchOnReplicaSet(t *testing.T) {
	t.Parallel()
	set := mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{})
	uri := mongotest.WithLongTimeouts(set.URI())
	wantWatched(t, uri)
	s := mustOpen(t, uri)
	t.Cleanup(func() { mustClose(t, s) })
	w := mustWatch(t, s)
	w.watching()
	for seq := range uint64(4) {
		appendOverElection(t, s, "poll/elections", seq+1)
		w.until(fmt.Sprint("poll/elections ", seq+1))
		if seq%2 == 0 {
			set.StepDown()
			continue
		}
		primary := set.Primary()
		set.Kill(primary)
		for !set.Elect((primary + 1) % 3) {
		}
		set.Restart(primary)
	}
	appendOverElection(t, s, "poll/elections", 9)
	w.until("poll/elections 9")
}

// appendOverElection appends until the chunk is stored: during an election the outcome of
// an attempt may be unknown.
func appendOverElection(t *testing.T, s *Store, name string, seq uint64) {
	t.Helper()
	err := errors.New("not tried")
	for err != nil && !errors.Is(err, stream.ErrConflict) && t.Context().Err() == nil {
		err = s.Append(t.Context(), stream.Chunk{Stream: name, Seq: seq, Payload: []byte("p")})
	}
}

func wantWatched(t *testing.T, uri string) {
	t.Helper()
	s, other := mustOpen(t, uri), mustOpen(t, uri)
	t.Cleanup(func() { mustClose(t, s); mustClose(t, other) })
	mustAppend(t, other, "poll/before", 1)
	w := mustWatch(t, s)
	if !s.transactions {
		if err := <-w.ended; err == nil {
			t.Error("a server on its own has change streams")
		}
		return
	}
	w.watching()
	if err := other.SaveSnapshot(t.Context(), "poll/a", stream.Snapshot{State: []byte("state")}); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, other, "poll/a", 1)
	if before := w.until("poll/a 1"); len(before) > 0 {
		t.Errorf("told of %q", before)
	}
	mustPut(t, other, "state/d", 0, 3)
	w.until("state/d 3")
	for seq := range uint64(30) {
		mustAppend(t, s, "poll/own", seq+1)
	}
	for _, place := range w.until("poll/own 30") {
		if !strings.HasPrefix(place, "poll/own ") {
			t.Errorf("told of %s", place)
		}
	}
	w.stop()
	if err := <-w.ended; err != nil {
		t.Errorf("at the end: %v", err)
	}
}

// A server that has no change streams says so at once, or when it is asked.
func TestWatchIsRefused(t *testing.T) {
	t.Parallel()
	t.Run("neither replicated nor sharded", func(t *testing.T) {
		s := mustOpen(t, mongotest.StartServer(t, t.TempDir()))
		t.Cleanup(func() { mustClose(t, s) })
		if err := <-mustWatch(t, s).ended; err == nil || !strings.Contains(err.Error(), "replica set") {
			t.Errorf("got %v", err)
		}
		s.transactions = true // as if it had not said so
		if err := <-mustWatch(t, s).ended; err == nil {
			t.Error("the MongoDB-wire server has opened a change stream")
		} else {
			t.Log(err)
		}
	})
	for _, code := range []int32{13, 238, 40573} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			s, _, streams, _ := played(t)
			streams.RefuseStreams(code)
			if err := <-mustWatch(t, s).ended; err == nil || !strings.Contains(err.Error(), "refused") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// After any break, the inserts meanwhile are reported, from the last position of
// the stream.
func TestWatchGoesOn(t *testing.T) {
	t.Parallel()
	lose := func(times int64, command string, fault faultproxy.Fault) faultproxy.Plan {
		var lost atomic.Int64
		return func(name string) faultproxy.Action {
			if name != command || lost.Add(1) > times {
				return faultproxy.Action{}
			}
			return faultproxy.Action{Fault: fault}
		}
	}
	for name, harm := range map[string]func(*watcher, *faultproxy.Proxy){
		"a connection breaks": func(_ *watcher, p *faultproxy.Proxy) { p.ResetConnections() },
		"for longer than the driver tries": func(w *watcher, p *faultproxy.Proxy) {
			p.Inject(lose(math.MaxInt64, "aggregate", faultproxy.LoseRequest))
			p.ResetConnections()
			for err := range w.told {
				if err != nil {
					break
				}
			}
			p.Inject(nil)
		},
		"answers are lost": func(w *watcher, p *faultproxy.Proxy) {
			p.Inject(lose(1, "getMore", faultproxy.LoseReply))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, other, streams, proxy := played(t)
			w := mustWatch(t, s)
			w.watching()
			mustAppend(t, other, "poll/a", 1)
			w.until("poll/a 1")
			mustAppend(t, other, "poll/b", 1)
			harm(w, proxy)
			// The answer under way when the harm began may have escaped it.
			for seq := uint64(2); seq == 2 || len(streams.Openings()) < 2; seq++ {
				mustAppend(t, other, "poll/b", seq)
				w.until(fmt.Sprint("poll/b ", seq))
			}
			if openings := streams.Openings(); slices.Contains(openings[1:], -1) {
				t.Errorf("streams were opened at %d: all but the first go on", openings)
			}
		})
	}
}

// The driver reports failures of its own as errors of a command, too: they say nothing
// about the token.
func TestTokenAfterErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		kept bool
	}{
		"no server":           {errors.New("no server is known"), true},
		"a broken connection": {mongo.CommandError{Labels: []string{"NetworkError"}}, true},
		"a cleared pool":      {mongo.CommandError{Message: "connection pool was cleared", Labels: []string{"TransientTransactionError"}}, true},
		"a failover":          {mongo.CommandError{Code: 10107, Labels: []string{"ResumableChangeStreamError"}}, true},
		"lost history":        {mongo.CommandError{Code: 286, Labels: []string{"NonResumableChangeStreamError"}}, false},
		"the end":             {errEnded, false},
	} {
		w := changeWatcher{token: bson.Raw{1}}
		_ = w.resetToken(c.err)
		if kept := w.token != nil; kept != c.kept {
			t.Errorf("after %s the token is kept: %t, want %t", name, kept, c.kept)
		}
	}
}

// When the server has lost the events after a token, the watch starts again and
// reports that events may have been missed.
func TestWatchBeginsAnew(t *testing.T) {
	t.Parallel()
	s, other, streams, _ := played(t)
	w := mustWatch(t, s)
	w.watching()
	mustAppend(t, other, "poll/a", 1)
	w.until("poll/a 1")
	streams.LoseHistory()
	if err := <-w.told; err == nil || !strings.Contains(err.Error(), "286") && !strings.Contains(err.Error(), "too old") {
		t.Errorf("told of %v", err)
	}
	w.watching()
	mustAppend(t, other, "poll/b", 1)
	w.until("poll/b 1")
	if openings := streams.Openings(); openings[len(openings)-1] != -1 {
		t.Errorf("streams were opened at %d", openings)
	}
}
