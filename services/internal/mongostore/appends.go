package mongostore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

const (
	// insertsAtOnce is how many inserts of chunks are under way at a time. A chunk for
	// which there is no room waits and shares the next one with the others that do: a
	// database that many streams ask for a write gets few large commands. Two, so that
	// there is always one to go on with while an answer is on its way.
	insertsAtOnce = 2
	// chunksAtOnce is how many chunks one insert holds at most.
	chunksAtOnce = 100
	// bytesAtOnce is how large their payloads may be together. A chunk that is larger
	// goes alone.
	bytesAtOnce = 4 << 20
)

// appends are the chunks on their way into the database.
type appends struct {
	ctx    context.Context
	cancel context.CancelFunc
	insert func(ctx context.Context, records []*chunkRecord) error
	giveUp time.Duration // how long a chunk waits for its insert at most
	work   sync.WaitGroup

	mu      sync.Mutex
	waiting []*pending
	workers int
	took    time.Duration // by the last insert
	since   time.Time     // when an insert was answered last, or begun where none was under way
}

// pending is a chunk on its way.
type pending struct {
	record *chunkRecord
	done   chan struct{} // closed when err says what came of it
	err    error
}

func newAppends(giveUp time.Duration, insert func(context.Context, []*chunkRecord) error) *appends {
	ctx, cancel := context.WithCancel(context.Background())
	return &appends{ctx: ctx, cancel: cancel, insert: insert, giveUp: giveUp}
}

// close cuts off what is under way.
func (a *appends) close() {
	a.cancel()
	a.work.Wait()
}

// append inserts a record, with others if there are any. One that has waited too
// long for its insert is not inserted.
func (a *appends) append(ctx context.Context, record *chunkRecord) error {
	p := &pending{record: record, done: make(chan struct{})}
	a.mu.Lock()
	a.waiting = append(a.waiting, p)
	if a.workers < insertsAtOnce {
		if a.workers++; a.workers == 1 {
			a.since = time.Now()
		}
		a.work.Go(a.carryOut)
	}
	a.mu.Unlock()
	timer := time.NewTimer(a.giveUp)
	defer timer.Stop()
	for {
		select {
		case <-p.done:
			return p.err
		case <-timer.C:
			if a.withdraw(p) {
				return unavailable(errWaited)
			}
		case <-ctx.Done():
			return ctx.Err() // it may be under way, or be so soon
		}
	}
}

var errWaited = errors.New("waited too long for an insert")

// withdraw takes back a chunk unless it is under way, and reports whether it did.
func (a *appends) withdraw(p *pending) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.waiting, p)
	if i >= 0 {
		a.waiting = slices.Delete(a.waiting, i, i+1)
	}
	return i >= 0
}

// state returns how many chunks wait, and how long one that came now would.
func (a *appends) state(now time.Time) (waiting int, wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if waiting = len(a.waiting); waiting == 0 {
		return 0, 0
	}
	took := max(a.took, now.Sub(a.since))
	return waiting, took * time.Duration(waiting) / (insertsAtOnce * chunksAtOnce)
}

// carryOut inserts what waits until nothing does.
func (a *appends) carryOut() {
	for {
		taken := a.take()
		if len(taken) == 0 {
			return
		}
		records := make([]*chunkRecord, len(taken))
		for i, p := range taken {
			records[i] = p.record
		}
		began := time.Now()
		err := a.insert(a.ctx, records)
		a.note(began)
		for i, p := range taken {
			p.err = outcome(err, i)
			close(p.done)
		}
	}
}

// note keeps in mind how long an insert took that is over now.
func (a *appends) note(began time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.since = time.Now()
	a.took = a.since.Sub(began)
}

// take returns what goes into the next insert. When that is nothing, the worker
// is no longer counted.
func (a *appends) take() (taken []*pending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for bytes := 0; n < len(a.waiting) && n < chunksAtOnce; n++ {
		bytes += len(a.waiting[n].record.Payload)
		if n > 0 && bytes > bytesAtOnce {
			break
		}
	}
	taken, a.waiting = a.waiting[:n:n], a.waiting[n:]
	if n == 0 {
		a.workers--
	}
	return taken
}

func (s *Store) insertChunks(ctx context.Context, records []*chunkRecord) error {
	// Each stands for itself: a server goes on behind one that it refuses.
	_, err := s.chunks.InsertMany(ctx, records, options.InsertMany().SetOrdered(false))
	return err
}

// outcome returns what the result of an insert says about the record at an index:
// it was stored, it was refused because there is one with its key, or nobody knows.
func outcome(err error, index int) error {
	result, ok := errors.AsType[mongo.BulkWriteException](err)
	if !ok {
		return written(err)
	}
	for _, failure := range result.WriteErrors {
		switch {
		case failure.Index != index:
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
