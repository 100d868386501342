package live

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

// Broker is the broker between a process's sources and its subscribers.
type Broker struct {
	options Options
	tuning  tuning
	id      string // random at every start
	ctx     context.Context
	cancel  context.CancelFunc
	work    sync.WaitGroup
	quotas  *quotaPools
	stats   brokerCounters
	watched atomic.Bool // Options.Watch reports everything that is written

	mu      sync.RWMutex // held for moments: commits pass through it
	closed  bool
	sources map[string]*trackedSource

	// publishing orders all events. It guards what subscribers have received and the
	// set of subscribers.
	publishing  sync.Mutex
	draining    bool
	sequence    eventNumbers // of the last event
	topics      map[event.Audience]map[*Subscriber]struct{}
	subscribers int
	leaving     sync.WaitGroup // until all have left
}

// New returns a broker. Close ends it.
func New(options Options) *Broker { return newTuned(options, defaultTuning()) }

func newTuned(options Options, t tuning) *Broker {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b := &Broker{
		options: options,
		tuning:  t,
		id:      rand.Text()[:10],
		quotas:  newQuotaPools(options.Quotas),
		ctx:     ctx,
		cancel:  cancel,
		sources: map[string]*trackedSource{},
		topics:  map[event.Audience]map[*Subscriber]struct{}{},
	}
	if options.Tail != nil {
		b.work.Go(b.followTail)
	}
	options.Notifier.Register(b.notifySource)
	return b
}

// notifySource is an [event.HintReceiver].
func (b *Broker) notifySource(name string, head uint64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.closed || len(b.sources) == 0 {
		return
	}
	if s := b.sources[name]; s != nil {
		s.noteHead(head)
		return
	}
	poll, ok := event.ParseSource(name)
	if !ok || poll.Kind != event.Poll {
		return
	}
	if s := b.sources[event.PollStreams(poll.Audience)]; s != nil && s.refresher.(*pollGroup).discoverPoll(name, head) {
		s.scheduleRefresh(true)
	}
}

// scheduleSource is [trackedSource.scheduleRefresh] where broker.mu is not held.
func (b *Broker) scheduleSource(s *trackedSource, readAgain bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if !b.closed {
		s.scheduleRefresh(readAgain)
	}
}

// acquireSource returns the source of that name, created within the quota if there is
// none, and keeps it until release. No quota, nil, limits nothing.
func (b *Broker) acquireSource(name string, quota *sourceQuota, create func() *trackedSource) (*trackedSource, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errClosed()
	}
	s := b.sources[name]
	if s == nil {
		lease, err := quota.takeSource()
		if err != nil {
			return nil, err
		}
		s = create()
		s.broker, s.name, s.lease, s.primed = b, name, lease, make(chan struct{})
		b.sources[name] = s
		s.working = true
		b.work.Go(s.runFirst)
	}
	s.refs++
	if s.idle != nil {
		s.idle.Stop()
		s.idle = nil
	}
	return s, nil
}

func errClosed() error { return fault.New(fault.Unavailable, "shutting down") }

// releaseSource undoes an acquire. The source stays for a while.
func (b *Broker) releaseSource(s *trackedSource) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.refs--; s.refs == 0 && b.sources[s.name] == s && !b.closed {
		s.idle = time.AfterFunc(b.tuning.linger, func() { b.removeSource(s, nil) })
	}
}

// dropSource is releaseSource for a source that has no reason to stay for a while.
func (b *Broker) dropSource(s *trackedSource) {
	b.mu.Lock()
	s.refs--
	b.mu.Unlock()
	b.removeSource(s, nil)
}

// removeSource removes a source that is unused or failed at its first refresh.
func (b *Broker) removeSource(s *trackedSource, failed error) {
	b.mu.Lock()
	removed := (s.refs == 0 || failed != nil) && b.sources[s.name] == s
	if removed {
		delete(b.sources, s.name)
	}
	b.mu.Unlock()
	if removed {
		s.close()
	}
}

// publishUpdate sends what has changed to the subscribers, and what they missed of it to
// those that resume.
func (b *Broker) publishUpdate(s *trackedSource, u sourceUpdate, resuming []resumption) {
	b.publishing.Lock()
	defer b.publishing.Unlock()
	for _, e := range u.events {
		b.sequence.assign(e)
		s.keepNewest(e)
		for subscriber := range b.topics[e.Audience] {
			subscriber.offerEvent(e)
		}
	}
	b.stats.events.Add(uint64(len(u.events)))
	for _, r := range resuming {
		for _, e := range s.newestOf(r.subscriber.side) {
			if n := numberOf(e, r.subscriber.side); r.after < n && n <= r.joined {
				r.subscriber.offerEvent(e)
			}
		}
	}
	for _, r := range resuming {
		r.subscriber.offerEvent(endOfResumption())
	}
	s.message = max(s.message, u.message)
}

// Drain disconnects every subscriber, to reconnect to another process, and refuses
// new ones.
func (b *Broker) Drain() {
	b.publishing.Lock()
	defer b.publishing.Unlock()
	b.draining = true
	for _, subscribers := range b.topics {
		for s := range subscribers {
			s.disconnect(ErrDraining)
		}
	}
}

// Close drains the broker, waits until every subscriber is closed and ends all that
// the broker does. It stops waiting when ctx is done.
func (b *Broker) Close(ctx context.Context) error {
	b.Drain()
	b.mu.Lock()
	b.closed = true
	sources := b.sources
	b.sources = nil
	b.mu.Unlock()
	b.cancel()
	for _, s := range sources {
		s.close()
	}
	idle := make(chan struct{})
	go func() { b.work.Wait(); b.leaving.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Reasons for which a subscriber is disconnected.
var (
	ErrDraining = errors.New("live: this process is shutting down")
	ErrSlow     = errors.New("live: the subscriber does not keep up")
)
