package purchase_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing/synctest"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

var errLost = errors.New("connection lost")

// faultyStore is a store that does one step at a time, in an order that a seed decides. It
// loses requests and answers, lets writes arrive late, and its processes die at any step.
// Without transactions it makes several writes one after the other.
type faultyStore struct {
	*storetest.Memory

	transactions bool
	rng          *rand.Rand

	mu   sync.Mutex
	due  []*storeStep
	late [][]document.Write // of requests that were given up
}

// storeStep is a request that waits for its turn, and then for nothing.
type storeStep struct {
	process *storeProcess
	write   []document.Write
	turn    chan stepFate
}

type stepFate int

const (
	done stepFate = iota
	requestLost
	answerLost
	requestLate
)

// storeProcess is the store as one process sees it.
type storeProcess struct {
	store *faultyStore
	dead  bool // guarded by store.mu
}

// do waits for the turn of a step, and takes it.
func (p *storeProcess) do(take func() error, write ...document.Write) error {
	step := &storeStep{p, write, make(chan stepFate)}
	p.store.mu.Lock()
	p.store.due = append(p.store.due, step)
	p.store.mu.Unlock()
	switch <-step.turn {
	case requestLost, requestLate:
		return errLost
	case answerLost:
		_ = take()
		return errLost
	default:
		return take()
	}
}

func (p *storeProcess) Get(ctx context.Context, keys ...string) (found []document.Document, err error) {
	err = p.do(func() error { found, err = p.store.Memory.Get(ctx, keys...); return err })
	if err != nil {
		return nil, err
	}
	return found, nil
}

func (p *storeProcess) Delete(ctx context.Context, key string) error {
	return p.do(func() error { return p.store.Memory.Delete(ctx, key) })
}

func (p *storeProcess) Put(ctx context.Context, writes ...document.Write) error {
	if len(writes) == 1 || p.store.transactions {
		return p.do(func() error { return p.store.Memory.Put(ctx, writes...) }, writes...)
	}
	written := 0
	for _, w := range writes {
		now, err := p.store.Memory.Get(ctx, w.Key)
		if err == nil && now[0].ID != w.ID {
			err = p.do(func() error { return p.store.Memory.Put(ctx, w) }, w)
		}
		switch {
		case err == nil:
			written++
		case errors.Is(err, document.ErrConflict) && written > 0:
			return fmt.Errorf("%w: %d of %d", document.ErrPartial, written, len(writes))
		case errors.Is(err, document.ErrConflict):
			return err
		default:
			return fmt.Errorf("%w: %d of %d: %w", document.ErrIncomplete, written, len(writes), err)
		}
	}
	return nil
}

// kill ends a process: what it has under way is lost or arrives late.
func (p *storeProcess) kill() {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.dead = true
}

// run lets steps have their turns, faulty ones as well, until there are none.
func (s *faultyStore) run() {
	for {
		synctest.Wait()
		s.mu.Lock()
		if s.rng.IntN(8) == 0 {
			s.arrive()
		}
		if len(s.due) == 0 {
			s.mu.Unlock()
			return
		}
		at := s.rng.IntN(len(s.due))
		step := s.due[at]
		s.due = slices.Delete(s.due, at, at+1)
		fate := done
		switch n := s.rng.IntN(100); {
		case step.process.dead && n < 50, n < 3:
			fate = requestLost
		case step.process.dead, n < 6:
			fate = requestLate
			if len(step.write) == 1 || s.transactions {
				s.late = append(s.late, step.write)
			}
		case n < 9:
			fate = answerLost
		}
		s.mu.Unlock()
		step.turn <- fate
	}
}

// arrive has a late request arrive. The caller holds the lock.
func (s *faultyStore) arrive() {
	if len(s.late) == 0 {
		return
	}
	at := s.rng.IntN(len(s.late))
	writes := s.late[at]
	s.late = slices.Delete(s.late, at, at+1)
	_ = s.Memory.Put(context.Background(), writes...)
}
