package document

import (
	"context"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/batch"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// lane is where the edits of one document wait for one another. It exists only
// while there are any.
type lane struct {
	key   string
	queue batch.Queue[*request]
	// turn is full while somebody decides about and writes the document. Those
	// who wait for it get it in the order they came.
	turn chan struct{}
	// pins counts who uses the lane: callers and its worker. Service.mu guards it.
	pins int
}

// request is an edit that waits to be combined with others. document and err are
// set when its item is finished.
type request struct {
	edit     Edit
	document Document
	err      error
}

type item = batch.Item[*request]

// enter pins the lane of a key for a caller, unless too many have done that.
func (s *Service) enter(key string) (*lane, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fault.New(fault.Unavailable, "The service is shutting down")
	}
	l, ok := s.lanes[key]
	if !ok {
		l = &lane{key: key, turn: make(chan struct{}, 1)}
		s.lanes[key] = l
	}
	if l.pins >= s.options.QueueLimit {
		return nil, fault.New(fault.Unavailable, "Too many changes of one document are waiting")
	}
	l.pins++
	return l, nil
}

// leave undoes an enter. The lane goes with the last who leaves it.
func (s *Service) leave(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.pins--
	if l.pins == 0 {
		delete(s.lanes, l.key)
		s.signalIdle()
	}
}

// startWorker starts the worker of a lane that the caller has pinned.
func (s *Service) startWorker(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.pins++
	go s.work(l)
}

// work commits what waits in a lane, batch by batch, until nothing does.
func (s *Service) work(l *lane) {
	defer s.leave(l)
	for s.workOnce(l) {
	}
}

// workOnce commits one batch. It reports false when none was waiting.
func (s *Service) workOnce(l *lane) bool {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	edits := l.queue.Take(nil, s.options.QueueLimit)
	if len(edits) == 0 {
		return false
	}
	s.commit(l.key, edits)
	return true
}

// acquire waits for the turns of all the keys, which are sorted and distinct, so
// that two who want several never wait for each other. It returns what gives
// them back.
func (s *Service) acquire(ctx context.Context, keys []string) (release func(), err error) {
	var held []*lane
	release = func() {
		for _, l := range slices.Backward(held) {
			<-l.turn
			s.leave(l)
		}
	}
	for _, key := range keys {
		l, err := s.acquireOne(ctx, key)
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, l)
	}
	return release, nil
}

func (s *Service) acquireOne(ctx context.Context, key string) (*lane, error) {
	l, err := s.enter(key)
	if err != nil {
		return nil, err
	}
	select {
	case l.turn <- struct{}{}:
		return l, nil
	case <-ctx.Done():
		s.leave(l)
		return nil, fault.Wrap(fault.Unavailable, ctx.Err(), "The request ended before its turn")
	}
}
