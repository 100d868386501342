package document

import (
	"context"
	"runtime"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/batch"
	"github.com/acclaim-dev/acclaim/services/internal/engine/batchtrace"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// editQueue holds the edits of one document that wait for one another. It exists only
// while there are any.
type editQueue struct {
	key   string
	queue batch.Queue[*editRequest]
	// turn is full while a caller decides about and writes the document. Waiting
	// callers get it in the order of their arrival.
	turn chan struct{}
	// pins counts the users of the queue: callers and its worker. Service.mu guards
	// it.
	pins int
}

// editRequest is an edit that waits to be combined with others. document and err are
// set when its item is finished.
type editRequest struct {
	edit     Edit
	call     *batchtrace.Call // nil: not sampled
	document Document
	err      error
}

type editItem = batch.Item[*editRequest]

// enterQueue pins the queue of a key for a caller, unless it has too many pins.
func (s *Service) enterQueue(key string) (*editQueue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fault.New(fault.Unavailable, "The service is shutting down")
	}
	l, ok := s.queues[key]
	if !ok {
		l = &editQueue{key: key, turn: make(chan struct{}, 1)}
		s.queues[key] = l
	}
	if l.pins >= s.options.tuning.QueueLimit {
		return nil, fault.New(fault.Unavailable, "Too many changes of one document are waiting")
	}
	l.pins++
	return l, nil
}

// leaveQueue removes a pin of enterQueue. The last one removes the queue.
func (s *Service) leaveQueue(l *editQueue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.pins--
	if l.pins == 0 {
		delete(s.queues, l.key)
		s.signalIdle()
	}
}

// startWorker starts the worker of a queue that the caller has pinned.
func (s *Service) startWorker(l *editQueue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.pins++
	go s.runWorker(l)
}

// runWorker commits the edits in a queue, batch by batch, until it is empty.
func (s *Service) runWorker(l *editQueue) {
	growStack()
	defer s.leaveQueue(l)
	for s.commitNext(l) {
	}
}

// growStack has the stack of a new goroutine grow to what a batch needs, while it holds nothing that
// must be moved. Where it grew below a batch, that was a twentieth of the processor time of a change.
//
//go:noinline
func growStack() {
	var room [5 << 10]byte // with what a batch needs: 8 KiB
	runtime.KeepAlive(&room)
}

// commitNext commits one batch. It reports false when none was waiting.
func (s *Service) commitNext(l *editQueue) bool {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	edits := l.queue.Take(nil, s.options.tuning.QueueLimit)
	if len(edits) == 0 {
		return false
	}
	s.commitBatch(l.key, edits)
	return true
}

// acquireTurns waits for the turns of all the keys, which are sorted and distinct, so
// that two callers that want several never wait for each other. release gives the
// turns back.
func (s *Service) acquireTurns(ctx context.Context, keys []string) (release func(), err error) {
	var held []*editQueue
	release = func() {
		for _, l := range slices.Backward(held) {
			<-l.turn
			s.leaveQueue(l)
		}
	}
	for _, key := range keys {
		l, err := s.acquireTurn(ctx, key)
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, l)
	}
	return release, nil
}

func (s *Service) acquireTurn(ctx context.Context, key string) (*editQueue, error) {
	l, err := s.enterQueue(key)
	if err != nil {
		return nil, err
	}
	select {
	case l.turn <- struct{}{}:
		return l, nil
	case <-ctx.Done():
		s.leaveQueue(l)
		return nil, fault.Wrap(fault.Unavailable, ctx.Err(), "The request ended before its turn")
	}
}
