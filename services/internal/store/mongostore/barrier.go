package mongostore

import (
	"context"
	"errors"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
)

// A read with the concern majority may miss what was acknowledged before it: on an old
// primary that no majority follows any more, for as long as that does not know, and on a
// new one until it has committed an entry of its own. A linearizable read misses nothing,
// and costs as much as a write: the server waits for a majority.
//
// So the reads of a process that wait at the same time share one linearizable read, the
// barrier, that began after the last of them arrived. Then each reads with the concern
// majority, after the time of the barrier, whichever member is primary by then.

// readBarrier runs one barrier at a time.
type readBarrier struct {
	ctx    context.Context
	cancel context.CancelFunc
	read   func(context.Context) (bson.Timestamp, error)
	work   sync.WaitGroup

	mu      sync.Mutex
	running bool
	next    *barrierRound // that reads wait for and that has not begun; nil: none
}

// barrierRound is one barrier.
type barrierRound struct {
	done chan struct{} // closed when the others are set
	at   bson.Timestamp
	err  error
}

func newReadBarrier(read func(context.Context) (bson.Timestamp, error)) *readBarrier {
	ctx, cancel := context.WithCancel(context.Background())
	return &readBarrier{ctx: ctx, cancel: cancel, read: read}
}

func (b *readBarrier) close() {
	b.cancel()
	b.work.Wait()
}

// await waits for a barrier that begins after the call, and returns its time.
func (b *readBarrier) await(ctx context.Context) (bson.Timestamp, error) {
	b.mu.Lock()
	if b.next == nil {
		b.next = &barrierRound{done: make(chan struct{})}
	}
	round := b.next
	if !b.running {
		b.running = true
		b.work.Go(b.run)
	}
	b.mu.Unlock()
	select {
	case <-round.done:
		return round.at, round.err
	case <-ctx.Done():
		return bson.Timestamp{}, ctx.Err()
	}
}

// run runs barriers until no read waits for one.
func (b *readBarrier) run() {
	for {
		b.mu.Lock()
		round := b.next
		b.next = nil
		b.running = round != nil
		b.mu.Unlock()
		if round == nil {
			return
		}
		round.at, round.err = b.read(b.ctx)
		close(round.done)
	}
}

// readLinearizable reads one record, whether it exists or not, and returns the time of
// that read; zero where the server does not tell.
func (s *Store) readLinearizable(ctx context.Context) (at bson.Timestamp, err error) {
	err = s.client.UseSession(ctx, func(ctx context.Context) error {
		err := s.linearizable(s.members).FindOne(ctx, bson.D{{Key: "_id", Value: "barrier"}}).Err()
		if now := mongo.SessionFromContext(ctx).OperationTime(); now != nil {
			at = *now
		}
		if errors.Is(err, mongo.ErrNoDocuments) {
			return nil
		}
		return err
	})
	return at, err
}

// beginRead returns a context for reads that see everything acknowledged before the call,
// and a function to call after them. On a server of its own, whose reads are, it does
// nothing. Nor does it through a mongos: a barrier covers one shard, so the read that
// decides is linearizable itself, see Store.current.
func (s *Store) beginRead(ctx context.Context) (context.Context, func(), error) {
	if !s.transactions || s.sharded {
		return ctx, func() {}, nil
	}
	at, err := s.barrier.await(ctx)
	if err != nil {
		return nil, nil, unavailableError(err)
	}
	if at.IsZero() {
		return ctx, func() {}, nil
	}
	session, err := s.client.StartSession()
	if err == nil {
		err = session.AdvanceOperationTime(&at)
	}
	if err != nil {
		return nil, nil, unavailableError(err)
	}
	return mongo.NewSessionContext(ctx, session), func() { session.EndSession(context.WithoutCancel(ctx)) }, nil
}

// current returns a collection for the read that decides whether all is seen.
func (s *Store) current(c *mongo.Collection) *mongo.Collection {
	if s.sharded {
		return s.linearizable(c)
	}
	return c
}

// linearizable returns a collection whose reads are linearizable.
func (*Store) linearizable(c *mongo.Collection) *mongo.Collection {
	return c.Clone(options.Collection().SetReadConcern(readconcern.Linearizable()))
}
