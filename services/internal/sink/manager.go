package sink

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/key"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// Options say what sinks are told of and how. Durations that are 0 have defaults.
type Options struct {
	Store    document.Store
	Polls    Polls
	Messages Messages
	// Streams yields the names of the streams that begin with prefix, Keys those of
	// documents: at least those that were there before the call.
	Streams, Keys func(ctx context.Context, prefix string) iter.Seq2[string, error]
	// Tail tells what is in the store.
	Tail Tail
	// Alone says that no other process writes to the store or delivers from it.
	Alone bool
	// Environments are those whose sinks are served.
	Environments []tenant.Environment
	// Every is the least time between two deliveries of one lane when all is well, 1 s.
	Every time.Duration
	// SweepEvery is how often the store is asked for what was not hinted at: 2 s, and
	// 30 s for a process that is alone.
	SweepEvery time.Duration
	// ClaimFor is how long a process that is dead keeps others from a lane at most,
	// 20 s. It is longer than Timeout.
	ClaimFor time.Duration
	// Timeout is how long the other system may take to answer, 10 s.
	Timeout time.Duration
	// RetryAfter is the first pause after a failure, 1 s; it doubles up to 5 min.
	RetryAfter time.Duration
	// DeadAfter is how long an event is tried, 24 h.
	DeadAfter time.Duration
	// AtOnce is how many requests of one sink may be under way, 8.
	AtOnce int
	// Clock is that of the system when nil. What two processes do does not rest on how
	// theirs compare.
	Clock stream.Clock
	// Transport carries requests, that of the standard library when nil.
	Transport http.RoundTripper
	Logger    *slog.Logger
}

// Tail tells what is in the store. All it tells is durable.
type Tail interface {
	// Grown returns which of the streams, given with the sequence number of a chunk,
	// have one after that.
	Grown(ctx context.Context, heads map[string]uint64) ([]string, error)
	// Versions returns the newest versions of those of the documents that exist.
	Versions(ctx context.Context, keys []string) (map[string]uint64, error)
}

func (o Options) withDefaults() Options {
	sweep := 2 * time.Second
	if o.Alone {
		sweep = 30 * time.Second
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&o.Every, time.Second},
		{&o.SweepEvery, sweep},
		{&o.ClaimFor, 20 * time.Second},
		{&o.Timeout, 10 * time.Second},
		{&o.RetryAfter, time.Second},
		{&o.DeadAfter, 24 * time.Hour},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if o.AtOnce == 0 {
		o.AtOnce = 8
	}
	if o.Clock == nil {
		o.Clock = stream.SystemClock()
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Manager has a worker for each sink that the registry declares.
type Manager struct {
	options  Options
	client   *http.Client
	registry func() *tenant.Registry // set by Run

	// stopping ends waiting and every request that did not begin, hard the others.
	stopping   context.Context
	stop       context.CancelFunc
	hard       context.Context
	abandon    context.CancelFunc
	work       sync.WaitGroup
	stats      counters
	mu         sync.RWMutex
	closed     bool
	workers    map[workerName]*worker
	byTenant   map[string][]*worker // by environment and extension, as names of streams have them
	reconciled *tenant.Registry
}

// workerName is a sink. One that becomes of another kind is another.
type workerName struct {
	environment     tenant.Environment
	extension, sink string
	webhook         bool
}

// New returns a manager, which does nothing before Run.
func New(options Options) *Manager {
	m := &Manager{options: options.withDefaults(), workers: map[workerName]*worker{}}
	m.stopping, m.stop = context.WithCancel(context.Background())
	m.hard, m.abandon = context.WithCancel(context.Background())
	m.client = &http.Client{
		Transport: m.options.Transport,
		// What is signed for one address is not for another.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return m
}

// reconcileEvery is how often the registry is looked at: a pointer is compared.
const reconcileEvery = time.Second

// Run follows the registry until ctx is done. It is called once.
func (m *Manager) Run(ctx context.Context, registry func() *tenant.Registry) {
	m.registry = registry
	ticker := time.NewTicker(reconcileEvery)
	defer ticker.Stop()
	for {
		m.reconcile()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// reconcile starts and stops workers as the registry says.
func (m *Manager) reconcile() {
	m.mu.Lock()
	defer m.mu.Unlock()
	registry := m.registry()
	if m.closed || registry == m.reconciled {
		return
	}
	m.reconciled = registry
	workers, byTenant := map[workerName]*worker{}, map[string][]*worker{}
	for extension := range registry.Extensions() {
		for _, environment := range m.options.Environments {
			for _, s := range extension.Sinks(environment) {
				name := workerName{environment, extension.ClientID, s.Name, s.WebhookURL != ""}
				w := m.workers[name]
				if w == nil {
					w = m.startWorker(name)
				}
				workers[name] = w
				at := key.Join(string(environment), extension.ClientID)
				byTenant[at] = append(byTenant[at], w)
			}
		}
	}
	for name, w := range m.workers {
		if workers[name] == nil {
			w.stop()
		}
	}
	m.workers, m.byTenant = workers, byTenant
}

// Touch is a hint that a stream or a document has changed. It returns at once.
func (m *Manager) Touch(name string) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed || len(m.byTenant) == 0 {
		return
	}
	_, rest, _ := strings.Cut(name, "/")
	environment, rest, _ := strings.Cut(rest, "/")
	extension, _, _ := strings.Cut(rest, "/")
	for _, w := range m.byTenant[environment+"/"+extension] {
		w.mark(name)
	}
}

// Close begins no more deliveries and waits for those that are under way. When ctx
// is done first it abandons them: they are made again at the next start.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.stop()
	defer m.abandon()
	idle := make(chan struct{})
	go func() { m.work.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		m.abandon()
		<-idle
		return ctx.Err()
	}
}
