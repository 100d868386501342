package live

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/state"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// Options say what a hub tells of and how often. Durations that are 0 have
// defaults.
type Options struct {
	Polls     Polls
	Documents Documents
	Messages  Messages
	// Streams yields the names of the streams that begin with prefix: at least
	// those that had a chunk before the call.
	Streams func(ctx context.Context, prefix string) iter.Seq2[string, error]
	// Tail tells what other processes write; nil when there are none.
	Tail Tail
	// Watch, if set, calls touch with what any process writes, sooner than Tail would
	// tell of it, until ctx is done. It says nil to watching when touch hears of
	// everything from then on, and why when it may not. It ends before that, with an
	// error, where a store can never do so. It runs while somebody listens.
	Watch func(ctx context.Context, touch func(name string, head uint64), watching func(error)) error
	// PollEvery is the least time between two updates of one poll, 1 s.
	PollEvery time.Duration
	// DocumentEvery is the same of one document, 100 ms; a later version replaces
	// one that was not sent yet.
	DocumentEvery time.Duration
	// MessageEvery is how long messages of one feed are gathered at most, 10 ms.
	MessageEvery time.Duration
	// TailEvery is how often Tail is asked, 250 ms; for polls that are new or have
	// not changed for a minute, every fourth time. While Watch tells what is written it
	// is asked for everything every eighth time.
	TailEvery time.Duration
	// Linger is how long what nobody listens to any more is followed still, so that
	// who comes back can go on from where it was: 30 s.
	Linger time.Duration
	// Buffer is how many events a listener may be behind, 64.
	Buffer int
	// MaxListeners is how many there may be, 50,000. More are refused with
	// fault.Unavailable.
	MaxListeners int
	// MaxPolls is how many polls of one channel or extension are followed together,
	// 10,000. Who wants to hear of more has to name them.
	MaxPolls int
	Logger   *slog.Logger
}

// Polls are read to see what polls have come to. As of documents and messages,
// every read sees what any process has acknowledged before it.
type Polls interface {
	Overview(ctx context.Context, p voting.Poll) (voting.Overview, error)
}

// Documents are read to see what states have become.
type Documents interface {
	Read(ctx context.Context, c state.Caller, scopes ...state.Scope) ([]document.Document, error)
}

// Messages are read to see what was said.
type Messages interface {
	Since(ctx context.Context, f message.Feed, after uint64) (message.Page, error)
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&o.PollEvery, time.Second},
		{&o.DocumentEvery, 100 * time.Millisecond},
		{&o.MessageEvery, 10 * time.Millisecond},
		{&o.TailEvery, 250 * time.Millisecond},
		{&o.Linger, 30 * time.Second},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if o.Buffer == 0 {
		o.Buffer = 64
	}
	if o.MaxListeners == 0 {
		o.MaxListeners = 50_000
	}
	if o.MaxPolls == 0 {
		o.MaxPolls = 10_000
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Hub is where a process's listeners hear of changes.
type Hub struct {
	options Options
	id      string // made anew at every start
	ctx     context.Context
	cancel  context.CancelFunc
	work    sync.WaitGroup
	stats   counters
	watched atomic.Bool // Options.Watch tells of everything that is written

	mu      sync.RWMutex // held for moments: commits pass through it
	closed  bool
	sources map[string]*source

	// publishing orders all events. It guards what listeners hear and whom there
	// is to hear it.
	publishing sync.Mutex
	draining   bool
	number     uint64 // of the last event
	rooms      map[audience]map[*Listener]struct{}
	listeners  int
	leaving    sync.WaitGroup // until all have left
}

// New returns a hub. Close ends it.
func New(options Options) *Hub {
	ctx, cancel := context.WithCancel(context.Background())
	h := &Hub{
		options: options.withDefaults(),
		id:      rand.Text()[:10],
		ctx:     ctx,
		cancel:  cancel,
		sources: map[string]*source{},
		rooms:   map[audience]map[*Listener]struct{}{},
	}
	if h.options.Tail != nil {
		h.work.Go(h.follow)
	}
	return h
}

// Touch is a hint that a stream or a document has come to a place: the sequence
// number of a chunk or a version. It returns at once.
func (h *Hub) Touch(name string, head uint64) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.closed || len(h.sources) == 0 {
		return
	}
	if s := h.sources[name]; s != nil {
		s.touch(head)
		return
	}
	if s := h.sources[name[:strings.LastIndexByte(name, '/')+1]]; s != nil && s.subject.(*siblings).find(name) {
		s.mark()
	}
}

// poke has a source looked at whatever is known of it.
func (h *Hub) poke(s *source) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if !h.closed {
		s.mark()
	}
}

// acquire returns the source of that name, made if there is none, and keeps it
// until release.
func (h *Hub) acquire(name string, create func() *source) (*source, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errClosed()
	}
	s := h.sources[name]
	if s == nil {
		s = create()
		s.hub, s.name, s.primed = h, name, make(chan struct{})
		h.sources[name] = s
		s.working = true
		h.work.Go(s.begin)
	}
	s.refs++
	if s.idle != nil {
		s.idle.Stop()
		s.idle = nil
	}
	return s, nil
}

func errClosed() error { return fault.New(fault.Unavailable, "shutting down") }

// release undoes an acquire. The source is followed for a while still.
func (h *Hub) release(s *source) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.refs--; s.refs == 0 && h.sources[s.name] == s && !h.closed {
		s.idle = time.AfterFunc(h.options.Linger, func() { h.drop(s, nil) })
	}
}

// drop forgets a source that nobody uses or that failed to begin.
func (h *Hub) drop(s *source, failed error) {
	h.mu.Lock()
	gone := (s.refs == 0 || failed != nil) && h.sources[s.name] == s
	if gone {
		delete(h.sources, s.name)
	}
	h.mu.Unlock()
	if gone {
		s.end()
	}
}

// publish tells the rooms what has changed, and those who have come back what
// they missed of it.
func (h *Hub) publish(s *source, n news, returned []returned) {
	h.publishing.Lock()
	defer h.publishing.Unlock()
	for _, e := range n.events {
		h.number++
		e.number = h.number
		s.remember(e)
		for l := range h.rooms[e.audience] {
			l.offer(e)
		}
	}
	h.stats.events.Add(uint64(len(n.events)))
	for _, r := range returned {
		for _, e := range s.sent {
			if r.after < e.number && e.number <= r.joined {
				r.listener.offer(e)
			}
		}
	}
	for _, r := range returned {
		r.listener.offer(&event{}) // that was all
	}
	s.message = max(s.message, n.message)
}

// Drain tells every listener to go to another process and takes no new ones.
func (h *Hub) Drain() {
	h.publishing.Lock()
	defer h.publishing.Unlock()
	h.draining = true
	for _, room := range h.rooms {
		for l := range room {
			l.end(ErrDraining)
		}
	}
}

// Close drains the hub, waits until every listener is closed and ends all that the
// hub does. When ctx is done first it waits for nobody.
func (h *Hub) Close(ctx context.Context) error {
	h.Drain()
	h.mu.Lock()
	h.closed = true
	sources := h.sources
	h.sources = nil
	h.mu.Unlock()
	h.cancel()
	for _, s := range sources {
		s.end()
	}
	idle := make(chan struct{})
	go func() { h.work.Wait(); h.leaving.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Why a listener was cut off.
var (
	ErrDraining = errors.New("live: this process is going away")
	ErrSlow     = errors.New("live: the listener does not keep up")
)
