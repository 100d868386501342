package stream

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"sync"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Engine runs the commands of one domain on any number of streams of one store.
// Any number of engines, in any number of processes, may share the store.
type Engine[S, C, E, R any] struct {
	rules   Rules[S, C, E, R]
	store   Store
	clock   Clock
	options Options
	random  *random
	stats   counters

	// ctx ends when Close stops waiting; every store call is under it.
	ctx    context.Context
	cancel context.CancelFunc
	// work counts callers and goroutines under way. It is only added to by a
	// caller that found the engine open, or under such a caller.
	work    sync.WaitGroup
	waiting atomic.Int64
	// saving lets one snapshot be written at a time.
	saving chan struct{}

	// floors are what is known of the heads of streams at home elsewhere.
	floors *lru.Cache[string, uint64]
	seed   maphash.Seed // of the choice among the lanes to a peer

	mu       sync.Mutex
	closed   bool
	lanes    map[laneKey]*lane[C, R]
	resident *simplelru.LRU[string, *log[S, C, E, R]]
	bytes    int64
}

// New returns an engine over store. Close ends it.
func New[S, C, E, R any](rules Rules[S, C, E, R], store Store, clock Clock, options Options) *Engine[S, C, E, R] {
	// The count is unbounded here: the memory budget decides what stays.
	resident, err := simplelru.NewLRU[string, *log[S, C, E, R]](int(^uint(0)>>1), nil)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	floors, err := lru.New[string, uint64](floorsKept)
	if err != nil {
		panic(err) // likewise
	}
	ctx, cancel := context.WithCancel(context.Background())
	options = options.withDefaults()
	return &Engine[S, C, E, R]{
		rules:    rules,
		store:    store,
		clock:    clock,
		options:  options,
		random:   newRandom(options.Random),
		ctx:      ctx,
		cancel:   cancel,
		saving:   make(chan struct{}, 1),
		floors:   floors,
		lanes:    map[laneKey]*lane[C, R]{},
		seed:     maphash.MakeSeed(),
		resident: resident,
	}
}

// Do runs one command on the stream called name. When it returns without an
// error the command's entry is durable and the answer was read from a state that
// includes it.
//
// Errors are the domain's refusals and those of kind fault.Unavailable and
// fault.Storage (nothing was stored) and fault.Uncertain (nobody knows).
func (e *Engine[S, C, E, R]) Do(ctx context.Context, name string, command C) (R, error) {
	return e.one(ctx, name, newCommand[C, R](command))
}

// View answers a query from a state that includes every command acknowledged
// before the call.
func (e *Engine[S, C, E, R]) View(ctx context.Context, name string, query C) (R, error) {
	result, _, err := e.ViewAt(ctx, name, query)
	return result, err
}

// ViewAt is View and returns the sequence number of the last chunk that the
// state includes, too.
func (e *Engine[S, C, E, R]) ViewAt(ctx context.Context, name string, query C) (result R, head uint64, err error) {
	c := newQuery[C, R](query)
	if result, err = e.one(ctx, name, c); err != nil {
		return result, 0, err // the call may be under way still
	}
	return result, c.head, nil
}

func (e *Engine[S, C, E, R]) one(ctx context.Context, name string, c *call[C, R]) (R, error) {
	if err := e.dispatch(ctx, name, c); err != nil {
		var none R
		return none, err
	}
	return c.outcomes[0].result, c.outcomes[0].err
}

// run runs a call on this engine, wherever its stream is at home, and returns why
// there are no outcomes.
func (e *Engine[S, C, E, R]) run(ctx context.Context, name string, c *call[C, R]) error {
	l, err := e.acquire(name, c.group.recovery)
	if err != nil {
		return err
	}
	defer e.release(l)
	if len(c.commands) > 0 || c.look || !l.current() {
		if err := l.submit(ctx, c); err != nil {
			return err
		}
	}
	l.complete(c)
	return c.err
}

// Chunks yields the chunks of a stream after the given sequence number, at
// least up to every command acknowledged before the call.
func (e *Engine[S, C, E, R]) Chunks(ctx context.Context, name string, after uint64) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		if err := e.begin(); err != nil {
			yield(Chunk{}, err)
			return
		}
		e.work.Done() // Close does not wait for a slow reader
		for chunk, err := range e.store.Chunks(ctx, name, after) {
			if err != nil {
				err = unread(err)
			}
			if !yield(chunk, err) || err != nil {
				return
			}
		}
	}
}

// Entries yields the entries of a chunk in order.
func (e *Engine[S, C, E, R]) Entries(chunk *Chunk) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		_, encoded, err := splitPayload(chunk)
		if err != nil {
			var none E
			yield(none, err)
			return
		}
		e.decode(chunk, encoded)(yield)
	}
}

// unpack returns what a chunk holds: its groups, and a notice or entries, which it
// appends to the given ones.
func (e *Engine[S, C, E, R]) unpack(chunk *Chunk, entries []E) ([]membership, *notice, []E, error) {
	groups, encoded, err := splitPayload(chunk)
	if err != nil {
		return nil, nil, nil, err
	}
	for entry, err := range e.decode(chunk, encoded) {
		if err != nil {
			return nil, nil, nil, err
		}
		entries = append(entries, entry)
	}
	notice, err := noticeIn(chunk, encoded)
	return groups, notice, entries, err
}

// decode yields the entries of a chunk, whose encoding is given.
func (e *Engine[S, C, E, R]) decode(chunk *Chunk, encoded []byte) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		for n := range chunk.Count {
			entry, rest, err := e.rules.DecodeEntry(encoded)
			if err != nil {
				yield(entry, fmt.Errorf("%w: %s chunk %d entry %d: %w", ErrDamaged, chunk.Stream, chunk.Seq, n, err))
				return
			}
			if !yield(entry, nil) {
				return
			}
			encoded = rest
		}
	}
}

// unread is what a caller hears of a read that failed: what the store cannot
// take now may be asked again, all else is a failure of storage.
func unread(err error) error {
	kind := fault.Storage
	if fault.KindOf(err) == fault.Unavailable {
		kind = fault.Unavailable
	}
	return fault.Wrap(kind, err, "reading the log failed")
}

// begin counts a caller in, for whom Close waits until work.Done. It refuses
// once Close was called.
func (e *Engine[S, C, E, R]) begin() error {
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

// acquire returns the stream's log and keeps it resident until release. What is
// to be recovered was accepted before Close.
func (e *Engine[S, C, E, R]) acquire(name string, recovery bool) (*log[S, C, E, R], error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed && !recovery {
		return nil, fault.Wrap(fault.Unavailable, errClosed, "shutting down")
	}
	l, ok := e.resident.Get(name)
	if !ok {
		l = &log[S, C, E, R]{engine: e, name: name}
		e.resident.Add(name, l)
	}
	l.pins++
	e.work.Add(1)
	return l, nil
}

func (e *Engine[S, C, E, R]) release(l *log[S, C, E, R]) {
	e.mu.Lock()
	l.pins--
	size := l.size.Load()
	e.bytes += size - l.charged
	l.charged = size
	e.evict()
	e.mu.Unlock()
	e.work.Done()
}

// evict drops the streams that were idle longest until the budget is kept.
// Nothing is lost with them: a resident state holds nothing but durable chunks.
func (e *Engine[S, C, E, R]) evict() {
	for tries := e.resident.Len(); tries > 0 && e.bytes > e.options.MemoryBudget; tries-- {
		name, l, _ := e.resident.GetOldest()
		if l.pins > 0 || !l.queue.Idle() {
			e.resident.Get(name) // in use: the youngest again
			continue
		}
		e.resident.Remove(name)
		e.bytes -= l.charged
		e.stats.evictions.Add(1)
	}
}

// Close refuses new commands, waits for those under way and writes snapshots of
// what a restart would otherwise have to fold again. When ctx is done first,
// what is still under way is cut off, its callers hear fault.Uncertain, and the
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
			errs = append(errs, l.save(ctx))
		}
	}
	return errors.Join(errs...)
}
