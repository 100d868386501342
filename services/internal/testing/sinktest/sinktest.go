// Package sinktest is the other system in tests of sinks: a server on a real
// connection that takes webhooks at /hook and publications at /pubsub, and fails as a
// test wants it to. A request fails the test when its signature or token is wrong,
// when it exceeds the rate limit, or when an older value follows a newer one.
//
// Only tests may import it.
package sinktest

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Options describe the requests to a server.
type Options struct {
	// Prefix is the prefix of the names of events.
	Prefix string
	// Secret signs webhooks, Key publications.
	Secret, Key string
	// Listener, if set, accepts connections in place of one of the machine's network, such as
	// [PipeNetwork].
	Listener net.Listener
	// Mood chooses the reaction to a request; nil accepts all.
	Mood func(Request) ServerMood
}

// Request is a request that was read completely, or not read because of its mood.
type Request struct {
	// Path is /hook or /pubsub, Life the program that sent it: see [Server.HookURL].
	Path, Life string
	// N counts the requests of a path and a life from 1.
	N int
	// ID is the id of a webhook's delivery.
	ID     string
	Events []Event
	Mood   ServerMood
}

// Event is an event that was sent.
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
	figures map[string]int    // newest, by path, life and event
	known   map[string]int    // acknowledged in any life, by path and event
	bodies  map[string]string // by delivery
	buckets map[string]*tokenBucket
	taken   map[string][]Event // acknowledged, by path
}

// Start returns a server that ends with the test.
func Start(t testing.TB, options Options) *Server {
	s := &Server{
		t: t, options: options, ended: make(chan struct{}),
		count: map[string]int{}, figures: map[string]int{}, known: map[string]int{}, bodies: map[string]string{},
		buckets: map[string]*tokenBucket{}, taken: map[string][]Event{},
	}
	s.changed = sync.NewCond(&s.mu)
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(s.serveRequest))
	if options.Listener != nil {
		_ = s.server.Listener.Close() // it has no connection yet
		s.server.Listener = options.Listener
	}
	s.server.Start()
	t.Cleanup(func() { close(s.ended); s.server.Close() })
	return s
}

// HookURL returns the address of webhooks for a program. Requests of earlier programs,
// which were killed, do not count from then on.
func (s *Server) HookURL(life string) string { return s.addressFor("/hook", life) }

// PubSubURL returns the address of publications.
func (s *Server) PubSubURL(life string) string { return s.addressFor("/pubsub", life) }

func (s *Server) addressFor(path, life string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life = life
	return s.server.URL + path + "?life=" + life
}

// TriedRequests returns the requests so far.
func (s *Server) TriedRequests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tried)
}

// TakenEvents returns the events that were acknowledged on a path so far.
func (s *Server) TakenEvents(path string) []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.taken[path])
}

// Await waits until holds returns true for the acknowledged events, by path, and the
// requests. It calls holds after every request, and hangs if that never happens.
func (s *Server) Await(holds func(taken map[string][]Event, tried []Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !holds(s.taken, s.tried) {
		s.changed.Wait()
	}
}

func (s *Server) serveRequest(w http.ResponseWriter, r *http.Request) {
	request := Request{Path: r.URL.Path, Life: r.URL.Query().Get("life"), ID: r.Header.Get("webhook-id")}
	s.mu.Lock()
	late := request.Life != s.life
	s.count[request.Path+request.Life]++
	request.N = s.count[request.Path+request.Life]
	if request.Path == "/pubsub" && !late {
		s.spendToken(r)
	}
	s.mu.Unlock()
	if late {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if s.moodOf(request) == ResetsUnread {
		request.Mood = ResetsUnread
		s.noteRequest(request)
		resetConnection(w)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has disconnected
	}
	request.Events = s.readEvents(r, body)
	request.Mood = s.moodOf(request)
	s.noteRequest(request)
	s.checkRequest(request, body)
	s.writeAnswer(w, r, request.Mood)
}

func (s *Server) moodOf(r Request) ServerMood {
	if s.options.Mood == nil {
		return Well
	}
	return s.options.Mood(r)
}

// noteRequest records a request before it is answered, so that a client with the answer
// finds it here.
func (s *Server) noteRequest(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried = append(s.tried, r)
	if r.Mood.takesEvents() {
		s.taken[r.Path] = append(s.taken[r.Path], r.Events...)
	}
	s.changed.Broadcast()
}

// parseFigure returns the number in an event that only grows: the votes of a poll, or a
// number that is all of the data.
func (e Event) parseFigure() (n int, ok bool) {
	var poll struct{ Stats *struct{ Count int } }
	if e.isUpdate() && json.Unmarshal(e.Data, &poll) == nil && poll.Stats != nil {
		return poll.Stats.Count, true
	}
	return n, json.Unmarshal(e.Data, &n) == nil
}

func (e Event) isUpdate() bool { return strings.HasPrefix(e.Name, "vote_update:") }

// checkRequest fails the test when a newer value was sent before, or another body under the
// same id. Messages that are published together are repeated together.
func (s *Server) checkRequest(r Request, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range r.Events {
		n, ok := e.parseFigure()
		if !ok || r.Path == "/pubsub" && !e.isUpdate() {
			continue
		}
		all := r.Path + " " + e.Name
		if here := all + " " + r.Life; n < max(s.figures[here], s.known[all]) {
			s.t.Errorf("%s: %s is %d after %d", r.Path, e.Name, n, max(s.figures[here], s.known[all]))
		} else {
			s.figures[here] = n
		}
		if r.Mood.takesEvents() {
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

// tokenBucket is the platform's rate limit of a channel.
type tokenBucket struct {
	tokens float64
	at     time.Time
}

const (
	burst    = 100
	overdraw = 1e-3 // rounding of rates
)

// spendToken takes a token from the bucket of a channel. s.mu is held.
func (s *Server) spendToken(r *http.Request) {
	channel, now := channelOf(r), time.Now()
	b := s.buckets[channel]
	if b == nil {
		b = &tokenBucket{tokens: burst, at: now}
		s.buckets[channel] = b
	}
	b.tokens, b.at = min(burst, b.tokens+now.Sub(b.at).Seconds())-1, now
	if b.tokens < -overdraw {
		s.t.Errorf("channel %q exceeds its rate limit by %f", channel, -b.tokens)
	}
}
