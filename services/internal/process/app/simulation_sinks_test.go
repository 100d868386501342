package app

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/testing/sinktest"
)

const (
	// sinkShare is the share of worlds whose extension has sinks: one of so many.
	sinkShare      = 3
	simulatedSinks = `  ownerUserID: "1000"
  sinks:
  - {name: hook, webhook: {url: "http://10.3.0.1/hook", secrets: [{value: aG9vay1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}}
  - {name: viewers, pubsub: {url: "http://10.3.0.1/pubsub"}}
`
	// deliveryBound is the time after the end of all faults in which all is delivered: the lease
	// of a process that has ended, by a clock that is ahead, and the pauses after failures.
	deliveryBound = 8 * time.Minute
	saidEvent     = "said"
)

// simulatedReceiver is the other end of a webhook and the platform's pub/sub in a world. They receive the messages
// that clients publish, each at least once, and for the first time in the same order, and in the
// end the votes of each poll.
type simulatedReceiver struct {
	w  *simulatedWorld
	to *sinktest.Server
}

func hasSinks(seed uint64) bool { return seed%sinkShare == 0 }

// startReceiver starts the system that the sinks lead to. It fails now and then.
func startReceiver(w *simulatedWorld, seed uint64) *simulatedReceiver {
	listener, err := w.network.Host("10.3.0.1").Listen(w.t.Context(), "tcp", "10.3.0.1:80")
	if err != nil {
		w.t.Fatal(err)
	}
	offset := rand.New(rand.NewPCG(seed, 800)).IntN(13)
	return &simulatedReceiver{w, sinktest.Start(w.t, sinktest.Options{
		Prefix: "production:simulated:", Secret: "hook-key-of-more-than-32-bytes-0123456", Key: string(w.clients.secret), Listener: listener,
		Mood: func(r sinktest.Request) sinktest.ServerMood {
			moods := map[int]sinktest.ServerMood{2: sinktest.Errs, 5: sinktest.ResetsUnread, 8: sinktest.ResetsRead, 11: sinktest.Busy}
			return moods[(r.N+offset)%13]
		},
	})}
}

// awaitSinks waits until both sinks deliver: they begin with what is written after that.
func (r *simulatedReceiver) awaitSinks() {
	r.await(func() string {
		if len(r.to.TakenEvents("/hook")) > 0 && len(r.to.TakenEvents("/pubsub")) > 0 {
			return ""
		}
		_, why := r.w.clients.send(0, http.MethodPost, "/broadcast", "broadcaster", asBroadcaster, `{"event":"hello","data":0}`, nil)
		return "the sinks deliver nothing: " + why
	})
}

// await waits until nothing is missing.
func (r *simulatedReceiver) await(missing func() string) {
	for end := time.Now().Add(deliveryBound); ; r.w.wait(time.Second) {
		what := missing()
		if what == "" || r.w.t.Failed() {
			return
		}
		if time.Now().After(end) {
			r.w.t.Error(what)
			return
		}
	}
}

// check waits until both sinks have received everything, and checks that they have nothing else.
func (r *simulatedReceiver) check() {
	counts := map[string]int{}
	for n := range simulatedPolls {
		id := fmt.Sprint("p", n)
		var statistics struct{ Count int }
		if f, why := r.w.clients.send(0, http.MethodGet, "/vote?id="+id, "backend", "", "", &statistics); f != stored {
			r.w.t.Errorf("read the poll: %s", why)
		}
		counts[id] = statistics.Count
	}
	order := map[string][]string{}
	for _, path := range []string{"/hook", "/pubsub"} {
		r.await(func() string { return r.missing(path, counts) })
		order[path] = r.said(path)
	}
	if !slices.Equal(order["/hook"], order["/pubsub"]) {
		r.w.t.Errorf("the order of messages differs:\n%v\n%v", order["/hook"], order["/pubsub"])
	}
	r.w.clients.compare(saidEvent, nil, order["/hook"])
}

// said returns the messages that a sink has received, in the order of their first deliveries.
func (r *simulatedReceiver) said(path string) (ids []string) {
	for _, e := range r.to.TakenEvents(path) {
		var id string
		if e.Name == saidEvent && json.Unmarshal(e.Data, &id) == nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// missing describes what a sink has not received, "" for nothing.
func (r *simulatedReceiver) missing(path string, counts map[string]int) string {
	said := r.said(path)
	for id, f := range r.w.clients.fates[saidEvent] {
		if f == stored && !slices.Contains(said, id) {
			return fmt.Sprintf("%s has not received message %s", path, id)
		}
	}
	last := sinktest.Last(r.to.TakenEvents(path))
	for id, count := range counts {
		var update struct{ Stats struct{ Count int } }
		if text := last["vote_update:"+id]; text != "" && json.Unmarshal([]byte(text), &update) != nil || update.Stats.Count != count {
			return fmt.Sprintf("%s has %d votes of %s, which has %d: %s", path, update.Stats.Count, id, count, text)
		}
	}
	return ""
}
