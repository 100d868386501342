package live

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

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/state"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// process is one of those that share a store: its domains and its broker.
type process struct {
	t        *testing.T
	votes    *voting.Service
	states   *state.Service
	messages *message.Service
	buffers  *accumulation.Service
	ranks    *ranking.Service
	broker   *Broker
	notifier event.Notifier
	down     atomic.Bool // nothing can be read
	hinting  bool        // reads are hints, as those of another process's polls are
}

// in runs a test in a bubble with virtual time.
func in(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// pass lets time go by.
func pass(d time.Duration) { <-time.After(d) }

// start starts a process. One that is alone gets hints of its own commits only, the
// others have the tail of the store only.
func start(t *testing.T, store *storetest.Memory, alone bool, change ...func(*Options, *tuning)) *process {
	p, clock := &process{t: t}, stream.SystemClock()
	hinted := stream.Options{Exclusive: alone}
	documents := document.Options{}
	if alone {
		hinted.Applied, documents.Changed = p.notifier.Notify, p.notifier.Notify
	}
	p.votes = voting.NewService(store, clock, hinted)
	p.messages = message.NewService(store, clock, hinted)
	p.buffers = accumulation.NewService(store, clock, hinted)
	p.ranks = ranking.NewService(store, clock, hinted)
	docs := document.NewService(store, clock, documents)
	p.states = state.NewService(docs)
	reader := event.NewReader(event.Stores{Polls: p, Documents: docs, Messages: p.messages, Buffers: p.buffers, Questions: p.ranks})
	options, tuned := Options{Reader: reader, Notifier: &p.notifier, Streams: store.FirstChunks}, defaultTuning()
	if !alone {
		options.Tail = store
	}
	for _, f := range change {
		f(&options, &tuned)
	}
	p.broker = newTuned(options, tuned)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for _, closer := range []func(context.Context) error{p.broker.Close, p.votes.Close, p.messages.Close, p.buffers.Close, p.ranks.Close, docs.Close} {
			if err := closer(ctx); err != nil {
				t.Error(err)
			}
		}
	})
	return p
}

// Conclude implements [event.PollReader].
func (p *process) Conclude(ctx context.Context, poll voting.Poll, now time.Time) (voting.Overview, error) {
	if p.down.Load() {
		return voting.Overview{}, fault.Wrap(fault.Unavailable, errors.New("down"), "down")
	}
	o, err := p.votes.Conclude(ctx, poll, now)
	if p.hinting && err == nil {
		p.notifier.Notify(poll.Stream(), o.Head)
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

func (p *process) publish(f message.Feed, to, name, data string) {
	p.t.Helper()
	f.Environment, f.Extension, f.Whispers = "production", "ext", to != ""
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

// client is a subscriber and what its client knows.
type client struct {
	*Subscriber
	t      *testing.T
	last   string // id
	queued []Delivery
}

func subscription(topics ...string) Subscription {
	return Subscription{Environment: "production", Extension: "ext", Channel: "1", OpaqueID: "U5", Topics: topics}
}

func (p *process) subscribe(s Subscription) *client {
	p.t.Helper()
	l, err := p.broker.Subscribe(p.t.Context(), s)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(l.Close)
	return &client{Subscriber: l, t: p.t, queued: l.Greeting()}
}

// received returns, when all is still, what was received since the last call: for
// each event its target, its name and, shortened, its data.
func (c *client) received() (all []string) {
	c.t.Helper()
	synctest.Wait()
	for done := false; !done; {
		select {
		case e := <-c.Events():
			if d, ok := c.Accept(e); ok {
				c.queued = append(c.queued, d)
			}
		default:
			done = true
		}
	}
	for _, d := range c.queued {
		c.last = d.ID.String()
		if d.Event != nil {
			all = append(all, d.Event.Target()+" "+brief(c.t, d.Event.Envelope()))
		}
	}
	c.queued = nil
	return all
}

func brief(t *testing.T, data []byte) string {
	t.Helper()
	var envelope struct {
		Event string
		Data  json.RawMessage
	}
	if err := json.Unmarshal(data, &envelope); err != nil {
		t.Fatalf("%v in %q", err, data)
	}
	name, ok := strings.CutPrefix(envelope.Event, "production:ext:")
	if !ok {
		t.Errorf("event %q", envelope.Event)
	}
	var update struct {
		ID     string
		Status string
		Stats  *struct{ Count, Sum json.Number }
	}
	if strings.HasPrefix(name, "vote_") || strings.HasPrefix(name, "poll_") {
		if err := json.Unmarshal(envelope.Data, &update); err != nil || !strings.HasSuffix(name, ":"+update.ID) {
			t.Errorf("%s: %v in %s", name, err, envelope.Data)
		}
		if update.Stats == nil {
			return strings.TrimSpace(name + " " + update.Status)
		}
		return name + " " + update.Stats.Count.String() + " votes"
	}
	return name + " " + string(envelope.Data)
}

func (c *client) want(events ...string) {
	c.t.Helper()
	if got := c.received(); !slices.Equal(got, events) {
		c.t.Errorf("received %q, want %q", got, events)
	}
}
