package stream

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/batch"
	"github.com/acclaim-dev/acclaim/services/internal/engine/batchtrace"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// streamLog is one resident stream. Its worker, at most one goroutine, is the only
// one to change it.
type streamLog[S, C, E, R any] struct {
	engine *Engine[S, C, E, R]
	name   string
	// detached reports that only a reader of the past folds this log: it is counted and
	// announced nowhere.
	detached bool
	// resident reports that the log is one of the engine's: its keys take room there.
	resident bool
	queue    batch.Queue[*submittedCall[C, R]]

	// Under engine.mu: callers that keep the log resident, the bytes it was last charged
	// against the budget, and whether only visits have asked for it.
	pins    int
	charged int64
	visited bool

	urgent atomic.Int64 // calls to recover that wait or are under way
	took   atomic.Int64 // by the last append, in nanoseconds
	size   atomic.Int64 // bytes of state
	tail   atomic.Int64 // bytes of chunks since the last snapshot
	loaded atomic.Bool  // state and head are those of a stream that was read

	// blocked is the refusal for calls that would wait behind a chunk whose outcome has
	// been unknown for long; nil for none.
	blocked atomic.Pointer[fault.Error]

	// mu guards state, head and keys against readers. The worker alone writes, so it
	// reads without it.
	mu    sync.RWMutex
	state S
	head  Head
	keys  keyRing
	folds int // how often state and head were replaced as a whole

	// The worker's own.
	taken            []*callItem[C, R]
	entries          []E
	header           chunkHeader // of the chunk being committed
	window           dedupWindow
	chargedKeys      int // last counted in the engine; it may be evicted only while there is no worker
	contendedCommits int // commits to pace because another engine appends too
	trace            *batchtrace.Batch
	loadStep         batchtrace.Step // the last load, until a batch was taken
}

// isCurrent reports whether the resident state needs no question to the store.
func (l *streamLog[S, C, E, R]) isCurrent() bool {
	return l.engine.options.Exclusive && l.loaded.Load()
}

// submitCall queues a call for the worker. awaitCall has to follow unless there is an error.
func (l *streamLog[S, C, E, R]) submitCall(c *submittedCall[C, R], finished chan<- int, place int) (*callItem[C, R], error) {
	e := l.engine
	if err := l.refuseCall(c, e.waiting.Add(1)); err != nil {
		e.waiting.Add(-1)
		return nil, err
	}
	it := batch.NewItem(c)
	it.Announce(finished, place)
	e.traces.NoteQueued(c.traces)
	pushed, start := l.pushCall(it)
	if !pushed {
		e.waiting.Add(-1)
		return nil, errFull()
	}
	if start {
		e.work.Add(1)
		go l.runWorker()
	}
	return it, nil
}

// pushCall adds a call to the queue, unless it would wait for too long there if every append took
// as long as the last one. One batch may always wait, so that its append measures the store again.
func (l *streamLog[S, C, E, R]) pushCall(it *callItem[C, R]) (pushed, start bool) {
	return l.queue.PushIf(it, func(before int) bool { return it.Value.group.recovery || !l.tooLong(before) })
}

// refuseCall returns the error for a call that must not wait, where so many wait,
// itself included. A call to recover is never refused, and counts as urgent.
func (l *streamLog[S, C, E, R]) refuseCall(c *submittedCall[C, R], waiting int64) error {
	if c.group.recovery {
		l.urgent.Add(1)
		return nil
	}
	if waiting > l.engine.tuning.QueueLimit {
		return errFull()
	}
	if refusal := l.blocked.Load(); refusal != nil {
		return refusal
	}
	return nil
}

// awaitCall waits until the worker has dealt with a call.
func (l *streamLog[S, C, E, R]) awaitCall(ctx context.Context, it *callItem[C, R]) error {
	defer l.engine.waiting.Add(-1)
	if it.Value.group.recovery {
		defer l.urgent.Add(-1)
	}
	select {
	case <-it.Done():
		return nil
	case <-ctx.Done():
		return abandonError(ctx, l.queue.Withdraw(it))
	}
}

// tooLong reports whether so many calls take longer than callers wait.
func (l *streamLog[S, C, E, R]) tooLong(calls int) bool {
	batches := calls / l.engine.tuning.BatchLimit
	return batches > 0 && time.Duration(batches+1)*time.Duration(l.took.Load()) > queueTimeout
}

// checkBusy returns the error of Options.Busy, unless calls to recover wait: their
// commands may be stored already.
func (l *streamLog[S, C, E, R]) checkBusy() error {
	if l.urgent.Load() > 0 {
		return nil
	}
	return l.engine.options.Busy()
}

func errFull() error { return fault.New(fault.Unavailable, "too many commands are waiting") }

// abandonError returns the error for a caller whose context is done: nothing was
// stored if its call could be withdrawn.
func abandonError(ctx context.Context, withdrawn bool) error {
	if withdrawn {
		return fault.Wrap(fault.Unavailable, ctx.Err(), "given up while waiting")
	}
	return fault.Wrap(fault.Uncertain, ctx.Err(), "given up while committing")
}

// runWorker handles batches until nothing waits.
func (l *streamLog[S, C, E, R]) runWorker() {
	defer l.engine.work.Done()
	ctx := l.engine.ctx
	for {
		err := l.ensureLoaded(ctx)
		if err == nil {
			err = l.paceCommit(ctx, l.contentionBackoff())
		}
		l.queue.Gather()
		taken := l.queue.Take(l.taken[:0], l.engine.tuning.BatchLimit)
		if len(taken) == 0 {
			l.engine.endWorker(l)
			return // the log is the next worker's from here on
		}
		l.taken = taken
		l.trace = l.beginTrace()
		if err == nil {
			err = l.handleBatch(ctx)
		}
		traced := l.tracesOfBatch()
		l.answerBatch(err)
		l.recordBatch(traced)
		l.saveIfDue()
	}
}

// answerBatch finishes every call of the batch, all with err unless that is nil.
func (l *streamLog[S, C, E, R]) answerBatch(err error) {
	for _, it := range l.taken {
		if err != nil {
			it.Value.err = err
		}
		it.Finish()
	}
	clear(l.taken)
	clear(l.entries) // they keep what they were decided from
}

// paceCommit waits until the next chunk may have a time of its own that is not ahead
// of the wall clock: the next millisecond at most, so that what arrives in it shares a
// commit. A clock that was set back is not waited for: every commit then waits
// clockWait and is stamped as early as it may be, so that the wall clock gains on the
// stream until it has caught up. With Options.AllowEqualTimestamps it does not wait
// while the clock goes forward. contentionBackoff is added to the wait.
func (l *streamLog[S, C, E, R]) paceCommit(ctx context.Context, contentionBackoff time.Duration) error {
	clock := l.engine.clock
	wait := min(time.UnixMilli(l.earliestTime()).Sub(clock.Now()), clockWait)
	wait = max(wait, 0) + contentionBackoff
	if wait <= 0 {
		return nil
	}
	if err := clock.Sleep(ctx, wait); err != nil {
		return fault.Wrap(fault.Unavailable, err, "shutting down")
	}
	return nil
}

// contentionBackoff returns how long to wait before the next commit while other
// processes contend for this stream: for a while after another process's chunk was
// seen, or while the peers report contenders. The winner of a race has a head start
// on the next one and would starve the others, so it waits one estimated turn per
// contender, plus jitter. The loser of a race does not wait.
func (l *streamLog[S, C, E, R]) contentionBackoff() time.Duration {
	others := 0
	if peers := l.engine.options.Peers; peers != nil {
		others = peers.Contenders(l.name)
	}
	if l.contendedCommits > 0 {
		l.contendedCommits--
		others = max(others, 1)
	}
	if others == 0 {
		return 0
	}
	turn := time.Duration(others) * min(max(time.Duration(l.took.Load()), minTurn), maxTurn)
	return turn + l.engine.random.upTo(2*turn)
}

// nextTime returns the time of the next chunk in Unix milliseconds.
func (l *streamLog[S, C, E, R]) nextTime() int64 {
	return max(l.engine.clock.Now().UnixMilli(), l.earliestTime())
}

// earliestTime returns the least time that the next chunk may have.
func (l *streamLog[S, C, E, R]) earliestTime() int64 {
	return l.head.earliestTime(l.engine.options.AllowEqualTimestamps)
}

const (
	queueTimeout = 4 * time.Second
	clockWait    = 5 * time.Millisecond
	minTurn      = 2 * time.Millisecond
	maxTurn      = 25 * time.Millisecond
	// commitsPaced counts the commits that wait after another process's commit was
	// seen.
	commitsPaced = 16
)
