package document

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/batch"
	"github.com/acclaim-dev/acclaim/services/internal/engine/batchtrace"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

const (
	// defaultQueueLimit limits the edits of one document that wait.
	defaultQueueLimit = 1024
	// defaultLimit limits the callers that wait, of all documents together.
	defaultLimit = 16_384
)

// Clock lets the service wait between attempts.
type Clock interface {
	// Sleep waits for d, or until ctx is done and then returns its error.
	Sleep(ctx context.Context, d time.Duration) error
}

// Options configure a service. The zero Options are fit for production.
type Options struct {
	// Busy, if set, is called before a read or an edit needs the store. Its error,
	// which has kind fault.Unavailable, is returned to the callers. A write whose
	// outcome is unknown is settled whatever Busy returns.
	Busy func() error
	// Changed, if set, is called with every version that this service has made
	// durable, soon after. It returns at once.
	Changed func(key string, version uint64)

	// EvaluationBytes bounds the heap, in bytes, that all patches which are evaluated at
	// one time may take together; 0 is 64 MiB. A patch that alone takes more is
	// fault.TooLarge.
	EvaluationBytes int64

	// Traces makes the spans of reads and edits whose context has a sampled span; none are
	// made when nil.
	Traces *batchtrace.Recorder

	tuning internalLimits
}

// internalLimits holds limits that only tests set.
type internalLimits struct {
	// QueueLimit limits the edits of one document that wait or are under way; more are
	// refused with fault.Unavailable.
	QueueLimit int
	// Limit limits the reads and edits of any documents that wait or are under way;
	// more are refused with fault.Unavailable.
	Limit int64
}

// Service reads and edits the documents of a store.
type Service struct {
	store       Store
	clock       Clock
	options     Options
	evaluations patchEvaluations

	// ctx governs the work that is done for several callers at once.
	ctx    context.Context
	cancel context.CancelFunc

	callers atomic.Int64

	mu     sync.Mutex
	queues map[string]*editQueue
	closed bool
	idle   chan struct{} // closed when the service is and no queue is left
}

// NewService returns a service over a store. It owns goroutines only while edits
// are under way.
func NewService(store Store, clock Clock, options Options) *Service {
	if options.tuning.QueueLimit == 0 {
		options.tuning.QueueLimit = defaultQueueLimit
	}
	if options.EvaluationBytes == 0 {
		options.EvaluationBytes = defaultEvaluationBytes
	}
	if options.Busy == nil {
		options.Busy = func() error { return nil }
	}
	if options.Changed == nil {
		options.Changed = func(string, uint64) {}
	}
	if options.tuning.Limit == 0 {
		options.tuning.Limit = defaultLimit
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Service{
		store: store, clock: clock, options: options, evaluations: newEvaluations(options.EvaluationBytes),
		ctx: ctx, cancel: cancel,
		queues: map[string]*editQueue{}, idle: make(chan struct{}),
	}
}

// Get returns the documents at the given keys, in their order. Each reflects
// every edit acknowledged before the call; one that was never written is the
// zero Document.
func (s *Service) Get(ctx context.Context, keys ...string) ([]Document, error) {
	if err := s.admitCaller(); err != nil {
		return nil, err
	}
	defer s.callers.Add(-1)
	call := s.options.Traces.NewCall(ctx)
	trace := s.beginTrace(call)
	documents, err := s.readDocuments(ctx, keys)
	trace.EndStep(stepRead, err)
	trace.Record(call)
	return documents, err
}

// readDocuments reads documents unless the store is busy.
func (s *Service) readDocuments(ctx context.Context, keys []string) ([]Document, error) {
	if err := s.options.Busy(); err != nil {
		return nil, err
	}
	documents, err := s.store.Get(ctx, keys...)
	if err != nil {
		return nil, storageFault(err)
	}
	return documents, nil
}

// admitCaller counts a caller in, unless there are too many.
func (s *Service) admitCaller() error {
	if s.callers.Add(1) > s.options.tuning.Limit {
		s.callers.Add(-1)
		return fault.New(fault.Unavailable, "Too many reads and changes of documents are waiting")
	}
	return nil
}

// Edit applies one change and returns the document it made, once that is
// durable. When edits that came later were combined with it into the same
// write, its result can never be read: then Version is 0.
//
// A change that cannot be applied is fault.Invalid, one whose result is too
// large fault.TooLarge, a Match that does not hold fault.Mismatch; nothing is
// stored then. When ctx ends first, the error is fault.Unavailable if the edit
// was taken back and fault.Uncertain if it was too late for that.
func (s *Service) Edit(ctx context.Context, edit Edit) (Document, error) {
	if err := s.admitCaller(); err != nil {
		return Document{}, err
	}
	defer s.callers.Add(-1)
	l, err := s.enterQueue(edit.Key)
	if err != nil {
		return Document{}, err
	}
	defer s.leaveQueue(l)
	item := batch.NewItem(&editRequest{edit: edit, call: s.options.Traces.NewCall(ctx)})
	s.options.Traces.NoteQueued(item.Value.call)
	if l.queue.Push(item) {
		s.startWorker(l)
	}
	select {
	case <-item.Done():
		return item.Value.document, item.Value.err
	case <-ctx.Done():
	}
	if l.queue.Withdraw(item) {
		return Document{}, fault.Wrap(fault.Unavailable, ctx.Err(), "The request ended before its turn")
	}
	return Document{}, fault.Wrap(fault.Uncertain, ctx.Err(), "The request ended while the document was being written")
}

// Delete makes a document one that was never written. Edits of this process that
// come meanwhile come before or after it as a whole.
func (s *Service) Delete(ctx context.Context, key string) error {
	release, err := s.acquireTurns(ctx, []string{key})
	if err != nil {
		return err
	}
	defer release()
	return s.store.Delete(ctx, key)
}

// Close refuses new edits and waits for those that were accepted. When ctx ends
// first it abandons them, with an outcome unknown to their callers, and returns
// the error of ctx.
func (s *Service) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		s.signalIdle()
	}
	s.mu.Unlock()
	defer s.cancel()
	select {
	case <-s.idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// signalIdle tells Close when nothing is under way any more. s.mu is held.
func (s *Service) signalIdle() {
	if s.closed && len(s.queues) == 0 {
		close(s.idle)
	}
}

// storageFault returns err as a storage failure after which nothing is stored,
// unless it says itself what it is.
func storageFault(err error) error {
	if fault.KindOf(err) != fault.Internal {
		return err
	}
	return fault.Wrap(fault.Storage, err, "The documents could not be read")
}
