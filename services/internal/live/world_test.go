package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/live"
	"github.com/acclaim-dev/acclaim/services/internal/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/state"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// process is one of those that share a store: its domains and its hub.
type process struct {
	t        *testing.T
	votes    *voting.Service
	states   *state.Service
	messages *message.Service
	hub      *live.Hub
	down     atomic.Bool // nothing can be read
	hinting  bool        // reads are hints, as those of another process's polls are
}

// in runs a test in a bubble, where time is the test's.
func in(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// pass lets time go by.
func pass(d time.Duration) { <-time.After(d) }

// start starts a process. One that is alone hears of its own commits only, one
// that is not hears of nothing but by the tail of the store.
func start(t *testing.T, store *storetest.Memory, alone bool, change ...func(*live.Options)) *process {
	p, clock := &process{t: t}, stream.SystemClock()
	hinted := stream.Options{Exclusive: alone}
	documents := document.Options{}
	if alone {
		hinted.Applied = func(name string, head uint64) { p.hub.Touch(name, head) }
		documents.Changed = func(key string, version uint64) { p.hub.Touch(key, version) }
	}
	p.votes = voting.NewService(store, clock, hinted, voting.HalfLife)
	p.messages = message.NewService(store, clock, hinted)
	docs := document.NewService(store, clock, documents)
	p.states = state.NewService(docs)
	options := live.Options{Polls: p, Documents: p.states, Messages: p.messages, Streams: store.Begun}
	if !alone {
		options.Tail = store
	}
	for _, f := range change {
		f(&options)
	}
	p.hub = live.New(options)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for _, closer := range []func(context.Context) error{p.hub.Close, p.votes.Close, p.messages.Close, docs.Close} {
			if err := closer(ctx); err != nil {
				t.Error(err)
			}
		}
	})
	return p
}

// Overview implements [live.Polls].
func (p *process) Overview(ctx context.Context, poll voting.Poll) (voting.Overview, error) {
	if p.down.Load() {
		return voting.Overview{}, fault.Wrap(fault.Unavailable, errors.New("down"), "down")
	}
	o, err := p.votes.Overview(ctx, poll)
	if p.hinting && err == nil {
		p.hub.Touch(poll.Stream(), o.Head)
	}
	return o, err
}

func pollOf(id string) voting.Poll {
	return voting.Poll{Environment: "production", Extension: "ext", Channel: "1", ID: id}
}

func (p *process) vote(id, voter string) {
	p.t.Helper()
	if _, err := p.votes.Vote(p.t.Context(), pollOf(id), voting.Voter{OpaqueID: voter}, 1, 1); err != nil {
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

func (p *process) say(f message.Feed, to, name, data string) {
	p.t.Helper()
	f.Environment, f.Extension = "production", "ext"
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

// ear is a listener and the last id it heard.
type ear struct {
	*live.Listener
	t    *testing.T
	last string
	text []byte
}

func subscription(topics ...string) live.Subscription {
	return live.Subscription{Environment: "production", Extension: "ext", Channel: "1", OpaqueID: "U5", Topics: topics}
}

func (p *process) listen(s live.Subscription) *ear {
	p.t.Helper()
	l, err := p.hub.Subscribe(p.t.Context(), s)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(l.Close)
	return &ear{Listener: l, t: p.t, text: l.Greet(nil)}
}

// heard returns, when all is still, what was heard since it was last asked: for
// each event its target, its name and, shortened, its data.
func (e *ear) heard() (all []string) {
	e.t.Helper()
	synctest.Wait()
	for done := false; !done; {
		select {
		case event := <-e.Events():
			e.text = e.Append(e.text, event)
		default:
			done = true
		}
	}
	for block := range strings.SplitSeq(strings.TrimSuffix(string(e.text), "\n\n"), "\n\n") {
		var target, data string
		for line := range strings.Lines(block) {
			field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch field {
			case "id":
				e.last = value
			case "event":
				target = value
			case "data":
				data = value
			}
		}
		if target != "" {
			all = append(all, target+" "+brief(e.t, data))
		}
	}
	e.text = nil
	return all
}

func brief(t *testing.T, data string) string {
	t.Helper()
	var envelope struct {
		Event string
		Data  json.RawMessage
	}
	if err := json.Unmarshal([]byte(data), &envelope); err != nil {
		t.Fatalf("%v in %q", err, data)
	}
	name, ok := strings.CutPrefix(envelope.Event, "production:ext:")
	if !ok {
		t.Errorf("event %q", envelope.Event)
	}
	var update struct {
		ID    string
		Stats *struct{ Count, Sum json.Number }
	}
	if strings.HasPrefix(name, "vote_") {
		if err := json.Unmarshal(envelope.Data, &update); err != nil || !strings.HasSuffix(name, ":"+update.ID) {
			t.Errorf("%s: %v in %s", name, err, envelope.Data)
		}
		if update.Stats == nil {
			return name
		}
		return name + " " + update.Stats.Count.String() + " votes"
	}
	return name + " " + string(envelope.Data)
}

func (e *ear) want(events ...string) {
	e.t.Helper()
	if got := e.heard(); !slices.Equal(got, events) {
		e.t.Errorf("heard %q, want %q", got, events)
	}
}
