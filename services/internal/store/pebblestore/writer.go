package pebblestore

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/acclaim-dev/acclaim/services/internal/engine/batch"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// heads are the last sequence numbers of streams and the versions of documents,
// by sort and name, those in the batch that is being made included.
type heads = simplelru.LRU[owner, uint64]

type owner struct {
	sort byte
	name string
}

func newHeads() *heads {
	h, err := simplelru.NewLRU[owner, uint64](headsKept, nil)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	return h
}

// writeBatch is the writes of one commit. A read of it sees them.
type writeBatch struct {
	*pebble.Batch
	heads     *heads
	documents []namedDocument // that the batch writes, in order
	durable   bool            // one of the writes has to be durable before it is answered
}

// stageFunc adds a write to a batch, whole, or returns why it is refused.
type stageFunc func(*writeBatch) error

// request is a write and its outcome.
type request struct {
	stage stageFunc
	err   error
}

// set adds a value that has to be durable.
func (b *writeBatch) set(key, value []byte) error {
	b.durable = true
	return b.Set(key, value, nil)
}

// remove deletes what has to be gone for good.
func (b *writeBatch) remove(keys ...[]byte) error {
	b.durable = true
	for _, key := range keys {
		if err := b.Batch.Delete(key, nil); err != nil {
			return err
		}
	}
	return nil
}

// head returns the head of an owner after the batch so far. It calls find where
// none of the last writes was that owner's.
func (b *writeBatch) head(o owner, find func() (uint64, error)) (uint64, error) {
	head, known := b.heads.Get(o)
	if known {
		return head, nil
	}
	head, err := find()
	if err == nil {
		b.heads.Add(o, head)
	}
	return head, err
}

// submit returns once a write is durable or refused.
func (s *Store) submit(ctx context.Context, stage stageFunc) error {
	if ctx.Err() != nil {
		return errWithdrawn(ctx)
	}
	select {
	case s.places <- struct{}{}:
	case <-s.closed:
		return errClosed()
	case <-ctx.Done():
		return errWithdrawn(ctx)
	}
	if err := s.Err(); err != nil {
		<-s.places
		return err
	}
	item := batch.NewItem(request{stage: stage})
	if s.queue.Push(item) {
		go s.work()
	}
	select {
	case <-item.Done():
		return item.Value.err
	case <-ctx.Done():
	}
	if s.queue.Withdraw(item) {
		<-s.places
		return errWithdrawn(ctx)
	}
	select {
	case <-item.Done():
		return item.Value.err
	default:
	}
	return fault.Wrap(fault.Uncertain, context.Cause(ctx), "the write is under way")
}

func errWithdrawn(ctx context.Context) error {
	return fault.Wrap(fault.Unavailable, context.Cause(ctx), "the write was withdrawn, nothing was stored")
}

// work commits what waits until nothing does. It answers the refused writes of a
// batch after the commit, too: the cause of a refusal may be part of the batch.
func (s *Store) work() {
	var items []*batch.Item[request]
	for {
		s.queue.Gather()
		if items = s.queue.Take(items[:0], s.config.batch); len(items) == 0 {
			return
		}
		err := s.write(items)
		for _, item := range items {
			if err != nil {
				item.Value.err = err
			}
			item.Finish()
			<-s.places
		}
	}
}

// write commits a batch. Requests that it refuses have their own error.
func (s *Store) write(items []*batch.Item[request]) error {
	if s.config.access != readWrite {
		return fault.Wrap(fault.Invalid, pebble.ErrReadOnly, "the store was opened to read")
	}
	if err := s.checkReserve(); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	b := &writeBatch{Batch: s.db.NewIndexedBatch(), heads: s.heads}
	defer func() { _ = b.Close() }() // which frees its memory
	for _, item := range items {
		item.Value.err = readError(guard(func() error { return item.Value.stage(b) }))
	}
	if b.Empty() {
		return nil
	}
	s.commits++
	err := errors.Join(
		b.Set(commitsKey(), binary.BigEndian.AppendUint64(nil, s.commits), nil),
		b.Commit(&pebble.WriteOptions{Sync: b.durable}),
	)
	if err != nil {
		s.end(err.Error()) // as Pebble does
	}
	s.recent.replace(b.documents)
	if b.durable {
		s.writeWitness()
	}
	return nil
}

// view runs fn, which reads, while the database stays open.
func (s *Store) view(fn func(*pebble.DB) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.db == nil {
		return errClosed()
	}
	return readError(guard(func() error { return fn(s.db) }))
}
