// Package sinktest is another system for tests of sinks: a server on a real
// connection that takes webhooks at /hook and publications at /pubsub, well or badly
// as a test wants it. What it finds wrong with a request fails the test: a signature,
// a token, a budget that is overdrawn, an older figure after a newer one.
//
// Only tests may import it.
package sinktest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Options say what the requests to a server look like.
type Options struct {
	// Prefix is what the names of events begin with.
	Prefix string
	// Secret signs webhooks, Key publications.
	Secret, Key string
	// Pipes, if set, are what the server is reached by, instead of the network.
	Pipes *Pipes
	// Mood says what becomes of a request; nil means that all is well.
	Mood func(Request) Mood
}

// Request is one that was read whole, or that was not read for its mood.
type Request struct {
	// Path is /hook or /pubsub, Life the program that sent it: see [Server.Hook].
	Path, Life string
	// N counts the requests of a path and a life from 1.
	N int
	// ID is that of a webhook's delivery.
	ID     string
	Events []Event
	Mood   Mood
}

// Event is one that was sent.
type Event struct {
	Name, Target, Channel string
	Data                  json.RawMessage
}

// Server is the other system.
type Server struct {
	t       testing.TB
	options Options
	server  *httptest.Server
	ended   chan struct{}

	mu      sync.Mutex
	changed *sync.Cond
	life    string
	count   map[string]int // requests by path and life
	tried   []Request
	figures map[string]int    // by path, life and event: the newest
	known   map[string]int    // by path and event: what was acknowledged in any life
	bodies  map[string]string // by delivery
	buckets map[string]*bucket
	taken   map[string][]Event // by path: what was answered well
}

// Start returns a server that ends with the test.
func Start(t testing.TB, options Options) *Server {
	s := &Server{
		t: t, options: options, ended: make(chan struct{}),
		count: map[string]int{}, figures: map[string]int{}, known: map[string]int{}, bodies: map[string]string{},
		buckets: map[string]*bucket{}, taken: map[string][]Event{},
	}
	s.changed = sync.NewCond(&s.mu)
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	if options.Pipes != nil {
		_ = s.server.Listener.Close() // nobody has connected
		s.server.Listener = options.Pipes
	}
	s.server.Start()
	t.Cleanup(func() { close(s.ended); s.server.Close() })
	return s
}

// Hook returns the address of webhooks for a program. What another one has sent
// before it was killed, and comes later still, counts as not sent.
func (s *Server) Hook(life string) string { return s.address("/hook", life) }

// PubSub returns that of publications.
func (s *Server) PubSub(life string) string { return s.address("/pubsub", life) }

func (s *Server) address(path, life string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life = life
	return s.server.URL + path + "?life=" + life
}

// Tried returns the requests so far.
func (s *Server) Tried() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tried)
}

// Taken returns the events that were acknowledged on a path so far.
func (s *Server) Taken(path string) []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.taken[path])
}

// Await waits until something holds of the events that were acknowledged, by path,
// and of the requests. It is asked whenever there was one, and hangs if it never does.
func (s *Server) Await(holds func(taken map[string][]Event, tried []Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !holds(s.taken, s.tried) {
		s.changed.Wait()
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	request := Request{Path: r.URL.Path, Life: r.URL.Query().Get("life"), ID: r.Header.Get("Acclaim-Delivery")}
	s.mu.Lock()
	late := request.Life != s.life
	s.count[request.Path+request.Life]++
	request.N = s.count[request.Path+request.Life]
	if request.Path == "/pubsub" && !late {
		s.spend(r)
	}
	s.mu.Unlock()
	if late {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if s.feels(request) == ResetsUnread {
		request.Mood = ResetsUnread
		s.note(request)
		reset(w)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it was cut off
	}
	request.Events = s.read(r, body)
	request.Mood = s.feels(request)
	s.note(request)
	s.check(request, body)
	s.answer(w, r, request.Mood)
}

func (s *Server) feels(r Request) Mood {
	if s.options.Mood == nil {
		return Well
	}
	return s.options.Mood(r)
}

// note remembers a request before it is answered, so that whoever has the answer
// finds it here.
func (s *Server) note(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried = append(s.tried, r)
	if r.Mood.takes() {
		s.taken[r.Path] = append(s.taken[r.Path], r.Events...)
	}
	s.changed.Broadcast()
}

// figure returns what only grows in an event: the votes of a poll, or a number that
// is all of the data.
func (e Event) figure() (n int, ok bool) {
	var poll struct{ Stats *struct{ Count int } }
	if e.isUpdate() && json.Unmarshal(e.Data, &poll) == nil && poll.Stats != nil {
		return poll.Stats.Count, true
	}
	return n, json.Unmarshal(e.Data, &n) == nil
}

func (e Event) isUpdate() bool { return strings.HasPrefix(e.Name, "vote_update:") }

// check looks whether what was sent before was older, and what had the same id the
// same. Messages that are published together come again together.
func (s *Server) check(r Request, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range r.Events {
		n, ok := e.figure()
		if !ok || r.Path == "/pubsub" && !e.isUpdate() {
			continue
		}
		all := r.Path + " " + e.Name
		if here := all + " " + r.Life; n < max(s.figures[here], s.known[all]) {
			s.t.Errorf("%s: %s is %d after %d", r.Path, e.Name, n, max(s.figures[here], s.known[all]))
		} else {
			s.figures[here] = n
		}
		if r.Mood.takes() {
			s.known[all] = n
		}
	}
	if before, ok := s.bodies[r.ID]; ok && r.ID != "" && before != string(body) {
		s.t.Errorf("the delivery %s has two bodies:\n%s\n%s", r.ID, before, body)
	}
	s.bodies[r.ID] = string(body)
}

// Last returns the data of the last event of each name.
func Last(events []Event) map[string]string {
	last := map[string]string{}
	for _, e := range events {
		last[e.Name] = string(e.Data)
	}
	return last
}

// bucket is what the platform allows for a channel.
type bucket struct {
	tokens float64
	at     time.Time
}

const (
	burst    = 100
	overdraw = 1e-3 // by what rates are rounded
)

// spend takes one from the bucket of a channel. s.mu is held.
func (s *Server) spend(r *http.Request) {
	channel, now := channelOf(r), time.Now()
	b := s.buckets[channel]
	if b == nil {
		b = &bucket{tokens: burst, at: now}
		s.buckets[channel] = b
	}
	b.tokens, b.at = min(burst, b.tokens+now.Sub(b.at).Seconds())-1, now
	if b.tokens < -overdraw {
		s.t.Errorf("the budget of channel %q is overdrawn by %f", channel, -b.tokens)
	}
}
