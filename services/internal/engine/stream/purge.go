package stream

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// PurgeResult counts the contents of a stream that Purge has removed, or would remove.
type PurgeResult struct {
	// Found is false where the stream is empty or newer: nothing is counted then.
	Found bool
	// Empty is set where nothing was written since an earlier purge.
	Empty   bool
	Entries uint64 // not counted where a truncation has removed them
	Bytes   uint64 // of the payloads of chunks
}

// Purge makes a stream empty to which nothing was written since a time, as the package
// comment describes. With dryRun it only reports whether it would. It also finishes an
// earlier purge, truncation or erasure that was cut off. It may be called for streams that
// engines append to, and cut off and repeated. Before must be so early that no outcome of an
// append before it is unknown any more.
func (e *Engine[S, C, E, R]) Purge(ctx context.Context, name string, before time.Time, dryRun bool) (PurgeResult, error) {
	if err := e.beginCall(); err != nil {
		return PurgeResult{}, err
	}
	e.work.Done() // Close does not wait: purging again goes on where it was cut off
	var found PurgeResult
	x := &logRedaction[S, C, E, R]{engine: e, name: name, wanted: &controlRecord{kind: recordPurging}}
	x.rewritten, x.onTruncated = func(*controlRecord, uint64) {}, func(*Chunk) {}
	x.inspect = func(chunk *Chunk, n *controlRecord, entries []E) error {
		x.inspectForPurge(chunk, n, len(entries), before, &found)
		return nil
	}
	if dryRun {
		x.resetLog()
		err := x.readLog(ctx)
		return found.ifFound(x.found), err
	}
	done, err := x.runSteps(ctx)
	if x.changed {
		if again := e.refreshResident(ctx, name); err == nil {
			err = again
		}
	}
	if err != nil {
		return PurgeResult{}, fmt.Errorf("purge %s: %w", name, err)
	}
	return found.ifFound(done), nil
}

func (r PurgeResult) ifFound(found bool) PurgeResult {
	if !found {
		return PurgeResult{Empty: r.Empty}
	}
	r.Found = true
	return r
}

// inspectForPurge notes whether the last write up to a chunk was before a time.
func (x *logRedaction[S, C, E, R]) inspectForPurge(chunk *Chunk, n *controlRecord, entries int, before time.Time, found *PurgeResult) {
	if chunk.Seq == 1 {
		*found = PurgeResult{}
	}
	switch {
	case n.startsAgain():
		if x.found = false; n.hasKind(recordPurged) {
			*found = PurgeResult{Empty: true}
		}
	case n.hasKind(recordCheckpoint):
		x.found = n.checkpoint.Head.At < before.UnixMilli()
		found.Bytes += uint64(len(chunk.Payload))
	case entries > 0:
		x.found, found.Empty = chunk.At < before.UnixMilli(), false
		found.Entries, found.Bytes = found.Entries+uint64(entries), found.Bytes+uint64(len(chunk.Payload))
	}
}

// emptyCheckpointAt returns the checkpoint of a purge at a chunk, whose state nothing needs:
// the record of the purge follows.
func (e *Engine[S, C, E, R]) emptyCheckpointAt(ctx context.Context, name string, until uint64) (*controlRecord, error) {
	for chunk, err := range e.store.Chunks(ctx, name, until-1) {
		if err != nil {
			return nil, readError(err)
		}
		if chunk.Seq != until {
			break
		}
		state := e.rules.AppendSnapshot(nil, e.rules.New())
		return &controlRecord{kind: recordCheckpoint, checkpoint: Snapshot{Head: chunk.head(), Format: e.rules.SnapshotFormat(), State: state}}, nil
	}
	return nil, fmt.Errorf("%w: %s has no chunk %d", ErrDamaged, name, until)
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
		e.store.Chunks(ctx, name, after)(yield)
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
			return n.checkpoint.Head.Seq
		}
		break
	}
	return 0
}
