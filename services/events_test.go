package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/mongotest"
)

// follower listens to a fleet, to one replica after the other as they are
// killed, and goes on each time from where it was.
type follower struct {
	fleet  *fleet
	header string
	lastID string
	ids    func() // called when the stream has begun
	heard  chan heardEvent
}

// heardEvent is an event as it came.
type heardEvent struct {
	Event string
	Data  json.RawMessage
}

// run listens until ctx is done.
func (f *follower) run(ctx context.Context) {
	for place := 0; ctx.Err() == nil; place++ {
		f.listen(ctx, f.fleet.any(place))
	}
}

// listen listens to one replica until it breaks off.
func (f *follower) listen(ctx context.Context, p *process) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+"/events", nil)
	if err != nil {
		panic(err) // the address is one
	}
	r.Header.Set("Authorization", f.header)
	r.Header.Set("Last-Event-ID", f.lastID)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return
	}
	f.ids()
	f.read(ctx, bufio.NewReader(res.Body))
}

// read takes up events whole: one that is cut off is not heard.
func (f *follower) read(ctx context.Context, in *bufio.Reader) {
	var id, data string
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "id":
			id = value
		case "data":
			data = value
		case "":
			if id != "" {
				f.lastID = id
			}
			if data == "" {
				continue
			}
			var e heardEvent
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				f.fleet.t.Errorf("%q: %v", data, err)
			}
			e.Event = strings.TrimPrefix(e.Event, "production:sample-extension:")
			select {
			case f.heard <- e:
			case <-ctx.Done():
				return
			}
			data = ""
		}
	}
}

// Messages are published, votes cast and a state written through two replicas,
// which are killed in turn, or told to end, while others listen. Every message that was
// acknowledged is heard once and in its order, none twice; and what was heard last
// of the poll and of the state is what a GET answers.
func TestEventsWhileReplicasAreKilled(t *testing.T) {
	for name, end := range map[string]func(*fleet, int){"SIGKILL": (*fleet).kill, "SIGTERM": (*fleet).replace} {
		t.Run(name, func(t *testing.T) { testEventsWhileReplicasEnd(t, end) })
	}
}

func testEventsWhileReplicasEnd(t *testing.T, end func(f *fleet, i int)) {
	t.Parallel()
	f := startFleet(t, []string{mongotest.Patient(mongotest.Start(t))}, 2)
	ctx, stop := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	defer listening.Wait()
	defer stop()
	begun := make(chan struct{}, 1)
	l := &follower{fleet: f, header: sign(t, "viewer", "U-ear"), heard: make(chan heardEvent), ids: func() {
		select {
		case begun <- struct{}{}:
		default:
		}
	}}
	listening.Go(func() { l.run(ctx) })
	<-begun

	fates := make(chan []fate, 1)
	go func() { fates <- publishThrough(t, f, end) }()
	heard := hearing{follower: l, last: -1, ticks: map[int]int{}}
	for e := range l.heard {
		if heard.take(t, e); e.Event == "over" {
			break
		}
	}
	heard.check(t, <-fates)

	// Nothing is written any more: in the end both tell the same.
	for !t.Failed() {
		if count, state := heard.ask(t); heard.count == count && cmp.Equal(heard.state, state) {
			break
		}
		heard.take(t, <-l.heard) // hangs if there is nothing more to hear
	}
}

// publishThrough writes through both replicas while it ends them, and returns
// what became of the messages.
func publishThrough(t *testing.T, f *fleet, end func(f *fleet, i int)) (fates []fate) {
	broadcaster := sign(t, "broadcaster", "B")
	say := func(n int, event string) fate {
		fate, _ := send(f.any(n), http.MethodPost, "/broadcast", broadcaster, fmt.Sprintf(`{"event":%q,"data":%d}`, event, n), nil)
		return fate
	}
	var kills sync.WaitGroup
	for n := range 160 {
		if n%40 == 20 {
			kills.Wait()
			kills.Go(func() { end(f, n/40%2) })
		}
		fates = append(fates, say(n, "tick"))
		_, _ = send(f.any(n), http.MethodPost, "/vote", sign(t, "viewer", fmt.Sprint("U", n)), `{"value":1}`, nil)
		_, _ = send(f.any(n), http.MethodPatch, "/channel_state", broadcaster, fmt.Sprintf(`{"n%d":1}`, n%50), nil)
	}
	kills.Wait()
	for n := 0; say(n, "over") != stored && !t.Failed(); n++ {
		continue
	}
	return fates
}

// hearing is what a listener knows.
type hearing struct {
	follower *follower
	ticks    map[int]int
	last     int // message
	told     int // votes, by the last update
	count    int
	state    map[string]int
	resyncs  int
}

// ask reads what there is to know but for messages.
func (h *hearing) ask(t *testing.T) (count int, state map[string]int) {
	t.Helper()
	var tally struct{ Count int }
	for path, into := range map[string]any{"/vote": &tally, "/channel_state": &state} {
		for n := 0; !t.Failed(); n++ {
			if fate, _ := send(h.follower.fleet.any(n), http.MethodGet, path, h.follower.header, "", into); fate == stored {
				break
			}
		}
	}
	return tally.Count, state
}

func (h *hearing) take(t *testing.T, e heardEvent) {
	t.Helper()
	var err error
	switch e.Event {
	case "tick":
		var n int
		err = json.Unmarshal(e.Data, &n)
		if n <= h.last {
			t.Errorf("message %d is heard after %d", n, h.last)
		}
		h.ticks[n]++
		h.last = n
	case "vote_update:default":
		var update struct{ Stats struct{ Count int } }
		err = json.Unmarshal(e.Data, &update)
		if update.Stats.Count < h.told {
			t.Errorf("%d votes are told of after %d", update.Stats.Count, h.told)
		}
		h.told, h.count = update.Stats.Count, update.Stats.Count
	case "channel_state_update":
		h.state = nil
		err = json.Unmarshal(e.Data, &h.state)
	case "resync":
		h.resyncs++
		h.count, h.state = h.ask(t)
	}
	if err != nil {
		t.Errorf("%s %s: %v", e.Event, e.Data, err)
	}
}

func (h *hearing) check(t *testing.T, fates []fate) {
	t.Helper()
	count := map[fate]int{}
	for n, f := range fates {
		count[f]++
		if f == stored && h.ticks[n] != 1 || f == refused && h.ticks[n] != 0 || h.ticks[n] > 1 {
			t.Errorf("message %d, fate %d, is heard %d times", n, f, h.ticks[n])
		}
	}
	t.Logf("%d messages were stored, %d refused, %d of unknown fate; %d were heard, with %d resyncs",
		count[stored], count[refused], count[unknown], len(h.ticks), h.resyncs)
}

// Where each service has a process of its own, that of state tells of the votes
// that another takes; where the database has change streams, by those, too.
func TestEventsOfSingleServices(t *testing.T) {
	t.Run("by the tail", func(t *testing.T) {
		testEventsOfSingleServices(t, mongotest.Patient(mongotest.Start(t)), false)
	})
	t.Run("by a change stream, played", func(t *testing.T) {
		_, uri := mongotest.WithChangeStreams(t, mongotest.Patient(mongotest.StartServer(t, t.TempDir())))
		testEventsOfSingleServices(t, uri, true)
	})
}

func testEventsOfSingleServices(t *testing.T, uri string, watched bool) {
	start := func(service string) *process {
		return startProgram(t, t.TempDir(), service, "--mongodb-uri", uri)
	}
	votes, states := start("voting"), start("state")
	begun := make(chan struct{})
	l := &follower{
		fleet: &fleet{t: t, replicas: []*process{states}}, header: sign(t, "viewer", "U-ear"),
		heard: make(chan heardEvent), ids: func() { close(begun) },
	}
	ctx, stop := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	defer listening.Wait()
	defer stop()
	listening.Go(func() { l.listen(ctx, states) })
	<-begun
	for watched && metric(t, states, "acclaim_live_watched") == 0 { // hangs if it never is
		runtime.Gosched()
	}
	broadcaster := sign(t, "broadcaster", "B")
	for _, test := range []struct {
		to                        *process
		method, path, body, event string
	}{
		{to: votes, method: "POST", path: "/vote?id=p", body: `{"value":1}`, event: "vote_update:p"},
		{to: states, method: "POST", path: "/channel_state", body: `{"a":1}`, event: "channel_state_update"},
		{to: states, method: "POST", path: "/broadcast", body: `{"event":"goal","data":1}`, event: "goal"},
		{to: votes, method: "DELETE", path: "/vote?id=p", event: "vote_delete:p"},
	} {
		if fate, why := send(test.to, test.method, test.path, broadcaster, test.body, nil); fate != stored {
			t.Fatalf("%s %s: %s", test.method, test.path, why)
		}
		if e := <-l.heard; e.Event != test.event {
			t.Errorf("after %s %s is heard %s", test.method, test.path, e.Event)
		}
	}
}
