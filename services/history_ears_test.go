package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// ear listens to the events of one program after the other, and resumes each time after the
// last event id that it received: at another program before that has ended.
type ear struct {
	h            *history
	topic        string // "": all that need none
	header, last string
	rng          *rand.Rand

	mu       sync.Mutex
	messages [historians]int64 // received, in the order in which their client sent them
	entries  map[string]int
	latest   int64 // of the buffer's entries
	told     int64 // votes, by the last update
	count    int64 // likewise, or by a later read
	streams  int
	trace    []string      // of the streams, for a failure
	begun    chan struct{} // closed when there is an id to resume from
}

// startEars starts two listeners to messages and votes, and one to the entries of the buffer,
// and waits until each has an id to resume from.
func (h *history) startEars(ctx context.Context, listeners *sync.WaitGroup) {
	h.ears = []*ear{
		{header: sign(h.t, "viewer", "Uear")}, {header: sign(h.t, "viewer", "Uear2")},
		{header: sign(h.t, "backend", "S"), topic: "accumulate:" + historyPoll},
	}
	for i, e := range h.ears {
		e.h, e.rng, e.entries = h, rand.New(rand.NewPCG(uint64(i), 31)), map[string]int{}
		e.begun = make(chan struct{})
		listeners.Go(func() {
			again := time.NewTicker(20 * time.Millisecond)
			defer again.Stop()
			for ctx.Err() == nil {
				e.listen(ctx)
				<-again.C
			}
		})
	}
	for _, e := range h.ears {
		<-e.begun
	}
}

// listen reads the events of one program until it hops to another.
func (e *ear) listen(ctx context.Context) {
	path := e.h.base(e.rng.IntN(1<<20)) + "/events"
	if e.topic != "" {
		path += "?topic=" + url.QueryEscape(e.topic)
	}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		e.h.t.Error(err)
		return
	}
	r.Header.Set("Authorization", e.header)
	r.Header.Set("Last-Event-ID", e.last)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return
	}
	defer res.Body.Close()
	e.note("%s %d after %s", path, res.StatusCode, e.last)
	if res.StatusCode == http.StatusOK {
		e.read(bufio.NewReader(res.Body), 5+e.rng.IntN(60))
	}
}

// read reads a number of complete events, or as many as there are.
func (e *ear) read(in *bufio.Reader, events int) {
	e.streams++
	var id, data string
	for events > 0 || e.h.over.Load() {
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
				if e.last == "" {
					close(e.begun)
				}
				e.last = id
			}
			if data != "" {
				e.take(data)
				events--
			}
			data = ""
		}
	}
}

// note remembers what happened last.
func (e *ear) note(format string, with ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.trace = append(e.trace[max(0, len(e.trace)-20):], fmt.Sprintf(format, with...))
}

func (e *ear) take(data string) {
	var told receivedEvent
	if err := json.Unmarshal([]byte(data), &told); err != nil {
		e.h.t.Errorf("%q: %v", data, err)
	}
	if strings.HasSuffix(told.Event, ":resync") {
		e.note("%s", data)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var err error
	switch name := strings.TrimPrefix(told.Event, "production:"+sampleExtension+":"); name {
	case "tick":
		err = e.takeMessage(told.Data)
	case "vote_update:" + historyPoll:
		var update struct{ Stats struct{ Count int64 } }
		if err = json.Unmarshal(told.Data, &update); update.Stats.Count < e.told {
			err = fmt.Errorf("%d votes after %d", update.Stats.Count, e.told)
		}
		e.told, e.count = update.Stats.Count, update.Stats.Count
	case "accumulate:" + historyPoll:
		err = e.takeEntries(told.Data)
	case "resync":
		if e.topic == "" {
			var now statisticsAnswer
			e.h.readAny("/vote?id="+historyPoll, e.header, &now)
			e.count = now.Count // an update from before this read may follow, and one from after it
		}
	}
	if err != nil {
		e.h.t.Errorf("%s %s: %v", told.Event, told.Data, err)
	}
}

// takeMessage takes the next message of a client.
func (e *ear) takeMessage(data json.RawMessage) error {
	c, n, err := parseTick(data)
	if err != nil {
		return err
	}
	if want := e.messages[c] * talkEvery; n != want {
		return fmt.Errorf("message %d of client %d comes where %d is due", n, c, want)
	}
	e.messages[c]++
	return nil
}

// takeEntries takes entries, and those that come again after an event that was interrupted not.
func (e *ear) takeEntries(data json.RawMessage) error {
	var update struct {
		Data []struct {
			Observed int64
			Data     struct{ ID string }
		}
		Latest int64
	}
	if err := json.Unmarshal(data, &update); err != nil {
		return err
	}
	for _, entry := range update.Data {
		if entry.Observed <= e.latest {
			continue
		}
		if e.entries[entry.Data.ID]++; e.entries[entry.Data.ID] > 1 {
			return fmt.Errorf("entry %s comes again", entry.Data.ID)
		}
	}
	e.latest = max(e.latest, update.Latest)
	return nil
}

// missing describes what a listener has not received, "" for nothing.
func (e *ear) missing() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	total := int64(0)
	for c := range historians {
		if total += e.h.rounds[c].Load(); e.topic == "" && e.messages[c] != e.h.messages[c].Load() {
			return fmt.Sprintf("%d messages of client %d, not %d", e.messages[c], c, e.h.messages[c].Load())
		}
	}
	switch {
	case e.topic == "" && e.count != 3*total:
		return fmt.Sprintf("a count of %d votes, not %d", e.count, 3*total)
	case e.topic != "" && int64(len(e.entries)) != total:
		return fmt.Sprintf("%d entries up to %d, not %d", len(e.entries), e.latest, total)
	}
	return ""
}

// awaitEars waits until each listener has received everything, and checks that it has.
func (h *history) awaitEars() {
	for i, e := range h.ears {
		if h.eventually(func() bool { return e.missing() == "" }); e.missing() != "" {
			h.t.Errorf("listener %d has %s; its streams: %s", i, e.missing(), strings.Join(e.trace, "\n"))
		}
	}
}

// readAny reads through any program.
func (h *history) readAny(path, header string, into any) {
	answer := h.must("GET", path, header, "", "")
	if err := json.Unmarshal([]byte(answer), into); err != nil {
		h.t.Errorf("GET %s: %v", path, err)
	}
}
