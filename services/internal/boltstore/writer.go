package boltstore

import (
	"context"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// operation is what a caller wants done: a write or a change.
type operation interface {
	// size is roughly that of what it writes, in bytes.
	size() int
}

// write is an operation on the records by way of the journal.
type write interface {
	operation
	// stage adds the write to a batch, whole, or says why it is refused.
	stage(b *batch) error
}

// request is one caller's operation and the place for its answer.
type request struct {
	operation operation
	claimed   atomic.Bool
	answer    chan error // has room for the one answer
}

// claim reports whether the caller is the first to claim the request: the
// writer in order to carry it out, or whoever made it in order to withdraw it.
func (r *request) claim() bool { return r.claimed.CompareAndSwap(false, true) }

// writer is the one goroutine that changes the file.
type writer struct {
	db      *database
	tables  *tables
	heads   *heads
	journal *journal
	body    []byte // buffer of the commits' bodies
	limits  limits

	gate     sync.RWMutex // held for reading by whoever sends a request
	closed   bool
	requests chan *request
	done     chan struct{} // closed when the goroutine has ended

	moved   string // key in the frozen table at which the next slice begins
	left    int    // bytes of the frozen table from there on
	stalled bool   // moving records failed and waits for the next commit

	commits, writes atomic.Uint64
}

func newWriter(db *database, tables *tables, limits limits) *writer {
	return &writer{
		db:       db,
		tables:   tables,
		heads:    newHeads(),
		journal:  &journal{db: db},
		limits:   limits,
		requests: make(chan *request, limits.queue),
		done:     make(chan struct{}),
	}
}

// submit has an operation carried out and returns once it is durable or refused.
func (w *writer) submit(ctx context.Context, o operation) error {
	r := &request{operation: o, answer: make(chan error, 1)}
	if err := w.enqueue(ctx, r); err != nil {
		return err
	}
	select {
	case err := <-r.answer:
		return err
	case <-ctx.Done():
		if r.claim() {
			return withdrawn(ctx)
		}
		return <-r.answer
	}
}

func (w *writer) enqueue(ctx context.Context, r *request) error {
	w.gate.RLock()
	defer w.gate.RUnlock()
	if w.closed {
		return fault.Wrap(fault.Unavailable, os.ErrClosed, "storage is closed")
	}
	if ctx.Err() != nil {
		return withdrawn(ctx)
	}
	select {
	case w.requests <- r:
		return nil
	case <-ctx.Done():
		return withdrawn(ctx)
	}
}

func withdrawn(ctx context.Context) error {
	return fault.Wrap(fault.Unavailable, context.Cause(ctx), "the write was withdrawn, nothing was stored")
}

// close refuses further requests and returns when the others are answered.
func (w *writer) close() {
	w.gate.Lock()
	if !w.closed {
		w.closed = true
		close(w.requests)
	}
	w.gate.Unlock()
	<-w.done
}

func (w *writer) run() {
	defer close(w.done)
	for open := true; open; {
		var requests []*request
		requests, open = w.gather()
		w.commit(requests)
		w.moveInBackground()
	}
	w.moveEverything()
	w.journal.end()
}

// gather returns the requests that wait. It waits for one itself unless there
// are records to move. open is false when there will be no more.
func (w *writer) gather() (requests []*request, open bool) {
	wait := w.tables.frozen == nil || w.stalled
	for size := 0; size < w.limits.batch; wait = false {
		if len(requests) == 1 {
			// Whoever is about to write joins this commit. On an idle machine nobody
			// is, and this costs nothing.
			runtime.Gosched()
		}
		r, open := w.receive(wait)
		if r == nil {
			return requests, open
		}
		if r.claim() {
			requests = append(requests, r)
			size += r.operation.size()
		}
	}
	return requests, true
}

// receive returns the next request, nil when there is none. open is false when
// there will be no more.
func (w *writer) receive(wait bool) (r *request, open bool) {
	select {
	case r, open = <-w.requests:
		return r, open
	default:
	}
	if !wait {
		return nil, true
	}
	w.journal.mark() // nobody is kept waiting by it now
	r, open = <-w.requests
	return r, open
}

// commit makes the requests durable and answers all of them, refused writes too
// only then: what they were refused for may be part of the batch.
func (w *writer) commit(requests []*request) {
	writes, changes := requests[:0:0], requests[:0:0]
	for _, r := range requests {
		if _, ok := r.operation.(change); ok {
			changes = append(changes, r)
		} else {
			writes = append(writes, r)
		}
	}
	w.answer(writes, w.write)
	w.answer(changes, w.change)
}

// answer carries out requests and answers each.
func (w *writer) answer(requests []*request, carryOut func([]*request) (refusals []error, err error)) {
	if len(requests) == 0 {
		return
	}
	refusals, err := carryOut(requests)
	w.stalled = w.stalled && err != nil
	for i, r := range requests {
		if err != nil {
			r.answer <- err
			continue
		}
		r.answer <- refusals[i]
	}
}

// write makes a batch of writes durable.
func (w *writer) write(requests []*request) (refusals []error, err error) {
	if err := w.makeRoom(); err != nil {
		return nil, err
	}
	b := &batch{db: w.db, tables: w.tables, heads: w.heads, raised: map[string]uint64{}, journal: w.body[:0]}
	refusals = b.stageAll(requests)
	if len(b.entries) == 0 {
		return refusals, w.db.err()
	}
	if err := w.journal.append(w.tables.active.generation, b.journal); err != nil {
		return nil, err
	}
	if w.body = b.journal; cap(w.body) > journalStep {
		w.body = nil
	}
	b.done()
	w.tables.put(b.entries)
	w.count(refusals)
	return refusals, nil
}

// change makes changes of the database durable.
func (w *writer) change(requests []*request) (refusals []error, err error) {
	refusals = make([]error, len(requests))
	err = w.db.update(func(tx *bbolt.Tx) error {
		for _, r := range requests {
			if err := r.operation.(change).apply(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		w.count(refusals)
	}
	return refusals, err
}

// count counts a commit and what was written with it.
func (w *writer) count(refusals []error) {
	w.commits.Add(1)
	for _, refusal := range refusals {
		if refusal == nil {
			w.writes.Add(1)
		}
	}
}

// makeRoom freezes the active table when it is full. The frozen one before it
// must be gone by then: writes wait for that, which bounds the memory.
func (w *writer) makeRoom() error {
	if w.tables.active.size < w.limits.table {
		return nil
	}
	for w.tables.frozen != nil {
		if err := w.moveSlice(); err != nil {
			return certain(err)
		}
	}
	w.tables.freeze()
	return nil
}

// certain is a failure of something else that kept a write from being tried.
func certain(err error) error {
	return fault.Wrap(fault.Storage, err, "storage has no room")
}

// moveInBackground moves a slice, and more if there is more left to move than
// room in the active table: so that no commit has to wait for a whole table.
func (w *writer) moveInBackground() {
	for ahead := false; w.tables.frozen != nil && !w.stalled && !ahead; {
		w.stalled = w.moveSlice() != nil
		ahead = w.left <= w.limits.table-w.tables.active.size
	}
}

// moveEverything leaves an empty journal, unless there is no room for what it
// holds: then it is read when the store is opened.
func (w *writer) moveEverything() {
	var err error
	for err == nil && w.tables.frozen != nil {
		err = w.moveSlice()
	}
	if err == nil && w.tables.active.records.Len() > 0 {
		w.tables.freeze()
		w.moveEverything()
	}
}
