package sink

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// Manager has a worker for each sink that the extension registry declares.
type Manager struct {
	options  Options
	tuning   tuning
	client   *http.Client
	registry func() *tenant.Registry // set by Start

	// stopping ends waiting and every request that has not begun, abandoned the others.
	stopping   context.Context
	stop       context.CancelFunc
	abandoned  context.Context
	abandon    context.CancelFunc
	work       sync.WaitGroup
	stats      deliveryCounters
	fed        atomic.Bool // each change of the store is hinted at
	mu         sync.RWMutex
	closed     bool
	workers    map[workerName]*sinkWorker
	byOwner    map[sinkOwner][]*sinkWorker
	reconciled *tenant.Registry
	follows    bool // followChanges runs, or has
}

// sinkOwner is an extension in an environment.
type sinkOwner struct{ environment, extension string }

// workerName is a sink. A sink whose kind changes is a new one.
type workerName struct {
	environment     tenant.Environment
	extension, sink string
	webhook         bool
}

// New returns a manager, which does nothing before Start.
func New(options Options) *Manager {
	t := defaultTuning(options.AllowPrivate)
	if options.Transport != nil {
		t.transport = options.Transport
	}
	return newTuned(options, t)
}

func newTuned(options Options, t tuning) *Manager {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Manager{options: options, tuning: t, workers: map[workerName]*sinkWorker{}}
	m.stopping, m.stop = context.WithCancel(context.Background())
	m.abandoned, m.abandon = context.WithCancel(context.Background())
	m.client = &http.Client{
		Transport: options.Tracing.Transport(t.transport, nameDelivery),
		// A signature is for one address only.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	m.fed.Store(options.Alone)
	options.Notifier.Register(m.notifyWorkers)
	return m
}

// reconcileEvery is the interval at which the registry is checked for changes: it compares a
// pointer.
const reconcileEvery = time.Second

// startWithin limits how long Start waits. To initialize a sink in a store of many sources
// takes longer, and a database that fails should not keep a process from serving.
const startWithin = 10 * time.Second

// Start starts the workers of the sinks that the registry declares, and waits until they are
// initialized, for up to 10 seconds: a sink delivers what is written from then on. It is
// called once.
func (m *Manager) Start(ctx context.Context, registry func() *tenant.Registry) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	m.registry = registry
	for _, w := range m.reconcileWorkers() {
		select {
		case <-w.begun:
		case <-ctx.Done():
			w.logger.Warn("a sink is not initialized yet: what is written until then is not delivered to it")
		}
	}
}

// Run follows the registry until ctx is done. It is called once, after Start.
func (m *Manager) Run(ctx context.Context) {
	ticker := time.NewTicker(reconcileEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			m.reconcileWorkers()
		case <-ctx.Done():
			return
		}
	}
}

// reconcileWorkers starts and stops workers as the registry declares sinks, and returns those
// that it has started.
func (m *Manager) reconcileWorkers() (started []*sinkWorker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	registry := m.registry()
	if m.closed || registry == m.reconciled {
		return nil
	}
	m.reconciled = registry
	workers, byOwner := map[workerName]*sinkWorker{}, map[sinkOwner][]*sinkWorker{}
	for extension := range registry.Extensions() {
		for _, environment := range m.options.Environments {
			for _, s := range extension.Sinks(environment) {
				name := workerName{environment, extension.ClientID, s.Name, s.WebhookURL != ""}
				w := m.workers[name]
				if w == nil {
					w = m.startWorker(name)
					started = append(started, w)
				}
				workers[name] = w
				of := sinkOwner{string(environment), extension.ClientID}
				byOwner[of] = append(byOwner[of], w)
			}
		}
	}
	for name, w := range m.workers {
		if workers[name] == nil {
			w.stop()
		}
	}
	m.workers, m.byOwner = workers, byOwner
	if len(workers) > 0 && m.options.Watch != nil && !m.follows {
		m.follows = true
		m.work.Go(m.followChanges)
	}
	return started
}

// followChanges takes hints at what other processes write. Whenever these begin or end, each
// worker sweeps the store for what no hint has said.
func (m *Manager) followChanges() {
	logger, failing := m.options.Logger, false
	err := m.options.Watch(m.stopping, m.notifyWorkers, func(err error) {
		if err != nil && !failing {
			logger.Info("not every change is reported; sinks sweep the store instead", "reason", err)
		}
		failing = err != nil
		if m.fed.Swap(!failing) || !failing {
			m.requestSweeps()
		}
	})
	m.fed.Store(false)
	if m.stopping.Err() == nil {
		logger.Info("the store has no change stream; sinks sweep the store instead", "reason", err)
		m.requestSweeps()
	}
}

// requestSweeps has each worker sweep the store.
func (m *Manager) requestSweeps() {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, w := range m.workers {
		select {
		case w.sweepAsked <- struct{}{}:
		default: // one is due already
		}
	}
}

// notifyWorkers is an [event.HintReceiver].
func (m *Manager) notifyWorkers(name string, head uint64) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed || len(m.byOwner) == 0 {
		return
	}
	source, ok := event.ParseSource(name)
	if !ok {
		return
	}
	for _, w := range m.byOwner[sinkOwner{source.Audience.Environment, source.Audience.Extension}] {
		w.enqueue(queueEntry{source, head})
	}
}

// Close begins no more deliveries and waits for those in flight. When ctx is done
// first it abandons them: the next process repeats them.
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
