package sink

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// sinkWorker delivers to one sink.
type sinkWorker struct {
	m          *Manager
	name       workerName
	positions  positionStore
	owner      string      // of leases
	initialize *queueLease // of the process that initializes the sink
	sender     eventSender
	ctx        context.Context // ends waiting
	stop       context.CancelFunc
	logger     *slog.Logger
	begun      chan struct{} // closed when the sink is initialized
	sweepAsked chan struct{} // has an element when a sweep is due at once

	mu          sync.Mutex
	initialized bool // positions record what the sink knows
	queues      map[string]*deliveryQueue
	pool        queuePool
	// polls are the classes of polls, as far as they are known.
	polls map[string]sourceClass
	// delivered are the heads up to which sources are known to be delivered.
	delivered   map[string]uint64
	transitions transitionSchedule
	concealed   concealedPolls
}

func (m *Manager) startWorker(name workerName) *sinkWorker {
	transport := "pubsub"
	if name.webhook {
		transport = "webhook"
	}
	w := &sinkWorker{
		m: m, name: name,
		positions: positionStore{m.options.Store, key.Name{
			Kind: Kind, Environment: string(name.environment), Extension: name.extension, Sink: name.sink, Transport: transport,
		}},
		owner: rand.Text(), begun: make(chan struct{}), sweepAsked: make(chan struct{}, 1),
		logger: m.options.Logger.With("extension", name.extension, "environment", string(name.environment), "sink", name.sink),
		queues: map[string]*deliveryQueue{}, pool: queuePool{fresh: newEntryQueue()}, polls: map[string]sourceClass{}, delivered: map[string]uint64{}, transitions: newTransitionSchedule(), concealed: newConcealedPolls(),
	}
	w.initialize = w.newLease(initMarker)
	w.sender = &pubSubSender{w}
	if name.webhook {
		w.sender = &webhookSender{w}
	}
	w.ctx, w.stop = context.WithCancel(m.stopping)
	m.work.Go(w.runSweeps)
	m.work.Go(w.runTransitions)
	return w
}

// findDeclaration returns the sink as the registry declares it now.
func (w *sinkWorker) findDeclaration() (*tenant.Extension, tenant.Sink, bool) {
	extension, ok := w.m.registry().ByClientID(w.name.extension)
	if !ok {
		return nil, tenant.Sink{}, false
	}
	s, ok := extension.Sink(w.name.environment, w.name.sink)
	return extension, s, ok
}

var errUndeclared = errors.New("the registry does not declare the sink any more")

// newLease returns the lease of a queue, which this process does not hold yet.
func (w *sinkWorker) newLease(queue string) *queueLease {
	return &queueLease{
		store: w.m.options.Store, clock: w.m.tuning.clock, key: w.positions.leaseKey(queue), owner: w.owner, atFirst: w.m.tuning.leaseFor,
	}
}

const (
	// checkEvery is the interval at which the worker looks at concealed polls, and whether a sweep
	// is due.
	checkEvery = time.Second
	// transitionsEvery is the interval at which it looks for polls that have begun or ended, and
	// reads those again whose end has passed and that are not closed.
	transitionsEvery = time.Second / 4
)

// runSweeps sweeps for changes without hints until the worker is stopped. Where each change is
// hinted at, sweeps are rare: they are for what a defect of a hint would leave behind.
func (w *sinkWorker) runSweeps() {
	defer w.stopPool()
	for next := time.Now(); ; {
		if now := time.Now(); !now.Before(next) {
			began, err := w.initializeAndSweep()
			if err != nil && w.ctx.Err() == nil {
				w.m.stats.failures.Add(1)
				w.logger.Warn("reading a source failed; retrying", "error", err)
			}
			next = began.Add(w.sweepInterval(time.Since(began), err != nil))
		}
		w.checkConcealed()
		timer := time.NewTimer(min(checkEvery, w.m.tuning.sweepEvery))
		select {
		case <-timer.C:
		case <-w.sweepAsked:
			next = time.Now()
		case <-w.ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// initializeAndSweep sweeps the store if the sink is initialized, or can be now. It returns when the
// sweep began: an initialization takes longer than any sweep after it.
func (w *sinkWorker) initializeAndSweep() (began time.Time, err error) {
	if !w.isInitialized() {
		if done, err := w.initializeOnce(); err != nil || !done {
			return time.Now(), err
		}
	}
	return time.Now(), w.sweepStore()
}

// sweepInterval returns the time from the begin of a sweep to that of the next. Where sweeps take
// long, as with many polls, they take a tenth of the time and leave more to hints, and half a
// percent where each change is hinted at.
func (w *sinkWorker) sweepInterval(took time.Duration, failed bool) time.Duration {
	const long, share, fedShare = checkEvery / 4, 10, 200
	every, part := w.m.tuning.sweepEvery, share
	if w.m.fed.Load() && w.isInitialized() { // before that, hints are not taken
		every, part = w.m.tuning.fedEvery, fedShare
	}
	if failed {
		every, part = min(checkEvery, every), share
	}
	if took > long {
		every = max(every, time.Duration(part)*took)
	}
	return every
}

// runTransitions looks for polls that have begun or ended until the worker is stopped.
func (w *sinkWorker) runTransitions() {
	for pauseFor(w.ctx, transitionsEvery) {
		w.checkDue()
	}
}

// pauseFor reports false when ctx is done meanwhile.
func pauseFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// checkDue reads the polls that have just begun or ended, and enqueues those with something to
// deliver. A poll whose end has passed has nothing as long as its owner takes votes: it is read
// beside its queue, which others need meanwhile.
func (w *sinkWorker) checkDue() {
	at, due := w.takeDue()
	err := w.readBeside(due, w.enqueue, func(e queueEntry) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.transitions.set(e.source.Name, at[e.source.Name])
	})
	w.noteFailure(err, "reading a poll that begins or ends failed; retrying")
}

// takeDue returns the polls whose transitions have passed, and these.
func (w *sinkWorker) takeDue() (at map[string]int64, due map[string]queueEntry) {
	now := w.m.tuning.clock.Now().Unix()
	at, due = map[string]int64{}, map[string]queueEntry{}
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		name, next, ok := w.transitions.takeUntil(now)
		if !ok {
			return at, due
		}
		if source, ok := event.ParseSource(name); ok {
			at[name], due[name] = next, queueEntry{source, readAgain}
		}
	}
}

// recordDelivered notes how far a source is delivered.
func (w *sinkWorker) recordDelivered(name string, at position) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delivered[name] = max(w.delivered[name], at.Head)
	if _, isPoll := w.polls[name]; isPoll && at.Head > 0 {
		w.notePoll(name, at.Configured)
	}
	w.concealed.note(name, at.Hidden && w.sender.side() == event.Viewers)
	if next := at.NextTransition(); next != 0 {
		w.transitions.set(name, next)
	}
}

func (w *sinkWorker) enqueueName(name string, hinted uint64) {
	if source, ok := event.ParseSource(name); ok {
		w.enqueue(queueEntry{source, hinted})
	}
}
