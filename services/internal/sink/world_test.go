package sink_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/sink"
	"github.com/acclaim-dev/acclaim/services/internal/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/state"
	"github.com/acclaim-dev/acclaim/services/voting"
)

const webhooks = `
extensions:
- clientID: ext
  ownerUserID: "1000"
  secrets: [{value: b25l}]
  sinks:
  - name: hook
    webhook: {url: "https://example.com/secret/path", secrets: [{value: aG9vaw==}]}
`

const platform = `
extensions:
- clientID: ext
  ownerUserID: "1000"
  secrets: [{value: b25l}]
  sinks: [{name: viewers, pubsub: {}}]
`

// in runs a test in a bubble, where time is the test's.
func in(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// pass lets time go by.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// system is the other one. It implements [http.RoundTripper].
type system struct {
	t *testing.T
	// answer says what becomes of a request, with the body it has; 0 breaks the
	// connection, -1 hangs.
	answer func(n int, body string) (status int)
	takes  time.Duration // to answer
	header http.Header   // of answers

	mu      sync.Mutex
	took    []received // with status 2xx
	tried   []received
	headers http.Header // the last
	busy    int         // requests under way
	most    int         // of them at a time
}

type received struct {
	at   time.Time
	id   string
	body string
}

func (s *system) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	defer s.begin()()
	<-time.After(s.takes)
	s.mu.Lock()
	got := received{time.Now(), r.Header.Get(sink.DeliveryHeader), string(body)}
	s.tried = append(s.tried, got)
	s.headers = r.Header
	status := http.StatusNoContent
	if s.answer != nil {
		status = s.answer(len(s.tried), got.body)
	}
	if status/100 == 2 {
		s.took = append(s.took, got)
	}
	s.mu.Unlock()
	switch status {
	case 0:
		return nil, fmt.Errorf("connection reset")
	case -1:
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	header := s.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if status == http.StatusFound {
		header.Set("Location", "https://elsewhere.example.com/")
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Header: header, Body: http.NoBody, Request: r,
	}, nil
}

// begin counts a request as under way until end is called.
func (s *system) begin() (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy++
	s.most = max(s.most, s.busy)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy--
	}
}

// heard returns what was taken since it was last asked: for each event its name
// and, of polls, the number of votes.
func (s *system) heard() (all []string) {
	s.t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.took {
		all = append(all, events(s.t, r.body)...)
	}
	s.took = nil
	return all
}

func sscan(event string, count *int) (int, error) {
	return fmt.Sscanf(event, "vote_update:p %d", count)
}

func (s *system) want(events ...string) {
	s.t.Helper()
	if got := s.heard(); !slices.Equal(got, events) {
		s.t.Errorf("heard %q, want %q", got, events)
	}
}

// events reads the body of a webhook or of a publication.
func events(t *testing.T, body string) (all []string) {
	t.Helper()
	var p struct{ Message string }
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if p.Message != "" {
		if len(p.Message) > 5<<10 {
			t.Errorf("a message of %d bytes", len(p.Message))
		}
		body = p.Message
	}
	if !strings.HasPrefix(body, "[") {
		body = "[" + body + "]"
	}
	var envelopes []struct {
		Event string
		Data  json.RawMessage
	}
	if err := json.Unmarshal([]byte(body), &envelopes); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	for _, e := range envelopes {
		name, ok := strings.CutPrefix(e.Event, "production:ext:")
		if !ok {
			t.Errorf("event %q", e.Event)
		}
		var update struct{ Stats *struct{ Count int } }
		switch {
		case !strings.HasPrefix(name, "vote_"):
			if len(e.Data) < 100 {
				name += " " + string(e.Data)
			}
		case json.Unmarshal(e.Data, &update) != nil:
			t.Errorf("data %s", e.Data)
		case update.Stats != nil:
			name += fmt.Sprint(" ", update.Stats.Count)
		}
		all = append(all, name)
	}
	return all
}

// process is one of those that share a store.
type process struct {
	t        *testing.T
	votes    *voting.Service
	states   *state.Service
	messages *message.Service
	sinks    *sink.Manager
	kill     func()
}

// start starts a process. One that is alone hears of its own commits, one that is
// not of nothing but by sweeps.
func start(t *testing.T, store *storetest.Memory, registry string, to *system, alone bool) *process {
	t.Helper()
	return startWith(t, store, registry, to, alone, stream.SystemClock())
}

// severed is a store as a process sees it that can be killed: then it writes no
// document any more, not even to say goodbye.
type severed struct {
	*storetest.Memory
	dead atomic.Bool
}

func (s *severed) Put(ctx context.Context, writes ...document.Write) error {
	if s.dead.Load() {
		return errors.New("killed")
	}
	return s.Memory.Put(ctx, writes...)
}

func startWith(t *testing.T, store *storetest.Memory, registry string, to *system, alone bool, clock stream.Clock) *process {
	t.Helper()
	p := boot(t, store, registry, clock, sink.Options{Alone: alone, Transport: to})
	synctest.Wait()
	return p
}

func boot(t *testing.T, shared *storetest.Memory, registry string, clock stream.Clock, options sink.Options) *process {
	t.Helper()
	p, store := &process{t: t}, &severed{Memory: shared}
	hinted, documents := stream.Options{Exclusive: options.Alone}, document.Options{}
	if options.Alone {
		hinted.Applied = func(name string, _ uint64) { p.sinks.Touch(name) }
		documents.Changed = func(key string, _ uint64) { p.sinks.Touch(key) }
	}
	p.votes = voting.NewService(store, clock, hinted, voting.HalfLife)
	p.messages = message.NewService(store, clock, hinted)
	docs := document.NewService(store, clock, documents)
	p.states = state.NewService(docs)
	options.Store, options.Polls, options.Messages, options.Clock = store, p.votes, p.messages, clock
	options.Streams, options.Keys, options.Tail = store.Streams, store.Keys, sink.Local{Streams: store, Documents: store}
	options.Environments = []tenant.Environment{tenant.Production}
	p.sinks = sink.New(options)
	parsed, err := tenant.Parse([]byte(registry))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go p.sinks.Run(ctx, func() *tenant.Registry { return parsed })
	p.kill = sync.OnceFunc(func() {
		store.dead.Store(true)
		cancel()
		end := context.WithoutCancel(t.Context())
		at, over := context.WithCancel(end)
		over()
		_ = p.sinks.Close(at) // abandons what is under way
		for _, closer := range []func(context.Context) error{p.votes.Close, p.messages.Close, docs.Close} {
			if err := closer(end); err != nil {
				t.Error(err)
			}
		}
	})
	t.Cleanup(p.kill)
	return p
}

func pollOf(id string) voting.Poll {
	return voting.Poll{Environment: "production", Extension: "ext", Channel: "1", ID: id}
}

func (p *process) vote(id string, voter int) {
	p.t.Helper()
	if _, err := p.votes.Vote(p.t.Context(), pollOf(id), voting.Voter{OpaqueID: fmt.Sprint("U", voter)}, 1, 1); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) reset(id string) {
	p.t.Helper()
	if err := p.votes.Reset(p.t.Context(), pollOf(id)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) end(id string, at int64) {
	p.t.Helper()
	config := voting.DefaultConfig()
	config.EndsAt = at
	if err := p.votes.Configure(p.t.Context(), pollOf(id), config); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) say(to, name, data string) {
	p.t.Helper()
	f := message.Feed{Environment: "production", Extension: "ext", Channel: "1"}
	if err := p.messages.Publish(p.t.Context(), f, message.Message{To: to, Name: name, Data: json.RawMessage(data)}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) write(scope state.Scope, body string) {
	p.t.Helper()
	change, err := document.Replace([]byte(body))
	if err != nil {
		p.t.Fatal(err)
	}
	caller := state.Caller{Environment: "production", Extension: "ext", Channel: "1"}
	if _, err := p.states.Write(p.t.Context(), caller, scope, state.Edit{Change: change}); err != nil {
		p.t.Fatal(err)
	}
}
