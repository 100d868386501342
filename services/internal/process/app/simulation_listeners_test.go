package app

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/feed/sink"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// announcementListener is a client that follows the announcements of all polls, and resumes
// after its last event id.
type announcementListener struct {
	w    *announcedWorld
	name string
	// slot returns the place of the process that a connection leads to.
	slot func(connection int) int
	// leaves is the longest time after which the client leaves by itself, and for which it is
	// away; 0: it stays as long as it can.
	leaves time.Duration
	rng    *rand.Rand
	last   string // event id
	heard  []heardAnnouncement
}

// heardAnnouncement holds what happened to a listener at a time.
type heardAnnouncement struct {
	announcement
	what heardKind
	at   time.Time
}

type heardKind int

const (
	heardOpening heardKind = iota // of a stream
	heardClosing
	heardResync
	heardEvent
	heardRead
)

// startListeners starts a client that stays at each process, one that leaves and returns, and
// one that goes on to the next process.
func (w *announcedWorld) startListeners() {
	size := len(w.slots)
	for i := range size {
		w.listeners = append(w.listeners, &announcementListener{name: fmt.Sprint("stays at ", i), slot: func(int) int { return i }})
	}
	w.listeners = append(w.listeners,
		&announcementListener{name: "returns", slot: func(int) int { return 0 }, leaves: 6 * time.Second},
		&announcementListener{name: "goes on", slot: func(n int) int { return n % size }, leaves: 20 * time.Second})
	for i, l := range w.listeners {
		l.w, l.rng = w, rand.New(rand.NewPCG(w.clients.seed, uint64(500+i)))
		w.clients.running.Go(l.listen)
	}
}

// stopListeners ends the clients, which are connected or return soon.
func (w *announcedWorld) stopListeners() {
	w.clients.stop()
}

// listen follows one connection after the other.
func (l *announcementListener) listen() {
	for n := 0; !l.w.clients.over.Load(); n++ {
		l.connect(l.slot(n))
		away := 100 * time.Millisecond
		if l.leaves > 0 {
			away += time.Duration(l.rng.Int64N(int64(l.leaves)))
		}
		l.w.wait(away)
	}
}

// connect follows one connection until it ends, the client leaves or the listener is stopped.
func (l *announcementListener) connect(slot int) {
	p := l.w.process(slot)
	<-p.opened
	ctx, cancel := context.WithCancel(l.w.t.Context())
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	if l.leaves > 0 {
		defer time.AfterFunc(time.Duration(l.rng.Int64N(int64(l.leaves))), cancel).Stop()
	}
	token, err := sandbox.IssueToken(sandbox.Grant{
		Role: "viewer", ChannelID: "1", OpaqueID: "Uear", ExtensionID: "simulated", Stage: string(tenant.Production),
	}, l.w.clients.secret, time.Now())
	if err != nil {
		l.w.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.ip+":80/v1/events?topic=poll_update:*", nil)
	if err != nil {
		l.w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "simulated "+token)
	r.Header.Set("Last-Event-ID", l.last)
	response, err := l.w.clients.web.Do(r)
	if err != nil {
		return
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return
	}
	l.note(heardOpening, announcement{})
	l.read(slot, bufio.NewReader(response.Body))
	l.note(heardClosing, announcement{})
}

func (l *announcementListener) note(what heardKind, a announcement) {
	l.w.note("heard", "listener", l.name, "what", what, "announcement", a)
	l.heard = append(l.heard, heardAnnouncement{a, what, time.Now()})
}

// read reads the complete events of a stream.
func (l *announcementListener) read(slot int, in *bufio.Reader) {
	var id, data string
	for !l.w.clients.over.Load() {
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
			if data != "" && !l.take(slot, data) {
				return // and resumes where it was
			}
			if id != "" {
				l.last = id
			}
			id, data = "", ""
		}
	}
}

// take takes an event. After a resync it reads every poll, and reports false where it cannot.
func (l *announcementListener) take(slot int, data string) bool {
	var e struct {
		Event string
		Data  announcement
	}
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		l.w.t.Errorf("%s: %v in %q", l.name, err, data)
	}
	switch _, name, _ := strings.Cut(e.Event, ":simulated:"); {
	case name == "resync":
		l.note(heardResync, announcement{})
		var found struct{ Polls []announcement }
		if f, _ := l.w.clients.send(slot, http.MethodGet, "/polls", "viewer", "Uear", "", &found); f != stored {
			return false
		}
		for _, poll := range found.Polls {
			l.note(heardRead, poll)
		}
	default:
		l.note(heardEvent, e.Data)
	}
	return true
}

// check compares what a listener received with what was due.
func (l *announcementListener) check(due map[string][]transition) {
	events := 0
	for id, transitions := range due {
		known, told := -1, -1 // as numbers of transitions: by any means, and by an event since a resync
		knew := make([]time.Time, len(transitions))
		for _, h := range l.heard {
			if h.what == heardResync {
				told = -1
			}
			if h.ID != id {
				continue
			}
			n := slices.IndexFunc(transitions, func(d transition) bool { return d.announcement == h.announcement })
			switch {
			case n < 0:
				l.w.t.Errorf("%s: %+v was never due", l.name, h.announcement)
				continue
			case n < known:
				l.w.t.Errorf("%s: %+v comes after %+v", l.name, h.announcement, transitions[known].announcement)
			case h.what == heardEvent && n <= told:
				l.w.t.Errorf("%s: %+v comes again", l.name, h.announcement)
			}
			if h.what == heardEvent {
				told = n
				events++
			}
			for ; known < n; known++ {
				knew[known+1] = h.at
			}
		}
		l.checkTimes(transitions, knew)
	}
	l.w.note("listened", "listener", l.name, "events", events)
	if events == 0 {
		l.w.t.Errorf("%s: no event came", l.name)
	}
}

// checkTimes checks that each transition is known before the next, and soon by an open stream.
func (l *announcementListener) checkTimes(transitions []transition, knew []time.Time) {
	for n, d := range transitions {
		end := d.at.Add(betweenTransitions)
		if knew[n].IsZero() || knew[n].After(end) {
			l.w.t.Errorf("%s: %+v, due at %v, is known at %v", l.name, d.announcement, d.at, knew[n])
			continue
		}
		if !l.listened(d.at, d.at.Add(announcedWithin)) {
			continue
		}
		told := slices.IndexFunc(l.heard, func(h heardAnnouncement) bool {
			return h.what == heardEvent && h.announcement == d.announcement && !h.at.Before(d.at)
		})
		if told < 0 || l.heard[told].at.After(d.at.Add(announcedWithin)) {
			l.w.t.Errorf("%s: %+v, due at %v, has no event in a stream that is open", l.name, d.announcement, d.at)
			continue
		}
		l.w.note("lateness", "listener", l.name, "of", d.announcement, "is", l.heard[told].at.Sub(d.at))
	}
}

// listened reports whether a stream was open from one time to another.
func (l *announcementListener) listened(from, to time.Time) bool {
	open := false
	for _, h := range l.heard {
		if h.at.After(to) {
			break
		}
		switch {
		case h.what == heardOpening:
			open = h.at.Before(from)
		case h.what == heardClosing:
			open = false
		}
	}
	return open
}

// announcementHook is the system that the webhook leads to. It refuses some deliveries, and
// loses the answer to others, but never two in a row.
type announcementHook struct {
	w      *announcedWorld
	server *http.Server
	ended  chan struct{}

	mu     sync.Mutex
	rng    *rand.Rand
	failed bool // the last delivery
	taken  []takenDelivery
}

type takenDelivery struct{ id, body string }

func startAnnouncementHook(w *announcedWorld) *announcementHook {
	h := &announcementHook{w: w, ended: make(chan struct{}), rng: rand.New(rand.NewPCG(w.clients.seed, 700))}
	listener, err := w.network.Host("10.3.0.1").Listen(w.t.Context(), "tcp", "10.3.0.1:80")
	if err != nil {
		w.t.Fatal(err)
	}
	h.server = &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(h.ended)
		_ = h.server.Serve(listener) // until close
	}()
	return h
}

// ServeHTTP implements [http.Handler].
func (h *announcementHook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	mood := h.rng.IntN(4)
	if h.failed { // a pause that grew would let transitions merge
		mood = 2
	}
	h.failed = mood < 2
	h.w.note("delivery", "id", r.Header.Get(sink.IDHeader), "mood", mood, "body", string(body))
	if mood == 0 {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	h.taken = append(h.taken, takenDelivery{r.Header.Get(sink.IDHeader), string(body)})
	if mood == 1 {
		panic(http.ErrAbortHandler)
	}
}

// check checks what the webhook took against what was due.
func (h *announcementHook) check(due map[string][]transition) {
	h.mu.Lock()
	defer h.mu.Unlock()
	last, ids, repeated := map[string]int{}, map[announcement]takenDelivery{}, 0
	for _, d := range h.taken {
		var e struct {
			Event string
			Data  announcement
		}
		if err := json.Unmarshal([]byte(d.body), &e); err != nil {
			h.w.t.Fatal(err)
		}
		if !strings.Contains(e.Event, ":poll_update:") {
			continue
		}
		before, again := ids[e.Data]
		n := slices.IndexFunc(due[e.Data.ID], func(d transition) bool { return d.announcement == e.Data })
		switch {
		case n < 0:
			h.w.t.Errorf("the webhook has %+v, which was never due", e.Data)
		case again && before != d:
			h.w.t.Errorf("the webhook has %+v as %v and as %v", e.Data, before, d)
		case again && n < last[e.Data.ID]-1:
			h.w.t.Errorf("the webhook has %+v after what follows it", e.Data)
		case !again && n != last[e.Data.ID]:
			h.w.t.Errorf("the webhook has %+v as its announcement %d", e.Data, last[e.Data.ID])
		}
		if again {
			repeated++
		} else {
			last[e.Data.ID]++
		}
		ids[e.Data] = d
	}
	distinct := map[string]bool{}
	for _, d := range ids {
		distinct[d.id] = true
	}
	if len(distinct) != len(ids) {
		h.w.t.Errorf("%d announcements have %d ids", len(ids), len(distinct))
	}
	for id, transitions := range due {
		if last[id] != len(transitions) {
			h.w.t.Errorf("the webhook has %d of the %d announcements of %s", last[id], len(transitions), id)
		}
	}
	h.w.note("delivered", "announcements", len(ids), "repeated", repeated)
}

func (h *announcementHook) close() {
	_ = h.server.Close() // of no consequence
	<-h.ended
}
