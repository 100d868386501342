package batch_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/batch"
)

// pacedLoad lets callers send one item after the other, each some time after the answer to
// the one before, in batches to a server that takes them side by side or one after the
// other. It returns the median time until an answer, and the batches for each answer.
func pacedLoad(t *testing.T, callers int, takes time.Duration, serial bool) (median time.Duration, batches float64) {
	const each, parts = 60, 3
	synctest.Test(t, func(t *testing.T) {
		var (
			mu      sync.Mutex
			pace    = batch.Pace{Parts: parts, Most: 16}
			waiting []chan struct{}
			server  = make(chan struct{}, 1)
			times   []time.Duration
			begin   func()
		)
		begin = func() { // mu is held
			if wait, ok := pace.NextWait(time.Now()); !ok || len(waiting) == 0 {
				return
			} else if wait > 0 {
				time.AfterFunc(wait, func() { mu.Lock(); defer mu.Unlock(); begin() })
				return
			}
			began, taken := time.Now(), waiting
			pace.Begin(began)
			waiting, batches = nil, batches+1
			go func() {
				if serial {
					server <- struct{}{}
				}
				<-time.After(takes)
				if serial {
					<-server
				}
				mu.Lock()
				defer mu.Unlock()
				pace.End(time.Since(began))
				for _, done := range taken {
					close(done)
				}
				begin()
			}()
		}
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				for n := range each {
					// Callers ask again at different times.
					<-time.After(takes * time.Duration(1+(i*7+n*3)%20) / 40)
					asked, done := time.Now(), make(chan struct{})
					mu.Lock()
					waiting = append(waiting, done)
					begin()
					mu.Unlock()
					<-done
					mu.Lock()
					times = append(times, time.Since(asked))
					mu.Unlock()
				}
			})
		}
		all.Wait()
		slices.Sort(times)
		median, batches = times[len(times)/2], batches/float64(len(times))
	})
	return median, batches
}

// Items wait for a part of a batch and not for a whole one, at few batches.
func TestPaceWhereBatchesRunSideBySide(t *testing.T) {
	const takes = 10 * time.Millisecond
	for _, callers := range []int{1, 2, 8, 32, 200} {
		median, batches := pacedLoad(t, callers, takes, false)
		t.Logf("%d callers: %v, %.3f batches each", callers, median, batches)
		if median > takes*5/4 {
			t.Errorf("%d callers wait %v for a batch of %v", callers, median, takes)
		}
		if most := max(1, 8/float64(callers)); batches > most {
			t.Errorf("%d callers make %.2f batches each, want %.2f at most", callers, batches, most)
		}
	}
}

// A server that takes one batch after the other gets no more of them: the time that they
// take grows with those under way, and the pace with it.
func TestPaceWhereBatchesRunOneByOne(t *testing.T) {
	const takes = 10 * time.Millisecond
	for _, callers := range []int{1, 8, 32, 200} {
		median, batches := pacedLoad(t, callers, takes, true)
		t.Logf("%d callers: %v, %.3f batches each", callers, median, batches)
		if median > 5*takes {
			t.Errorf("%d callers wait %v where each batch takes %v", callers, median, takes)
		}
	}
}

// A batch that hangs holds the others back neither while it is under way nor afterwards.
func TestPaceAfterABatchThatHung(t *testing.T) {
	at := time.Unix(1e9, 0)
	p := batch.Pace{Parts: 2, Most: 3}
	p.Begin(at)
	p.End(10 * time.Millisecond)
	want := func(want time.Duration, mayBegin bool) {
		t.Helper()
		if wait, ok := p.NextWait(at); wait != want || ok != mayBegin {
			t.Errorf("wait %v, %t; want %v, %t", wait, ok, want, mayBegin)
		}
	}
	want(0, true)
	p.Begin(at) // hangs
	want(5*time.Millisecond, true)
	at = at.Add(5 * time.Millisecond)
	want(0, true)
	p.Begin(at)             // too
	at = at.Add(-time.Hour) // a clock that steps back
	want(5*time.Millisecond, true)
	at = at.Add(3 * time.Millisecond) // and goes on
	want(2*time.Millisecond, true)
	at = at.Add(2 * time.Hour)
	p.Begin(at)
	want(0, false)
	p.End(time.Hour)
	want(10*time.Millisecond, true)
	p.End(-time.Hour) // by a clock that stepped back
	want(10*time.Millisecond, true)
}

// A batch that hangs gives its place to another, and takes it back when it ends.
func TestPaceHang(t *testing.T) {
	at := time.Unix(1e9, 0)
	p := batch.Pace{Parts: 1, Most: 1}
	mayBegin := func(want bool) {
		t.Helper()
		if _, ok := p.NextWait(at); ok != want {
			t.Errorf("another batch may begin: %t, want %t", ok, want)
		}
	}
	p.Begin(at)
	mayBegin(false)
	p.Hang()
	mayBegin(true)
	p.Begin(at)
	mayBegin(false)
	p.End(time.Second)
	p.Unhang()
	mayBegin(false)
	p.End(time.Second)
	mayBegin(true)
}
