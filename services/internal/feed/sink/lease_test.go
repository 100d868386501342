package sink

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// shifted is a clock that runs correctly and shows the wrong time.
type shifted struct {
	stream.Clock
	by time.Duration
}

func (s shifted) Now() time.Time { return s.Clock.Now().Add(s.by) }

// However far the clocks of two processes are apart, one of them delivers at a time,
// every message once and in order, and no older figure after a newer one. When the
// one that delivers is killed, the other one goes on in half a minute.
func TestClocksApart(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, 0, time.Hour} {
		for killed := range 2 {
			in(t, func(t *testing.T) {
				to, store := &system{t: t, takes: 3 * time.Second}, storetest.NewMemory()
				all := []*process{
					start(t, store, webhooks, to, false),
					startWith(t, store, webhooks, to, false, shifted{stream.SystemClock(), by}),
				}
				pass(30 * time.Second)
				var want []string
				for n := range 40 {
					all[n%2].publish("", "tick", fmt.Sprint(n))
					want = append(want, fmt.Sprint("tick ", n))
					pass(2 * time.Second)
				}
				pass(4 * time.Minute)
				to.want(want...)
				if to.most > 1 {
					t.Errorf("%v: %d requests of one feed are under way at a time", by, to.most)
				}
				all[killed].publish("", "before", "1")
				pass(4 * time.Second) // a process has begun
				all[killed].kill()
				all[1-killed].publish("", "after", "2")
				pass(40 * time.Second)
				got := slices.Compact(to.received()) // the requests of the killed one are repeated
				if !slices.Equal(got, []string{"before 1", "after 2"}) {
					t.Errorf("%v: received %q", by, got)
				}
			})
		}
	}
}

// A pause that the other system asks for is kept by every process.
func TestRetryAfter(t *testing.T) {
	for name, after := range map[string]func() string{
		"seconds": func() string { return "120" },
		"date":    func() string { return time.Now().Add(2 * time.Minute).UTC().Format(http.TimeFormat) },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				to, store := &system{t: t}, storetest.NewMemory()
				to.answer = func(n int, _ string) int {
					if n > 1 {
						return http.StatusOK
					}
					to.header = http.Header{"Retry-After": {after()}, "Date": {time.Now().UTC().Format(http.TimeFormat)}}
					return http.StatusTooManyRequests
				}
				// An hour does not matter to a date either.
				first := startWith(t, store, webhooks, to, false, shifted{stream.SystemClock(), time.Hour})
				second := start(t, store, webhooks, to, false)
				pass(10 * time.Second)
				first.vote("p", 1)
				for voter := range 60 {
					second.vote("p", 10+voter)
					pass(time.Second)
				}
				pass(5 * time.Minute)
				to.want("vote_update:p 61")
				if n := len(to.tried); n != 2 || to.tried[1].at.Sub(to.tried[0].at) < 2*time.Minute {
					t.Errorf("%d tries, %v between the first and the last", n, to.tried[n-1].at.Sub(to.tried[0].at))
				}
			})
		})
	}
}

// The lease of an empty queue is released: the next process need not wait.
func TestLeaseIsReleased(t *testing.T) {
	in(t, func(t *testing.T) {
		to, store := &system{t: t}, storetest.NewMemory()
		first := start(t, store, webhooks, to, false)
		pass(5 * time.Second)
		first.vote("p", 1)
		pass(time.Minute)
		to.want("vote_update:p 1")
		first.kill()
		second := start(t, store, webhooks, to, false)
		second.vote("p", 2)
		pass(5 * time.Second)
		to.want("vote_update:p 2")
	})
}

// slowDocuments is a store whose answers to writes take a while.
type slowDocuments struct {
	document.Store
	takes time.Duration
}

func (s slowDocuments) Put(ctx context.Context, writes ...document.Write) error {
	err := s.Store.Put(ctx, writes...)
	<-time.After(s.takes)
	return err
}

// A process that learns late that it has the lease has it for no longer than another
// process believes, which has read it at once.
func TestLeaseThatIsWrittenSlowly(t *testing.T) {
	const span = 30 * time.Second
	in(t, func(t *testing.T) {
		store := storetest.NewMemory()
		lease := func(owner string, store document.Store) *queueLease {
			return &queueLease{store: store, clock: stream.SystemClock(), key: "lease", owner: owner}
		}
		first, second := lease("first", slowDocuments{store, 10 * time.Second}), lease("second", store)
		go func() {
			if _, _, err := first.acquire(t.Context(), span, span); err != nil {
				t.Error(err)
			}
		}()
		pass(time.Second)
		for {
			wait, _, err := second.acquire(t.Context(), span, span)
			if err != nil {
				t.Fatal(err)
			}
			if second.isHeld() {
				break
			}
			pass(wait)
		}
		if left := first.remainingTime(); left > 0 {
			t.Errorf("two processes have the lease for %v", left)
		}
	})
}
