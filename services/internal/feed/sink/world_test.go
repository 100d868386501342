package sink

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

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/state"
	"github.com/acclaim-dev/acclaim/services/voting"
)

const webhooks = `
extensions:
- clientID: ext
  ownerUserID: "1000"
  secrets: [{value: b25lLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==}]
  sinks:
  - name: hook
    webhook: {url: "https://example.com/secret/path", secrets: [{value: aG9vay1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}
`

const platform = `
extensions:
- clientID: ext
  ownerUserID: "1000"
  secrets: [{value: b25lLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==}]
  sinks: [{name: viewers, pubsub: {}}]
`

// in runs a test in a bubble with virtual time.
func in(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// pass lets time go by.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// system is the other system. It implements [http.RoundTripper].
type system struct {
	t *testing.T
	// answer returns the status for a request with a body; 0 breaks the connection, -1
	// hangs.
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
	if s.takes > 0 { // a timer without a duration can crash the race detector in a bubble
		<-time.After(s.takes)
	}
	s.mu.Lock()
	got := received{time.Now(), r.Header.Get(IDHeader), string(body)}
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

// received returns what was taken since the last call: for each event its name
// and, of polls, the number of votes.
func (s *system) received() (all []string) {
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
	if got := s.received(); !slices.Equal(got, events) {
		s.t.Errorf("received %q, want %q", got, events)
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
	buffers  *accumulation.Service
	ranks    *ranking.Service
	sinks    *Manager
	notifier event.Notifier
	kill     func()
	reads    atomic.Int64 // of polls
	hinting  bool         // reads are hints, as those of another process's polls are
}

// Conclude implements [event.PollReader].
func (p *process) Conclude(ctx context.Context, poll voting.Poll, now time.Time) (voting.Overview, error) {
	o, err := p.votes.Conclude(ctx, poll, now)
	p.reads.Add(1)
	if p.hinting && err == nil {
		p.notifier.Notify(poll.Stream(), o.Head)
	}
	return o, err
}

// start starts a process. One that is alone gets hints of its own commits, the others
// sweep only.
func start(t *testing.T, store *storetest.Memory, registry string, to *system, alone bool) *process {
	t.Helper()
	return startWith(t, store, registry, to, alone, stream.SystemClock())
}

// severed is the store of a process that can be killed: from then on it writes no
// document, not even to release a lease.
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
	tuned := defaultTuning(false)
	tuned.clock, tuned.transport = clock, to
	p := boot(t, store, registry, alone, tuned)
	synctest.Wait()
	return p
}

func boot(t *testing.T, shared *storetest.Memory, registry string, alone bool, tuned tuning, changes ...func(*Options)) *process {
	t.Helper()
	p, store, clock := &process{t: t}, &severed{Memory: shared}, tuned.clock
	hinted, documents := stream.Options{Exclusive: alone}, document.Options{}
	if alone {
		hinted.Applied, documents.Changed = p.notifier.Notify, p.notifier.Notify
	}
	p.votes = voting.NewService(store, clock, hinted)
	p.messages = message.NewService(store, clock, hinted)
	p.buffers = accumulation.NewService(store, clock, hinted)
	p.ranks = ranking.NewService(store, clock, hinted)
	docs := document.NewService(store, clock, documents)
	p.states = state.NewService(docs)
	options := Options{
		Store: store, Reader: event.NewReader(event.Stores{Polls: p, Documents: docs, Messages: p.messages, Buffers: p.buffers, Questions: p.ranks}), Notifier: &p.notifier,
		Streams: store.Streams, Keys: store.Keys, Tail: event.LocalTail{Streams: store, Documents: store}, Alone: alone,
		Environments: []tenant.Environment{tenant.Production},
	}
	for _, change := range changes {
		change(&options)
	}
	p.sinks = newTuned(options, tuned)
	parsed, err := tenant.Parse([]byte(registry))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p.sinks.Start(ctx, func() *tenant.Registry { return parsed })
	go p.sinks.Run(ctx)
	p.kill = sync.OnceFunc(func() {
		store.dead.Store(true)
		cancel()
		end := context.WithoutCancel(t.Context())
		at, over := context.WithCancel(end)
		over()
		_ = p.sinks.Close(at) // abandons requests in flight
		for _, closer := range []func(context.Context) error{p.votes.Close, p.messages.Close, p.buffers.Close, p.ranks.Close, docs.Close} {
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
	p.voteIn("1", id, voter)
}

func (p *process) voteIn(channel, id string, voter int) {
	p.t.Helper()
	poll := pollOf(id)
	poll.Channel = channel
	if _, err := p.votes.Vote(p.t.Context(), poll, voting.Voter{OpaqueID: fmt.Sprint("U", voter)}, 1, 1); err != nil {
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

func (p *process) publish(to, name, data string) {
	p.t.Helper()
	f := message.Feed{Environment: "production", Extension: "ext", Channel: "1", Whispers: to != ""}
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
