package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/acclaim-dev/acclaim/services/internal/engine/batchtrace"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Engine runs the commands of one domain on any number of streams of one store.
// Any number of engines, in any number of processes, may share the store.
type Engine[S, C, E, R any] struct {
	rules   Rules[S, C, E, R]
	store   Store
	clock   Clock
	options Options
	tuning  internalLimits
	random  *lockedRandom
	traces  *batchtrace.Recorder
	stats   engineCounters
	holder  KeyHolder[S, C, E] // nil: no records hold keys
	visits  func(query C) bool // of Visitors; nil: no query is a visit

	// keysUsed are the keys of requests in the rings of resident streams.
	keysUsed atomic.Int64
	keyLimit int

	// ctx ends when Close stops waiting; every store call is under it.
	ctx    context.Context
	cancel context.CancelFunc
	// work counts callers and goroutines under way. It is only added to by a
	// caller that found the engine open, or under such a caller.
	work    sync.WaitGroup
	waiting atomic.Int64
	// saving lets one snapshot be written at a time.
	saving chan struct{}

	// lowWatermarks holds the last known heads of streams that other processes own.
	lowWatermarks *lru.Cache[string, uint64]

	mu         sync.Mutex
	closed     bool
	peerQueues map[string]*peerQueue[C, R] // by peer
	resident   *simplelru.LRU[string, *streamLog[S, C, E, R]]
	bytes      int64
}

// New returns an engine over store. Close ends it.
func New[S, C, E, R any](rules Rules[S, C, E, R], store Store, clock Clock, options Options) *Engine[S, C, E, R] {
	// The count is unbounded here: the memory budget decides what stays.
	resident, err := simplelru.NewLRU[string, *streamLog[S, C, E, R]](int(^uint(0)>>1), nil)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	lowWatermarks, err := lru.New[string, uint64](lowWatermarksKept)
	if err != nil {
		panic(err) // likewise
	}
	ctx, cancel := context.WithCancel(context.Background())
	options = options.withDefaults()
	holder, _ := rules.(KeyHolder[S, C, E])
	var visits func(query C) bool
	if visitors, ok := rules.(Visitors[C]); ok {
		visits = visitors.Visits
	}
	return &Engine[S, C, E, R]{
		holder:        holder,
		visits:        visits,
		keyLimit:      options.tuning.KeyLimit,
		rules:         rules,
		store:         store,
		clock:         clock,
		options:       options,
		tuning:        options.tuning.withDefaults(),
		random:        newRandom(options.tuning.Random),
		traces:        batchtrace.NewRecorder(options.Tracer, clock.Now, ErrConflict),
		ctx:           ctx,
		cancel:        cancel,
		saving:        make(chan struct{}, 1),
		lowWatermarks: lowWatermarks,
		peerQueues:    map[string]*peerQueue[C, R]{},
		resident:      resident,
	}
}

// Do runs one command on the stream called name. When it returns without an
// error the command's entry is durable and the answer was read from a state that
// includes it.
//
// Errors are the domain's refusals and those of kind fault.Unavailable and
// fault.Storage (nothing was stored) and fault.Uncertain (unknown outcome).
//
// There is at most one key. A command whose key the log has is not run: its answer is that
// of [Decider.RepeatResult].
func (e *Engine[S, C, E, R]) Do(ctx context.Context, name string, command C, keys ...*once.Key) (R, error) {
	return e.runOne(ctx, name, newKeyed[C, R](command, keys))
}

// DoFrom is Do for a command that releases read since a level. While a live process does not
// read it, this engine commits it, whichever process owns the stream: that is as exact, and
// slower where the owner commits too.
func (e *Engine[S, C, E, R]) DoFrom(ctx context.Context, level Level, name string, command C, keys ...*once.Key) (R, error) {
	result, _, err := e.DoAtFrom(ctx, level, name, command, keys...)
	return result, err
}

// DoAtFrom is DoFrom and returns the last chunk that the state of the answer includes, too.
func (e *Engine[S, C, E, R]) DoAtFrom(ctx context.Context, level Level, name string, command C, keys ...*once.Key) (R, Position, error) {
	c := newKeyed[C, R](command, keys)
	c.here = !e.options.AllRead(level)
	return e.runAt(ctx, name, c)
}

// DoAll runs commands on the stream called name as one: in order, and with all their
// entries in one chunk. Errors that no refusal names are those of Do.
//
// There may be a key of all commands together or, if that is nil, of each. Where another
// request had the key of all, the error is of kind fault.Reused, and of kind fault.Unavailable
// where there is no room for it.
func (e *Engine[S, C, E, R]) DoAll(ctx context.Context, name string, commands []C, query C, whole *once.Key, each []*once.Key) (b Batch[R], err error) {
	return e.runAll(ctx, name, newBatch[C, R](commands, query), whole, each)
}

// DoAllFrom is DoAll for commands that releases read since a level, as DoFrom is Do.
func (e *Engine[S, C, E, R]) DoAllFrom(ctx context.Context, level Level, name string, commands []C, query C, whole *once.Key) (Batch[R], error) {
	c := newBatch[C, R](commands, query)
	c.here = !e.options.AllRead(level)
	return e.runAll(ctx, name, c, whole, nil)
}

func (e *Engine[S, C, E, R]) runAll(ctx context.Context, name string, c *submittedCall[C, R], whole *once.Key, each []*once.Key) (b Batch[R], err error) {
	c.setKeys(whole, each)
	if err := e.dispatchCall(ctx, name, c); err != nil {
		return b, err
	}
	b.outcomes = c.outcomes[:len(c.commands)]
	c.markReplayed()
	if first := b.outcomes[0].err; whole != nil && isRefusedKey(first) {
		return b, first
	}
	b.Answer = c.outcomes[len(c.commands)].result
	return b, nil
}

// Batch holds the outcomes of several commands.
type Batch[R any] struct {
	// Answer answers the query, from a state that includes the commands.
	Answer   R
	outcomes []commandOutcome[R]
}

// Outcome returns the refusal of a command, nil for one that was accepted, and what its decision
// resulted in. The result of a command that another process has run may have more.
func (b Batch[R]) Outcome(i int) (R, error) { return b.outcomes[i].result, b.outcomes[i].err }

// Refusals returns the refusal of each command, nil for one that was accepted.
func (b Batch[R]) Refusals() []error {
	refusals := make([]error, len(b.outcomes))
	for i, o := range b.outcomes {
		refusals[i] = o.err
	}
	return refusals
}

// View answers a query from a state that includes every command acknowledged
// before the call.
func (e *Engine[S, C, E, R]) View(ctx context.Context, name string, query C) (R, error) {
	result, _, err := e.ViewAt(ctx, name, query)
	return result, err
}

// ViewAt is View and returns the last chunk that the state includes, too.
func (e *Engine[S, C, E, R]) ViewAt(ctx context.Context, name string, query C) (R, Position, error) {
	return e.runAt(ctx, name, newQuery[C, R](query))
}

// ViewFrom is ViewAt for a query that releases read since a level. While a live process does not
// read it, this engine answers, whichever process owns the stream.
func (e *Engine[S, C, E, R]) ViewFrom(ctx context.Context, level Level, name string, query C) (R, Position, error) {
	c := newQuery[C, R](query)
	c.here = !e.options.AllRead(level)
	return e.runAt(ctx, name, c)
}

func (e *Engine[S, C, E, R]) runAt(ctx context.Context, name string, c *submittedCall[C, R]) (result R, head Position, err error) {
	if result, err = e.runOne(ctx, name, c); err != nil {
		return result, Position{}, err // the call may be under way still
	}
	return result, c.head, nil
}

func (e *Engine[S, C, E, R]) runOne(ctx context.Context, name string, c *submittedCall[C, R]) (R, error) {
	if err := e.dispatchCall(ctx, name, c); err != nil {
		var none R
		return none, err
	}
	c.markReplayed()
	return c.outcomes[0].result, c.outcomes[0].err
}

// runLocally runs a call on this engine, whichever process owns its stream, and returns why
// there are no outcomes.
func (e *Engine[S, C, E, R]) runLocally(ctx context.Context, name string, c *submittedCall[C, R]) error {
	return e.beginLocally(name, c, nil, 0).finish(ctx)
}

// localCall is a call that this engine runs.
type localCall[S, C, E, R any] struct {
	log  *streamLog[S, C, E, R] // nil if err is set
	call *submittedCall[C, R]
	item *callItem[C, R] // nil: no need to wait
	err  error
}

// beginLocally begins to run a call, which finish has to follow. Where finish would wait,
// finished gets place when it would not any more, unless finished is nil.
func (e *Engine[S, C, E, R]) beginLocally(name string, c *submittedCall[C, R], finished chan<- int, place int) (r localCall[S, C, E, R]) {
	r.call = c
	if r.log, r.err = e.acquireLog(name, c.group.recovery, e.isVisit(c)); r.err != nil {
		return r
	}
	if len(c.commands) > 0 || c.refresh || !r.log.isCurrent() {
		if r.item, r.err = r.log.submitCall(c, finished, place); r.err != nil {
			e.releaseLog(r.log)
		}
	}
	return r
}

// finish waits for the outcomes of a call, and returns why there are none.
func (c localCall[S, C, E, R]) finish(ctx context.Context) error {
	if c.err != nil {
		return c.err
	}
	defer c.log.engine.releaseLog(c.log)
	if c.item != nil {
		if err := c.log.awaitCall(ctx, c.item); err != nil {
			return err
		}
	}
	c.log.completeCall(c.call)
	return c.call.err
}

// ReadError classifies a failed read: fault.Unavailable, which the caller may retry,
// or else fault.Storage.
func ReadError(err error) error {
	kind := fault.Storage
	if fault.KindOf(err) == fault.Unavailable {
		kind = fault.Unavailable
	}
	return fault.Wrap(kind, err, "reading the log failed")
}

// beginCall registers a caller: Close waits until the caller calls work.Done. It
// returns an error once Close was called.
func (e *Engine[S, C, E, R]) beginCall() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return fault.Wrap(fault.Unavailable, errClosed, "shutting down")
	}
	e.work.Add(1)
	return nil
}

// errClosed marks what came after Close.
var errClosed = errors.New("stream: the engine is closed")

// isVisit reports whether a call is a visit: one query that is, and nothing else.
func (e *Engine[S, C, E, R]) isVisit(c *submittedCall[C, R]) bool {
	return e.visits != nil && len(c.commands) == 0 && len(c.queries) == 1 && e.visits(c.queries[0])
}

// acquireLog returns the stream's log and keeps it resident until releaseLog. A call
// to recover is accepted even after Close, because the engine accepted it before.
func (e *Engine[S, C, E, R]) acquireLog(name string, recovery, visit bool) (*streamLog[S, C, E, R], error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed && !recovery {
		return nil, fault.Wrap(fault.Unavailable, errClosed, "shutting down")
	}
	l, ok := e.resident.Get(name)
	if !ok {
		l = &streamLog[S, C, E, R]{engine: e, name: name, resident: true, visited: true}
		e.resident.Add(name, l)
	}
	l.visited = l.visited && visit
	l.pins++
	e.work.Add(1)
	return l, nil
}

func (e *Engine[S, C, E, R]) releaseLog(l *streamLog[S, C, E, R]) {
	e.mu.Lock()
	l.pins--
	size := l.size.Load()
	e.bytes += size - l.charged
	l.charged = size
	e.dropUnneeded(l)
	e.evictIdle()
	e.mu.Unlock()
	e.work.Done()
}

// dropUnneeded drops a stream that is not in use and has no chunks, or that only visits have
// asked for: such names would fill the memory that other streams need. e.mu is held.
func (e *Engine[S, C, E, R]) dropUnneeded(l *streamLog[S, C, E, R]) {
	if l.pins > 0 || !l.queue.Idle() {
		return
	}
	l.mu.RLock()
	written := l.head.Seq > 0
	l.mu.RUnlock()
	if resident, _ := e.resident.Peek(l.name); (!written || l.visited) && resident == l {
		e.resident.Remove(l.name)
		e.bytes -= l.charged
		e.keysUsed.Add(-int64(l.chargedKeys))
	}
}

// endWorker drops what the worker of a stream kept in use.
func (e *Engine[S, C, E, R]) endWorker(l *streamLog[S, C, E, R]) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dropUnneeded(l)
}

// evictIdle drops the streams that were idle longest until the budget is kept.
// Nothing is lost with them: a resident state holds nothing but durable chunks.
func (e *Engine[S, C, E, R]) evictIdle() {
	for tries := e.resident.Len(); tries > 0 && e.bytes > e.tuning.MemoryBudget; tries-- {
		name, l, _ := e.resident.GetOldest()
		if l.pins > 0 || !l.queue.Idle() {
			e.resident.Get(name) // in use: the youngest again
			continue
		}
		e.resident.Remove(name)
		e.bytes -= l.charged
		e.keysUsed.Add(-int64(l.chargedKeys))
		e.stats.evictions.Add(1)
	}
}

// Close refuses new commands, waits for those under way and writes snapshots of
// what a restart would otherwise have to fold again. When ctx is done first,
// what is still under way is cut off, its callers get fault.Uncertain, and the
// error says so.
func (e *Engine[S, C, E, R]) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	defer e.cancel()

	idle := make(chan struct{})
	go func() { e.work.Wait(); close(idle) }()
	select {
	case <-idle:
	case <-ctx.Done():
		e.cancel()
		<-idle
		return fmt.Errorf("stream: drain cut off: %w", ctx.Err())
	}
	return e.saveAll(ctx)
}

// saveAll writes a snapshot of every resident stream with a tail worth it.
func (e *Engine[S, C, E, R]) saveAll(ctx context.Context) error {
	var errs []error
	for _, l := range e.resident.Values() {
		if l.loaded.Load() && l.tail.Load() >= int64(e.options.SnapshotTail) {
			errs = append(errs, l.saveSnapshot(ctx))
		}
	}
	return errors.Join(errs...)
}
