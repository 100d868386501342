package stream

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// Chunks yields the chunks of a stream after the given sequence number, at
// least up to every command acknowledged before the call. With Options.Exclusive it leaves out a
// chunk whose append is under way: a store may show it before it is durable, and lose it again.
func (e *Engine[S, C, E, R]) Chunks(ctx context.Context, name string, after uint64) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		if err := e.CheckOpen(); err != nil {
			yield(Chunk{}, err)
			return
		}
		last := e.lastApplied(name)
		for chunk, err := range e.skipTombstones(ctx, name, after) {
			if err != nil {
				err = ReadError(err)
			} else if chunk.Seq > last {
				return
			}
			if !yield(chunk, err) || err != nil {
				return
			}
		}
	}
}

// lastApplied returns the number of the last chunk that a stream's resident state includes. Where
// there is none, or other processes append, too, it bounds nothing.
func (e *Engine[S, C, E, R]) lastApplied(name string) uint64 {
	e.mu.Lock()
	l, _ := e.resident.Peek(name)
	e.mu.Unlock()
	if l == nil || !l.isCurrent() {
		return math.MaxUint64
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.head.Seq
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
		e.decodeEntries(chunk, encoded)(yield)
	}
}

// unpackChunk returns what a chunk holds: its header, and a control record or entries, which it
// appends to the given ones.
func (e *Engine[S, C, E, R]) unpackChunk(chunk *Chunk, entries []E) (chunkHeader, *ControlRecord, []E, error) {
	header, encoded, err := splitPayload(chunk)
	if err != nil {
		return header, nil, nil, err
	}
	for entry, err := range e.decodeEntries(chunk, encoded) {
		if err != nil {
			return header, nil, nil, err
		}
		entries = append(entries, entry)
	}
	record, err := controlRecordIn(chunk, encoded)
	return header, record, entries, err
}

// decodeEntries yields the entries of a chunk, whose encoding is given.
func (e *Engine[S, C, E, R]) decodeEntries(chunk *Chunk, encoded []byte) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		r := wire.NewReader(encoded)
		for n := range chunk.Count {
			entry := e.rules.DecodeEntry(r)
			if err := r.Err(); err != nil {
				yield(entry, fmt.Errorf("%w: %s chunk %d entry %d: %w", ErrDamaged, chunk.Stream, chunk.Seq, n, err))
				return
			}
			if !yield(entry, nil) {
				return
			}
		}
	}
}

// Record returns the control record that the chunk holds, nil when it holds none.
func (c *Chunk) Record() (*ControlRecord, error) {
	_, encoded, err := splitPayload(c)
	if err != nil {
		return nil, err
	}
	return controlRecordIn(c, encoded)
}

// WithRecord returns the chunk with a control record in place of its entries and keys.
func (c *Chunk) WithRecord(record *ControlRecord) (Chunk, error) {
	header, _, err := splitPayload(c)
	if err != nil {
		return Chunk{}, err
	}
	changed := c.redactedTo(record.appendEncoding(encodeMemberships(header.groups)))
	changed.Count = 0
	return changed, nil
}

// Truncated reports whether a truncation has removed the entries of the chunk.
func (c *Chunk) Truncated() (bool, error) {
	record, err := c.Record()
	return err == nil && record.isTruncated(), err
}

// checkpointIn returns the checkpoint that a chunk holds, nil when it holds none.
func checkpointIn(chunk *Chunk) (*ControlRecord, error) {
	record, err := chunk.Record()
	if !record.HasKind(RecordCheckpoint) {
		return nil, err
	}
	return record, err
}

// PresentChunks yields the chunks of a stream after a number, without tombstones:
// after the checkpoint come the chunks after its head.
func PresentChunks(ctx context.Context, store Store, name string, after uint64) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		for more := true; more; {
			more = false
			for chunk, err := range store.Chunks(ctx, name, after) {
				if !yield(chunk, err) || err != nil {
					return
				}
				if chunk.Seq > 1 || chunk.Count > 0 {
					continue
				}
				if checkpoint, err := checkpointIn(&chunk); checkpoint != nil && err == nil {
					after, more = checkpoint.Checkpoint.Head.Seq, true
					break
				}
			}
		}
	}
}

// skipTombstones yields the chunks of a stream after a number. Where a truncation or a purge
// has emptied the first of them it goes on behind the checkpoint.
func (e *Engine[S, C, E, R]) skipTombstones(ctx context.Context, name string, after uint64) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		for chunk, err := range e.store.Chunks(ctx, name, after) {
			if err != nil {
				yield(chunk, err)
				return
			}
			if gone, err := chunk.Truncated(); err == nil && gone {
				after = max(after, e.checkpointHead(ctx, name))
			}
			break
		}
		e.followingChunks(ctx, name, after)(yield)
	}
}

// followingChunks yields the chunks of a stream after a number. Each follows the one before: a
// gap ends them with [ErrDamaged].
func (e *Engine[S, C, E, R]) followingChunks(ctx context.Context, name string, after uint64) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		head, known := Head{Seq: after}, after == 0 // what a head has beside its number
		for chunk, err := range e.store.Chunks(ctx, name, after) {
			if err == nil && !known {
				head.At, head.Sum, known = chunk.At-1, chunk.Prev, true
			}
			if err == nil {
				head, err = head.Next(&chunk, e.options.AllowEqualTimestamps)
			}
			if !yield(chunk, err) || err != nil {
				return
			}
		}
	}
}

// checkpointHead returns the number of the chunk at which the stream begins, 0 if it was
// never truncated or cannot be read.
func (e *Engine[S, C, E, R]) checkpointHead(ctx context.Context, name string) uint64 {
	for first, err := range e.store.Chunks(ctx, name, 0) {
		if err != nil {
			return 0
		}
		if n, err := checkpointIn(&first); err == nil && n != nil {
			return n.Checkpoint.Head.Seq
		}
		break
	}
	return 0
}
