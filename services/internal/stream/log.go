package stream

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/batch"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// log is one resident stream. Its worker, at most one goroutine, is the only
// one to change it.
type log[S, C, E, R any] struct {
	engine *Engine[S, C, E, R]
	name   string
	queue  batch.Queue[*call[C, R]]

	// Under engine.mu: callers that keep the log resident, and the bytes it was
	// last charged against the budget.
	pins    int
	charged int64

	urgent atomic.Int64 // calls to recover that wait or are under way
	took   atomic.Int64 // by the last append, in nanoseconds
	size   atomic.Int64 // bytes of state
	tail   atomic.Int64 // bytes of chunks since the last snapshot
	loaded atomic.Bool  // state and head are those of a stream that was read

	// mu guards state and head against readers. The worker alone writes, so it
	// reads without it.
	mu    sync.RWMutex
	state S
	head  Head
	folds int // how often state and head were replaced as a whole

	// The worker's own.
	taken   []*item[C, R]
	entries []E
	groups  []membership // of the chunk being committed
	memory  memory
	rivals  int // commits to pace because another engine appends too
}

// current reports whether the resident state needs no question to the store.
func (l *log[S, C, E, R]) current() bool {
	return l.engine.options.Exclusive && l.loaded.Load()
}

// submit queues a call and waits until the worker has dealt with it.
func (l *log[S, C, E, R]) submit(ctx context.Context, c *call[C, R]) error {
	e := l.engine
	waiting := e.waiting.Add(1)
	defer e.waiting.Add(-1)
	if (waiting > e.options.QueueLimit || l.slow(waiting)) && !c.group.recovery {
		return errFull()
	}

	if c.group.recovery {
		l.urgent.Add(1)
		defer l.urgent.Add(-1)
	}
	it := batch.NewItem(c)
	if l.queue.Push(it) {
		e.work.Add(1)
		go l.work()
	}
	select {
	case <-it.Done():
		return nil
	case <-ctx.Done():
		return givenUp(ctx, l.queue.Withdraw(it))
	}
}

// slow reports whether whoever joins the queue now would wait for too long, were
// every append to take what the last one took. A batch may always wait, so that
// there is a next one to tell. waiting is the number of calls in all queues of the
// engine: hardly ever enough for this one to be too long, and known without its lock.
func (l *log[S, C, E, R]) slow(waiting int64) bool {
	return l.tooLong(int(waiting)) && l.tooLong(l.queue.Len())
}

// tooLong reports whether so many calls take longer than callers wait.
func (l *log[S, C, E, R]) tooLong(calls int) bool {
	batches := calls / l.engine.options.BatchLimit
	return batches > 0 && time.Duration(batches+1)*time.Duration(l.took.Load()) > patience
}

// busy reports why the store is not to be asked for a batch now. What may be stored
// already is no reason to wait.
func (l *log[S, C, E, R]) busy() error {
	if l.urgent.Load() > 0 {
		return nil
	}
	return l.engine.options.Busy()
}

func errFull() error { return fault.New(fault.Unavailable, "too many commands are waiting") }

// givenUp is what a caller hears whose context is done: nothing has happened if
// its call could be withdrawn.
func givenUp(ctx context.Context, withdrawn bool) error {
	if withdrawn {
		return fault.Wrap(fault.Unavailable, ctx.Err(), "given up while waiting")
	}
	return fault.Wrap(fault.Uncertain, ctx.Err(), "given up while committing")
}

// work handles batches until nothing waits.
func (l *log[S, C, E, R]) work() {
	defer l.engine.work.Done()
	ctx := l.engine.ctx
	for {
		err := l.load(ctx)
		if err == nil {
			err = l.pace(ctx, l.courtesy())
		}
		l.queue.Gather()
		taken := l.queue.Take(l.taken[:0], l.engine.options.BatchLimit)
		if len(taken) == 0 {
			return // the log is the next worker's from here on
		}
		l.taken = taken
		if err == nil {
			err = l.handle(ctx)
		}
		l.answer(err)
		l.saveIfDue()
	}
}

// answer finishes every call of the batch, all with err unless that is nil.
func (l *log[S, C, E, R]) answer(err error) {
	for _, it := range l.taken {
		if err != nil {
			it.Value.err = err
		}
		it.Finish()
	}
	clear(l.taken)
}

// pace waits until the next chunk may have a time of its own that is not ahead
// of the wall clock: the next millisecond at most, so that what arrives in it
// shares a commit. A clock that was set back is not waited for: every commit
// then waits clockWait and is stamped as early as it may be, so that the wall
// clock gains on the stream until it has caught up. With Options.Ties there is
// nothing to wait for while the clock goes forward.
// courtesy comes on top.
func (l *log[S, C, E, R]) pace(ctx context.Context, courtesy time.Duration) error {
	clock := l.engine.clock
	wait := min(time.UnixMilli(l.earliest()).Sub(clock.Now()), clockWait)
	wait = max(wait, 0) + courtesy
	if wait <= 0 {
		return nil
	}
	if err := clock.Sleep(ctx, wait); err != nil {
		return fault.Wrap(fault.Unavailable, err, "shutting down")
	}
	return nil
}

// courtesy returns how long the next commit leaves the others a chance: for a
// while after somebody else's chunk was seen, or when the peers say so. The winner
// of a race has a head start on the next one and would starve the others. So it
// waits until each of them can have had its turn, as long as its own took, give or
// take some; who has lost tries again at once.
func (l *log[S, C, E, R]) courtesy() time.Duration {
	others := 0
	if peers := l.engine.options.Peers; peers != nil {
		others = peers.Rivals(l.name)
	}
	if l.rivals > 0 {
		l.rivals--
		others = max(others, 1)
	}
	if others == 0 {
		return 0
	}
	turn := time.Duration(others) * min(max(time.Duration(l.took.Load()), minTurn), maxTurn)
	return turn + l.engine.random.upTo(2*turn)
}

// stamp returns the time of the next chunk in Unix milliseconds.
func (l *log[S, C, E, R]) stamp() int64 {
	return max(l.engine.clock.Now().UnixMilli(), l.earliest())
}

// earliest returns the least time that the next chunk may have.
func (l *log[S, C, E, R]) earliest() int64 { return l.head.earliest(l.engine.options.Ties) }

const (
	patience  = 4 * time.Second
	clockWait = 5 * time.Millisecond
	minTurn   = 2 * time.Millisecond
	maxTurn   = 25 * time.Millisecond
	// rivalCommits is how many commits are paced after somebody else's was seen.
	rivalCommits = 16
)
