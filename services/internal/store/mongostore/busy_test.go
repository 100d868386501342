package mongostore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/faultproxy"
	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

func TestWait(t *testing.T) {
	const ms = int64(time.Millisecond)
	for name, test := range map[string]struct {
		connections, waiting, took int64
		began, answered            int64 // ago
		want                       time.Duration
	}{
		"nobody waits":                           {100, 0, 5000 * ms, 0, 0, 0},
		"as many connections as anybody wants":   {0, 1000, 5000 * ms, 0, 0, 0},
		"many, before a fast database":           {100, 1000, 2 * ms, 0, 0, 20 * time.Millisecond},
		"a few, before a slow one":               {100, 50, 1500 * ms, 0, 0, 750 * time.Millisecond},
		"many, before a slow one":                {100, 200, 1500 * ms, 0, 0, 3 * time.Second},
		"nothing is answered any more":           {100, 200, 2 * ms, 3000 * ms, 3000 * ms, 6 * time.Second},
		"the first after a long while":           {100, 1, 2 * ms, 0, 3600_000 * ms, 20 * time.Microsecond},
		"somebody always waits, all is answered": {100, 100, 2 * ms, 3600_000 * ms, 0, 2 * time.Millisecond},
	} {
		now := time.Unix(1e9, 0)
		q := &connectionQueue{connections: test.connections}
		q.waiting.Store(test.waiting)
		q.took.Store(test.took)
		q.began.Store(now.UnixNano() - test.began)
		q.answered.Store(now.UnixNano() - test.answered)
		if got := q.expectedWait(now); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// Chunks that wait while inserts take their time tell how long another would wait.
// Those that have waited too long are taken back, and never inserted.
func TestChunksWaitForInserts(t *testing.T) {
	const second, together = time.Second, insertsSideBySide * chunksAtOnce
	synctest.Test(t, func(t *testing.T) {
		var inserted atomic.Int64
		let := make(chan struct{}, 1)
		a := newInsertQueue(2*second, func(_ context.Context, records []*chunkRecord) error {
			<-let
			inserted.Add(int64(len(records)))
			return nil
		})
		a.pace.Most = 1
		pass := func(d time.Duration) { <-time.After(d) }
		want := func(chunks int, wait time.Duration) {
			t.Helper()
			synctest.Wait()
			if n, w := a.expectedWait(time.Now()); n != chunks || w != wait {
				t.Errorf("%d chunks wait, one more would for %v; want %d and %v", n, w, chunks, wait)
			}
		}
		heard := make(chan error, 10*together)
		push := func(n int) {
			for range n {
				go func() { heard <- a.insertRecord(t.Context(), &chunkRecord{}) }()
				synctest.Wait()
			}
		}
		want(0, 0)
		push(1)
		pass(second / 2)
		want(0, 0)
		push(together)
		want(together, second/2)
		pass(second / 2)
		want(together, second)
		let <- struct{}{} // takes the first hundred along
		want(together-chunksAtOnce, second*(together-chunksAtOnce)/together)
		pass(2 * second)
		want(0, 0)
		for range together - chunksAtOnce {
			if err := <-heard; fault.KindOf(err) != fault.Unavailable && err != nil {
				t.Errorf("what has waited for too long: %v", err)
			}
		}
		close(let)
		synctest.Wait()
		if n := inserted.Load(); n != 1+chunksAtOnce {
			t.Errorf("%d chunks were inserted, want %d", n, 1+chunksAtOnce)
		}
		a.close()
	})
}

// Chunks that come together after an hour without any do not make the store look busy.
func TestChunksAfterIdleness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newInsertQueue(time.Hour, func(context.Context, []*chunkRecord) error { return nil })
		defer a.close()
		for range 2 {
			<-time.After(time.Hour)
			a.mu.Lock()
			for range chunksAtOnce {
				a.waiting = append(a.waiting, &pendingChunk{record: &chunkRecord{}, done: make(chan struct{})})
				a.beginInserts()
			}
			a.mu.Unlock()
			if _, wait := a.expectedWait(time.Now()); wait > busyThreshold {
				t.Errorf("one more would wait for %v", wait)
			}
			synctest.Wait()
		}
	})
}

// While the database is slow, few commands wait for a connection: the store reports
// that it is busy until they have been served.
func TestBusy(t *testing.T) {
	const connections, comers = 4, 200
	proxy, uri := mongotest.StartProxy(t, mongotest.WithLongTimeouts(mongotest.Start(t)))
	s := mustOpen(t, uri+fmt.Sprint("&maxPoolSize=", connections))
	t.Cleanup(func() { mustClose(t, s) })
	proxy.Inject(func(string) faultproxy.Action { return faultproxy.Action{Delay: time.Second / 2} })
	mustAppend(t, s, "s", 1)
	if err := s.Busy(); err != nil {
		t.Errorf("nobody waits: %v", err)
	}
	held, release := make(chan struct{}, connections), make(chan struct{})
	proxy.Inject(func(command string) faultproxy.Action {
		if command == "find" {
			select {
			case held <- struct{}{}:
			case <-release:
			}
			<-release
		}
		return faultproxy.Action{}
	})
	var reads sync.WaitGroup
	read := func() {
		for _, err := range s.Chunks(t.Context(), "s", 1) {
			t.Errorf("a read that was let in: %v", err)
		}
	}
	// All connections are taken first: from then on the number of waiting commands
	// only grows.
	for range connections {
		reads.Go(read)
	}
	for range connections {
		<-held
	}
	refused := make(chan error, comers)
	for range comers {
		reads.Go(func() {
			if err := s.Busy(); err != nil {
				refused <- err
				return
			}
			read()
		})
	}
	for range comers / 2 {
		if err := <-refused; fault.KindOf(err) != fault.Unavailable {
			t.Errorf("refused with %v", err)
		}
	}
	if err := s.Busy(); err == nil {
		t.Error("the database has answered nothing, and is not busy")
	}
	close(release)
	reads.Wait()
	if err := s.Busy(); err != nil {
		t.Errorf("everybody was served: %v", err)
	}
	if n := s.Waiting(); n != 0 {
		t.Errorf("%d wait for a connection", n)
	}
}
