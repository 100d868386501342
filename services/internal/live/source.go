package live

import (
	"context"
	"sync"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// source is something that is listened to. At most one goroutine, its worker,
// looks at it, and only while there is reason to.
type source struct {
	hub     *Hub
	name    string // of a stream or a document, or what the names of streams begin with
	sort    sort
	every   time.Duration // the least time between two looks
	subject subject
	// primed is closed when the source has been looked at for the first time, or
	// primeErr says why not. Changes are those since.
	primed   chan struct{}
	primeErr error

	mu       sync.Mutex
	head     uint64 // the newest place that was looked at
	hinted   uint64 // the newest place that was hinted at since the last look began
	looked   time.Time
	dirty    bool // it has to be looked at, whatever its place
	working  bool
	ended    bool
	returned []returned
	alarm    *time.Timer

	// Under hub.mu.
	refs int
	idle *time.Timer

	// Under hub.publishing.
	since   uint64   // the hub's last event when the source began
	sent    []*event // the newest of each name, but for messages
	message uint64   // the number of the newest message
}

// sort is what a source is, as the tail of the store sees it.
type sort int

const (
	ofFeed sort = iota
	ofPoll
	ofDocument
	ofSiblings // all streams whose names begin alike
)

// subject is what a source looks at.
type subject interface {
	// look reads the subject and says what has changed since the look before.
	look(ctx context.Context) (news, error)
	// end gives back what the subject keeps.
	end()
}

// news is what a look found.
type news struct {
	events  []*event
	head    uint64
	message uint64
	again   time.Time // when something changes with nobody writing; zero: never
}

// returned is a listener that has come back and has missed what came after one
// event, up to another.
type returned struct {
	listener      *Listener
	after, joined uint64
}

// quietAfter is how long a poll must not have changed to be asked for less often.
const quietAfter = time.Minute

// retryEvery is how long after a failure a source is looked at again.
const retryEvery = time.Second

// begin is a source's first look, and the worker that goes on from there.
func (s *source) begin() {
	n, err := s.subject.look(s.hub.ctx)
	s.hub.publishing.Lock()
	s.since, s.message = s.hub.number, n.message
	s.hub.publishing.Unlock()
	if err != nil {
		s.primeErr = err
		s.hub.drop(s, err)
		close(s.primed)
		return
	}
	s.hub.publish(s, n, nil)
	s.settle(n)
	close(s.primed)
	// What was new has been told of just now.
	if len(n.events) > 0 && !s.pause(s.every) || s.rest() {
		return
	}
	s.run()
}

// pause reports false when the hub is closed meanwhile.
func (s *source) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-s.hub.ctx.Done():
		return false
	}
}

// run looks until there is no reason to any more. It ends no sooner than the next
// look may come.
func (s *source) run() {
	for {
		wait := s.every
		returned := s.take()
		n, err := s.subject.look(s.hub.ctx)
		if err == nil {
			s.hub.stats.looks.Add(1)
			s.hub.publish(s, n, returned)
			s.settle(n)
		} else {
			s.failed(err, returned)
			wait = retryEvery
		}
		if !s.pause(wait) || s.rest() {
			return
		}
	}
}

// take returns who waits for a look that is about to begin.
func (s *source) take() []returned {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := s.returned
	s.hinted, s.dirty, s.returned = 0, false, nil
	return waiting
}

// failed has the look repeated.
func (s *source) failed(err error, waiting []returned) {
	if s.hub.ctx.Err() == nil {
		s.hub.stats.failures.Add(1)
		s.hub.options.Logger.Warn("what is listened to cannot be read; it is tried again", "name", s.name, "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty, s.returned = true, append(waiting, s.returned...)
}

// settle notes how far a look has come and when there is to be another.
func (s *source) settle(n news) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.head, s.looked = max(s.head, n.head), time.Now()
	if s.alarm != nil {
		s.alarm.Stop()
		s.alarm = nil
	}
	if !n.again.IsZero() && !s.ended {
		s.alarm = time.AfterFunc(time.Until(n.again), func() { s.hub.poke(s) })
	}
}

// rest ends the worker unless there is something to look for. What a hint told
// while it looked may be what it saw: reading a poll that is at home elsewhere is
// itself a hint.
func (s *source) rest() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.working = (s.dirty || s.hinted > s.head) && !s.ended
	return !s.working
}

// place returns how far the source was looked at.
func (s *source) place() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head
}

// quiet reports whether there was nothing to look for lately.
func (s *source) quiet() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.looked) > quietAfter
}

// touch is a hint that the source has come to a place.
// hub.mu is held and the hub is open.
func (s *source) touch(head uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if head > s.head {
		s.hinted = max(s.hinted, head)
		s.work()
	}
}

// mark has the source looked at. hub.mu is held and the hub is open.
func (s *source) mark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty = true
	s.work()
}

// work makes sure of a worker. s.mu and hub.mu are held.
func (s *source) work() {
	if !s.working && !s.ended {
		s.working = true
		s.hub.work.Go(s.run)
	}
}

// redeliver has a listener told what it missed, as it is now.
func (s *source) redeliver(r returned) {
	s.mu.Lock()
	s.returned = append(s.returned, r)
	s.mu.Unlock()
	s.hub.poke(s)
}

// remember keeps the newest event of each name. hub.publishing is held.
func (s *source) remember(e *event) {
	if e.message > 0 {
		return // the feed keeps them
	}
	for i, old := range s.sent {
		if old.name == e.name {
			s.sent[i] = e
			return
		}
	}
	s.sent = append(s.sent, e)
}

// end is the end of a source that the hub has forgotten.
func (s *source) end() {
	s.mu.Lock()
	s.ended = true
	if s.alarm != nil {
		s.alarm.Stop()
	}
	s.mu.Unlock()
	s.subject.end()
}

// ready waits for the first look.
func (s *source) ready(ctx context.Context) error {
	select {
	case <-s.primed:
		return s.primeErr
	case <-ctx.Done():
		return fault.Wrap(fault.Unavailable, ctx.Err(), "given up while waiting")
	}
}
