package live

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
)

// trackedSource is something that subscribers follow. At most one goroutine, its worker,
// refreshes it, and only while there is a reason to.
type trackedSource struct {
	broker    *Broker
	name      string           // of a stream or a document, or the prefix of streams' names
	kind      event.SourceKind // 0: all polls of an audience
	every     time.Duration    // the least time between two refreshes
	refresher sourceRefresher
	lease     *limit.Lease[limit.Holder] // nil where no quota holds
	group     *pollGroup                 // the group that found the poll; nil: a subscriber named it
	// primed is closed after the first refresh, with primeErr if that failed. Changes
	// are those since.
	primed   chan struct{}
	primeErr error

	mu         sync.Mutex
	head       uint64 // the newest head that was read
	hinted     uint64 // the newest head in a hint since the last refresh began
	lastRead   time.Time
	configured bool // as of the last refresh
	hides      bool // likewise: viewers do not see the poll's results
	timely     bool // a transition is due, which waits for no tick
	dirty      bool // it has to be read, whatever its head
	due        bool // it has to be refreshed; a read that reaches its head is new enough
	working    bool
	closed     bool
	resuming   []resumption
	alarm      *time.Timer

	// Under broker.mu.
	refs int
	idle *time.Timer

	// Under broker.publishing.
	since   eventNumbers   // the broker's last event when the source began
	newest  []*event.Event // the newest of each name and side, but for messages
	message uint64         // the number of the newest message, or of a buffer's newest chunk
}

// sourceRefresher reads what a source stands for.
type sourceRefresher interface {
	// refresh returns what has changed since the refresh before. A read that reaches
	// the hinted head is new enough; 0 asks for a read of its own.
	refresh(ctx context.Context, hinted uint64) (sourceUpdate, error)
	// close releases what the refresher holds.
	close()
}

// sourceUpdate is the result of a refresh.
type sourceUpdate struct {
	events  []*event.Event
	head    uint64
	message uint64
	// configured reports whether staff has configured the poll that the source is.
	configured bool
	// hides reports that viewers do not see the results of that poll.
	hides bool
	again time.Time // when the source changes without a write; zero: never
}

// limitPause returns a pause that ends no later than when a poll changes without a write: votes
// just before its end do not put that off.
func (s *trackedSource) limitPause(d time.Duration, again time.Time) time.Duration {
	if s.kind != event.Poll || again.IsZero() {
		return d
	}
	return min(d, time.Until(again))
}

// resumption is a subscriber that reconnected and missed the events after one, up to
// the one after which it joined.
type resumption struct {
	subscriber    *Subscriber
	after, joined uint64
}

const (
	// quietAfter is the time without a change after which the tail is polled less often
	// for a poll.
	quietAfter = time.Minute
	// retryEvery is the pause after a failed refresh.
	retryEvery = time.Second
)

// runFirst is a source's first refresh, and the worker that follows it.
func (s *trackedSource) runFirst() {
	_, hinted := s.beginRefresh()
	u, err := s.refresher.refresh(s.broker.ctx, hinted)
	s.broker.publishing.Lock()
	s.since, s.message = s.broker.sequence, u.message
	s.broker.publishing.Unlock()
	if err != nil {
		s.primeErr = err
		s.broker.removeSource(s, err)
		close(s.primed)
		return
	}
	s.broker.publishUpdate(s, u, nil)
	s.recordRefresh(u)
	close(s.primed)
	// A poll that was new has been published just now.
	if len(u.events) > 0 && !s.pause(s.limitPause(s.every, u.again)) || s.stopWorking() {
		return
	}
	s.runRefreshes()
}

// pause reports false when the broker is closed meanwhile.
func (s *trackedSource) pause(d time.Duration) bool {
	if d <= 0 {
		return s.broker.ctx.Err() == nil
	}
	select {
	case <-time.After(d):
		return true
	case <-s.broker.ctx.Done():
		return false
	}
}

// runRefreshes refreshes until there is no reason to any more. It ends no sooner than the
// next refresh may come.
func (s *trackedSource) runRefreshes() {
	if s.group != nil {
		s.group.active.Add(1)
		defer s.group.active.Add(-1)
	}
	for {
		if !s.awaitTick() {
			return
		}
		wait := s.leastPause()
		resuming, hinted := s.beginRefresh()
		u, err := s.refresher.refresh(s.broker.ctx, hinted)
		if err == nil {
			s.broker.stats.refreshes.Add(1)
			s.broker.publishUpdate(s, u, resuming)
			s.recordRefresh(u)
			if wait = s.limitPause(wait, u.again); u.hides {
				wait = 0 // the tick is enough
			}
		} else {
			s.scheduleRetry(err, resuming)
			wait = retryEvery
		}
		if !s.pause(wait) || s.stopWorking() {
			return
		}
	}
}

// awaitTick waits, where viewers do not see a poll's results, for the next full second of
// the clock (or what else the least time between refreshes is). Were such a poll refreshed
// whenever a vote comes, what viewers do receive of it would tell them by its delay that
// one had come. It reports false when the broker is closed meanwhile.
func (s *trackedSource) awaitTick() bool {
	s.mu.Lock()
	waits := s.hides && !s.timely
	s.mu.Unlock()
	return !waits || s.pause(s.every-time.Duration(time.Now().UnixNano())%s.every)
}

// leastPause returns the least time between two refreshes. Polls that viewers made up
// share a rate of events, so that thousands of them do not drown what staff sends.
func (s *trackedSource) leastPause() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.group == nil || s.configured {
		return s.every
	}
	return max(s.every, time.Duration(s.group.active.Load())*s.broker.tuning.madeUpEvery)
}

// beginRefresh returns the subscribers that wait for the refresh which begins, and
// the head that it has to reach; 0 when the source has to be read in any case.
func (s *trackedSource) beginRefresh() (resuming []resumption, hinted uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	resuming = s.resuming
	hinted = s.hinted
	if s.due {
		hinted = max(hinted, s.head)
	}
	if s.dirty {
		hinted = 0
	}
	s.hinted, s.dirty, s.due, s.timely, s.resuming = 0, false, false, false, nil
	return resuming, hinted
}

// recordRefresh notes the head that a refresh reached and when to refresh again.
func (s *trackedSource) recordRefresh(u sourceUpdate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.head, s.lastRead, s.configured = max(s.head, u.head), time.Now(), u.configured
	s.hides = u.hides
	if s.alarm != nil {
		s.alarm.Stop()
		s.alarm = nil
	}
	if !u.again.IsZero() && !s.closed {
		s.alarm = time.AfterFunc(time.Until(u.again), s.refreshInTime)
	}
}

// refreshInTime has the source refreshed when it changes without a write.
func (s *trackedSource) refreshInTime() {
	s.mu.Lock()
	s.timely = true
	s.mu.Unlock()
	s.broker.scheduleSource(s, s.kind == event.Poll)
}

// stopWorking ends the worker unless there is a reason to refresh. The refresh may
// have covered a hint that came while it ran: reading a poll that another process
// owns is itself a hint.
func (s *trackedSource) stopWorking() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.working = (s.dirty || s.due || s.hinted > s.head) && !s.closed
	return !s.working
}

// currentHead returns the newest head that was read.
func (s *trackedSource) currentHead() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head
}

// standing returns 1 for a configured poll and 0 for another, and when it was last read.
func (s *trackedSource) standing() (configured int, lastRead time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.configured {
		configured = 1
	}
	return configured, s.lastRead
}

// isQuiet reports whether there was no reason to refresh lately. A poll that hides its
// results never is: whether it had votes may not show in the delay of other events.
func (s *trackedSource) isQuiet() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.hides && time.Since(s.lastRead) > quietAfter
}

// keepNewest keeps the newest event of each name and side. broker.publishing is held.
func (s *trackedSource) keepNewest(e *event.Event) {
	if _, _, ok := e.Span(); ok || e.Message > 0 {
		return // the log has them
	}
	s.newest = slices.DeleteFunc(s.newest, func(old *event.Event) bool {
		return old.Name == e.Name && (e.For == event.Everyone || old.For == e.For)
	})
	s.newest = append(s.newest, e)
}

// newestOf returns the newest event of each name for a side: one for everyone counts no more
// once a later one is for that side alone. broker.publishing is held.
func (s *trackedSource) newestOf(side event.Sight) (newest []*event.Event) {
	for i, e := range s.newest {
		outdated := slices.ContainsFunc(s.newest[i+1:], func(later *event.Event) bool {
			return later.Name == e.Name && later.For.Reaches(side)
		})
		if e.For.Reaches(side) && !outdated {
			newest = append(newest, e)
		}
	}
	return newest
}

// close ends a source that the broker has removed.
func (s *trackedSource) close() {
	s.mu.Lock()
	s.closed = true
	if s.alarm != nil {
		s.alarm.Stop()
	}
	s.mu.Unlock()
	s.refresher.close()
	s.lease.Release()
}

// awaitFirst waits for the first refresh.
func (s *trackedSource) awaitFirst(ctx context.Context) error {
	select {
	case <-s.primed:
		return s.primeErr
	case <-ctx.Done():
		return fault.Wrap(fault.Unavailable, ctx.Err(), "given up while waiting")
	}
}
