package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// follower subscribes to one replica of a fleet after the other as they are killed,
// and resumes each time after the last event id that it received.
type follower struct {
	fleet    *fleet
	header   string
	lastID   string
	ids      func() // called when the event stream is open
	received chan receivedEvent
}

// receivedEvent is an event as the follower received it.
type receivedEvent struct {
	Event string
	Data  json.RawMessage
}

// run subscribes to replicas until ctx is done.
func (f *follower) run(ctx context.Context) {
	for place := 0; ctx.Err() == nil; place++ {
		f.listen(ctx, f.fleet.any(place))
	}
}

// listen reads the events of one replica until the connection ends.
func (f *follower) listen(ctx context.Context, p *process) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+"/events", nil)
	if err != nil {
		panic(err) // the address is valid
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

// read accepts complete events only: it ignores one that is cut off.
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
			var e receivedEvent
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				f.fleet.t.Errorf("%q: %v", data, err)
			}
			e.Event = strings.TrimPrefix(e.Event, "production:sample-extension:")
			select {
			case f.received <- e:
			case <-ctx.Done():
				return
			}
			data = ""
		}
	}
}

// Clients publish messages, vote and write a state through two replicas, which are
// killed in turn or receive SIGTERM, while others subscribe. A subscriber receives
// every acknowledged message once and in order. The last event of the poll and of
// the state equals the answer to a GET.
func TestEventsWhileReplicasAreKilled(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*fleet, int){"SIGKILL": (*fleet).kill, "SIGTERM": (*fleet).replace} {
		for database, start := range databases {
			t.Run(name+" over a "+database, func(t *testing.T) { testEventsWhileReplicasEnd(t, start(t), end) })
		}
	}
}

func testEventsWhileReplicasEnd(t *testing.T, uri string, end func(f *fleet, i int)) {
	t.Parallel()
	f := startFleet(t, []string{uri}, 2)
	var kills sync.WaitGroup
	followEvents(t, f, 160, func(n int) {
		if n%40 == 20 {
			kills.Wait()
			kills.Go(func() { end(f, n/40%2) })
		}
		if n == 159 {
			kills.Wait()
		}
	})
}

// followEvents publishes messages, votes and writes a state through the programs of a
// fleet, and checks what a subscriber receives. It calls disturb before each message, with
// its number, and returns the outcomes of the messages.
func followEvents(t *testing.T, f *fleet, messages int, disturb func(n int)) []fate {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	defer listening.Wait()
	defer stop()
	begun := make(chan struct{}, 1)
	l := &follower{fleet: f, header: sign(t, "viewer", "U-ear"), received: make(chan receivedEvent), ids: func() {
		select {
		case begun <- struct{}{}:
		default:
		}
	}}
	listening.Go(func() { l.run(ctx) })
	<-begun

	fates := make(chan []fate, 1)
	go func() { fates <- publishThrough(t, f, messages, disturb) }()
	received := receivedState{follower: l, ticks: map[int]int{}}
	for e := range l.received {
		if received.take(t, e); e.Event == "over" {
			break
		}
	}
	all := <-fates
	received.check(t, all)

	// The writers have ended: subscribers of both replicas converge to the same values.
	for !t.Failed() {
		if count, state := received.ask(t); received.count == count && cmp.Equal(received.state, state) {
			break
		}
		received.take(t, <-l.received) // hangs if no further event arrives
	}
	return all
}

// publishThrough writes through the programs in turn, and returns the outcome of each
// message.
func publishThrough(t *testing.T, f *fleet, messages int, disturb func(n int)) (fates []fate) {
	broadcaster := sign(t, "broadcaster", "B")
	say := func(n int, event string) fate {
		// The number is a text, as package sinktest takes a number for one that only grows.
		fate, _ := send(f.any(n), http.MethodPost, "/broadcast", broadcaster, fmt.Sprintf(`{"event":%q,"data":"%d"}`, event, n), nil)
		return fate
	}
	for n := range messages {
		disturb(n)
		fates = append(fates, say(n, "tick"))
		_, _ = send(f.any(n), http.MethodPost, "/vote", sign(t, "viewer", fmt.Sprint("U", n)), `{"value":1}`, nil)
		_, _ = send(f.any(n), http.MethodPatch, "/channel_state", broadcaster, fmt.Sprintf(`{"n%d":1}`, n%50), nil)
	}
	for n := 0; say(n, "over") != stored && !t.Failed(); n++ {
		continue
	}
	return fates
}

// receivedState holds the values that a subscriber received.
type receivedState struct {
	follower *follower
	ticks    map[int]int
	order    []int // of the messages
	told     int   // votes in the last update of the poll
	count    int
	state    map[string]int
	resyncs  int
}

// ask reads the number of votes and the state.
func (r *receivedState) ask(t *testing.T) (count int, state map[string]int) {
	t.Helper()
	var tally struct{ Count int }
	for path, into := range map[string]any{"/vote": &tally, "/channel_state": &state} {
		for n := 0; !t.Failed(); n++ {
			if fate, _ := send(r.follower.fleet.any(n), http.MethodGet, path, r.follower.header, "", into); fate == stored {
				break
			}
		}
	}
	return tally.Count, state
}

func (r *receivedState) take(t *testing.T, e receivedEvent) {
	t.Helper()
	var err error
	switch e.Event {
	case "tick":
		var n int
		n, err = messageNumber(e.Data)
		r.ticks[n]++
		r.order = append(r.order, n)
	case "vote_update:default":
		var update struct{ Stats struct{ Count int } }
		err = json.Unmarshal(e.Data, &update)
		if update.Stats.Count < r.told {
			t.Errorf("an update has %d votes after one with %d", update.Stats.Count, r.told)
		}
		r.told, r.count = update.Stats.Count, update.Stats.Count
	case "channel_state_update":
		r.state = nil
		err = json.Unmarshal(e.Data, &r.state)
	case "resync":
		r.resyncs++
		r.count, r.state = r.ask(t)
	}
	if err != nil {
		t.Errorf("%s %s: %v", e.Event, e.Data, err)
	}
}

func (r *receivedState) check(t *testing.T, fates []fate) {
	t.Helper()
	count := map[fate]int{}
	for n, f := range fates {
		count[f]++
		if f == stored && r.ticks[n] != 1 || f == refused && r.ticks[n] != 0 || r.ticks[n] > 1 {
			t.Errorf("message %d, fate %d, is received %d times", n, f, r.ticks[n])
		}
	}
	late := wantMessagesInOrder(t, "the subscriber", r.order, fates)
	t.Logf("%d messages were stored, %d refused, %d of unknown fate; %d were delivered, %d of them after a later one, with %d resyncs",
		count[stored], count[refused], count[unknown], len(r.ticks), late, r.resyncs)
}

// messageNumber returns the number of a message.
func messageNumber(data json.RawMessage) (int, error) {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// wantMessagesInOrder checks that a receiver got each message after all that had been stored when
// it was sent. One whose client never learnt its fate may have been stored much later, so that
// messages sent after it may come before it: wantMessagesInOrder returns how many came so late.
func wantMessagesInOrder(t *testing.T, receiver string, order []int, fates []fate) (late int) {
	t.Helper()
	places, newest := map[int]int{}, -1
	for place, n := range order {
		places[n] = place
		if newest = max(newest, n); n < newest {
			late++
		}
	}
	for place, n := range order {
		for before := range min(n, len(fates)) {
			if at, ok := places[before]; ok && fates[before] == stored && at > place {
				t.Errorf("%s got message %d after %d, which was sent when the former was stored", receiver, before, n)
			}
		}
	}
	return late
}

// Each service has a process of its own. The process of the state service publishes
// the votes that the voting process accepts, with change streams and without.
func TestEventsOfSingleServices(t *testing.T) {
	t.Parallel()
	for name, start := range databases {
		t.Run(name, func(t *testing.T) { testEventsOfSingleServices(t, start(t), name == "replica set") })
	}
	t.Run("by a change stream, played", func(t *testing.T) {
		_, uri := mongotest.WithChangeStreams(t, mongotest.WithLongTimeouts(mongotest.StartServer(t, t.TempDir())))
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
		received: make(chan receivedEvent), ids: func() { close(begun) },
	}
	ctx, stop := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	defer listening.Wait()
	defer stop()
	listening.Go(func() { l.listen(ctx, states) })
	<-begun
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for watched && metric(t, states, "acclaim_events_change_stream_active") == 0 { // hangs if it never is
		<-again.C
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
		if e := <-l.received; e.Event != test.event {
			t.Errorf("after %s %s is received %s", test.method, test.path, e.Event)
		}
	}
}
