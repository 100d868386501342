package mongostore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/acclaim-dev/acclaim/services/internal/engine/batch"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

const (
	// insertsSideBySide is the number of inserts that are under way while chunks always
	// wait. Further chunks share the next insert, so that a database under load gets few
	// large commands. More than one, so that the database works while an answer is in
	// flight, and a chunk waits for a third of a round trip to a majority at most.
	// mostInserts limits inserts under way when some hang.
	insertsSideBySide, mostInserts = 3, 16
	// chunksAtOnce is the maximum number of chunks in one insert.
	chunksAtOnce = 100
	// bytesAtOnce limits the payloads of one insert. A larger chunk goes alone.
	bytesAtOnce = 4 << 20
	// inserterIdleTimeout limits how long a goroutine waits for its next insert.
	inserterIdleTimeout = time.Second
)

// insertQueue holds the chunks that wait for an insert.
type insertQueue struct {
	ctx           context.Context
	cancel        context.CancelFunc
	insert        func(ctx context.Context, records []*chunkRecord) error
	insertTimeout time.Duration // longest wait of a chunk for its insert
	next          chan struct{} // takes an insert to a goroutine that waits for one
	work          sync.WaitGroup

	mu      sync.Mutex
	waiting []*pendingChunk
	pace    batch.Pace
	took    time.Duration // duration of the last insert; 0: not known yet
	since   time.Time     // end of the last insert, or begin of the first after idleness
	// starting is set while an insert is about to take what waits.
	starting bool
	further  *time.Timer // until a further insert may begin; nil: never set
}

// pendingChunk is a chunk that waits for its insert.
type pendingChunk struct {
	record *chunkRecord
	done   chan struct{} // closed when err is set
	err    error
}

func newInsertQueue(insertTimeout time.Duration, insert func(context.Context, []*chunkRecord) error) *insertQueue {
	ctx, cancel := context.WithCancel(context.Background())
	return &insertQueue{
		ctx: ctx, cancel: cancel, insert: insert, insertTimeout: insertTimeout, next: make(chan struct{}),
		pace: batch.Pace{Parts: insertsSideBySide, Most: mostInserts},
	}
}

// close cancels all inserts.
func (q *insertQueue) close() {
	q.cancel()
	q.mu.Lock()
	if q.further != nil {
		q.further.Stop()
	}
	q.mu.Unlock()
	q.work.Wait()
}

// insertRecord inserts a record together with others that wait. A record that has
// waited too long is not inserted.
func (q *insertQueue) insertRecord(ctx context.Context, record *chunkRecord) error {
	p := &pendingChunk{record: record, done: make(chan struct{})}
	q.mu.Lock()
	q.waiting = append(q.waiting, p)
	q.beginInserts()
	q.mu.Unlock()
	timer := time.NewTimer(q.insertTimeout)
	defer timer.Stop()
	for {
		select {
		case <-p.done:
			return p.err
		case <-timer.C:
			if q.removeWaiting(p) {
				return unavailableError(errWaited)
			}
		case <-ctx.Done():
			return ctx.Err() // it may be in an insert already, or soon
		}
	}
}

var errWaited = errors.New("waited too long for an insert")

// removeWaiting removes a chunk from the queue and reports whether it was still
// there.
func (q *insertQueue) removeWaiting(p *pendingChunk) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, p)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return i >= 0
}

// expectedWait returns the number of waiting chunks and the expected wait of another.
func (q *insertQueue) expectedWait(now time.Time) (waiting int, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if waiting = len(q.waiting); waiting == 0 {
		return 0, 0
	}
	took := max(q.took, now.Sub(q.since))
	return waiting, took * time.Duration(waiting) / (insertsSideBySide * chunksAtOnce)
}

// beginInserts begins an insert of waiting chunks if one may begin now. The end of an insert
// calls it, and so does the timer. a.mu is held.
func (q *insertQueue) beginInserts() {
	if len(q.waiting) == 0 || q.starting || q.ctx.Err() != nil {
		return
	}
	now := time.Now()
	switch wait, ok := q.pace.NextWait(now); {
	case !ok:
	case wait > 0:
		q.beginLater(wait)
	default:
		if q.pace.Running() == 0 {
			q.since = now
		}
		q.starting = true
		select {
		case q.next <- struct{}{}:
		default:
			q.work.Go(q.runInserter)
		}
	}
}

// runInserter inserts a batch, and those that begin while it waits: the driver needs a stack
// that each new goroutine would have to grow.
func (q *insertQueue) runInserter() {
	for {
		q.insertBatch()
		select {
		case <-q.next:
		case <-time.After(inserterIdleTimeout):
			return
		case <-q.ctx.Done():
			return
		}
	}
}

// beginLater calls beginInserts after a pause. a.mu is held.
func (q *insertQueue) beginLater(pause time.Duration) {
	if q.further != nil {
		q.further.Reset(pause)
		return
	}
	q.further = time.AfterFunc(pause, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.beginInserts()
	})
}

// takeBatch takes the chunks of the next insert. a.mu is held.
func (q *insertQueue) takeBatch() (taken []*pendingChunk) {
	n := 0
	for bytes := 0; n < len(q.waiting) && n < chunksAtOnce; n++ {
		bytes += len(q.waiting[n].record.Payload)
		if n > 0 && bytes > bytesAtOnce {
			break
		}
	}
	taken, q.waiting = q.waiting[:n:n], q.waiting[n:]
	return taken
}

// insertBatch inserts waiting chunks.
func (q *insertQueue) insertBatch() {
	taken, began := q.beginBatch()
	if len(taken) == 0 {
		return
	}
	records := make([]*chunkRecord, len(taken))
	for i, p := range taken {
		records[i] = p.record
	}
	err := q.insert(q.ctx, records)
	for i, p := range taken {
		p.err = insertResult(err, i)
		close(p.done)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.since = time.Now()
	q.took = max(q.since.Sub(began), 1)
	q.pace.End(q.took)
	q.beginInserts()
}

// beginBatch takes the chunks of an insert that begins, when those have come that come
// together: the answer to an insert lets many streams go on.
func (q *insertQueue) beginBatch() (taken []*pendingChunk, now time.Time) {
	batch.Gather(q.countWaiting)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.starting = false
	if taken = q.takeBatch(); len(taken) == 0 { // they waited too long
		return nil, now
	}
	now = time.Now()
	q.pace.Begin(now)
	q.beginInserts()
	return taken, now
}

func (q *insertQueue) countWaiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

func (s *Store) insertChunks(ctx context.Context, records []*chunkRecord) error {
	// Unordered: a server continues after a record that it refuses.
	_, err := s.chunks.InsertMany(ctx, records, options.InsertMany().SetOrdered(false))
	return err
}

// insertResult returns the result of an insert for the record at an index: stored,
// refused because its key exists, or unknown. A server decides that a key exists by what
// it has stored itself. When it then cannot wait until a majority has that, the record
// with the key may be rolled back, or be this very one: nothing is known.
func insertResult(err error, index int) error {
	result, ok := errors.AsType[mongo.BulkWriteException](err)
	if !ok {
		return writeError(err)
	}
	for _, failure := range result.WriteErrors {
		switch {
		case failure.Index != index:
		case mongo.IsDuplicateKeyError(failure.WriteError) && result.WriteConcernError != nil:
			return result.WriteConcernError
		case mongo.IsDuplicateKeyError(failure.WriteError):
			return stream.ErrConflict
		default:
			return failure
		}
	}
	if result.WriteConcernError != nil {
		return result.WriteConcernError
	}
	return nil
}
