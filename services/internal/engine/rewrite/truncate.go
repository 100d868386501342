package rewrite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// checkpointLimit bounds the state that a truncation may store as a chunk. MongoDB takes
// commands of 16 MiB, and one that erases a viewer from a chunk has its payload before
// and after: the rest is for longer names.
const checkpointLimit = 7 << 20

// Truncation counts the changes that a truncation made to a stream.
type Truncation struct {
	Chunks uint64 // that have lost their entries
	Bytes  uint64 // of their payloads
}

// Truncate removes the entries from the chunks that were appended before a time, as
// the package comment of stream describes, if there are any, and finishes an earlier truncation
// or erasure that was cut off. It changes no state. A stream whose state is larger
// than 7 MiB is left alone. It may be called for streams that engines append to, and
// cut off and repeated.
func (r *Rewriter) Truncate(ctx context.Context, name string, before time.Time) (Truncation, error) {
	if err := r.log.CheckOpen(); err != nil {
		return Truncation{}, err
	}
	var report Truncation
	if r.keepsEntries != nil {
		if keeps, err := r.keepsEntries(ctx, name); keeps || err != nil {
			return report, err
		}
	}
	x := &logRedaction{Rewriter: r, name: name, wanted: &stream.ControlRecord{Kind: stream.RecordTruncating}}
	x.rewritten = func(*stream.ControlRecord, uint64) {}
	x.onTruncated = func(chunk *stream.Chunk) {
		report.Chunks, report.Bytes = report.Chunks+1, report.Bytes+uint64(len(chunk.Payload))
	}
	x.inspect = func(chunk *stream.Chunk, _ *stream.ControlRecord) error {
		if chunk.Count > 0 && chunk.At < before.UnixMilli() {
			x.found, x.wanted.Until = true, chunk.Seq
		}
		return nil
	}
	fits, err := x.canTruncate(ctx)
	if err == nil && fits {
		_, err = x.runSteps(ctx)
	}
	if x.changed {
		err = errors.Join(err, r.log.Refresh(ctx, name))
	}
	if err != nil {
		return report, fmt.Errorf("truncate %s: %w", name, err)
	}
	return report, nil
}

// NeedsTruncation reports whether the oldest entries of a stream are from before a
// time, or a truncation of it seems to have been cut off. It reads a few chunks only,
// and does not notice an unfinished truncation that lacks only its last steps.
func (r *Rewriter) NeedsTruncation(ctx context.Context, name string, before time.Time) (bool, error) {
	for chunk, err := range stream.PresentChunks(ctx, r.store, name, 0) {
		if err != nil {
			return false, stream.ReadError(err)
		}
		if chunk.Count > 0 {
			return chunk.At < before.UnixMilli(), nil
		}
		checkpoint, err := chunk.Record()
		if err != nil {
			return false, err
		}
		if !checkpoint.HasKind(stream.RecordCheckpoint) || checkpoint.Checkpoint.Head.Seq == 1 {
			continue
		}
		if whole, err := r.isTombstone(ctx, name, checkpoint.Checkpoint.Head.Seq); !whole || err != nil {
			return err == nil, err
		}
	}
	return false, nil
}

// isTombstone reports whether a truncation has removed the entries of a chunk.
func (r *Rewriter) isTombstone(ctx context.Context, name string, seq uint64) (bool, error) {
	for chunk, err := range r.store.Chunks(ctx, name, seq-1) {
		if err != nil {
			return false, stream.ReadError(err)
		}
		n, err := chunk.Record()
		return n.HasKind(stream.RecordTombstone), err
	}
	return false, nil
}

// DropSnapshot deletes the snapshot of a stream to which nothing was appended since a
// time, and reports whether there was one.
func (r *Rewriter) DropSnapshot(ctx context.Context, name string, before time.Time) (bool, error) {
	snapshot, ok, err := r.store.LoadSnapshot(ctx, name)
	if err != nil || !ok || snapshot.Head.At >= before.UnixMilli() {
		return false, err
	}
	for chunk, err := range r.store.Chunks(ctx, name, snapshot.Head.Seq) {
		if err != nil {
			return false, stream.ReadError(err)
		}
		if chunk.Count > 0 && chunk.At >= before.UnixMilli() { // truncations do not count
			return false, nil
		}
	}
	return true, r.store.DeleteSnapshot(ctx, name)
}

// canTruncate reports whether an erasure or a truncation is unfinished, or entries are
// to be truncated and the state after them fits into a chunk.
func (r *logRedaction) canTruncate(ctx context.Context) (bool, error) {
	r.resetLog()
	if err := r.readLog(ctx); err != nil || r.begun != nil || !r.found {
		return r.begun != nil, err
	}
	checkpoint, err := r.checkpointAt(ctx, r.name, r.wanted.Until)
	if errors.Is(err, stream.ErrTruncated) {
		return false, nil // another process is truncating
	}
	return err == nil && len(checkpoint.State) <= checkpointLimit, err
}

// checkpointAt folds a stream up to a chunk and returns the state there.
func (r *Rewriter) checkpointAt(ctx context.Context, name string, until uint64) (checkpoint stream.Snapshot, err error) {
	replay := r.log.Replay(name)
	for chunk, err := range stream.PresentChunks(ctx, r.store, name, 0) {
		if err != nil {
			return checkpoint, stream.ReadError(err)
		}
		if _, err := replay.Next(&chunk); err != nil {
			return checkpoint, err
		}
		if replay.Head().Seq >= until {
			break
		}
	}
	return replay.Snapshot(replay.Head()), nil
}

// truncateChunks replaces the first chunk by the checkpoint, which at once makes it the
// beginning of the stream, and empties the other truncated chunks. It returns the
// digest over all redacted chunks that still count. Chunks that an earlier truncation
// has emptied are not read again: their number only grows.
func (r *logRedaction) truncateChunks(ctx context.Context, n *stream.ControlRecord, begun uint64) (seal stream.Digest, err error) {
	first, err := r.setCheckpoint(ctx, n)
	if err != nil {
		return seal, err
	}
	seal = withChunk(seal, &first)
	for chunk, err := range r.store.Chunks(ctx, r.name, max(1, r.tombstones)) {
		if err != nil {
			return seal, stream.ReadError(err)
		}
		switch {
		case chunk.Seq >= begun:
			return seal, nil
		case chunk.Seq > n.Until:
			seal = withChunk(seal, &chunk)
		default:
			if err := r.replaceByRecord(ctx, &chunk, &stream.ControlRecord{Kind: stream.RecordTombstone}); err != nil {
				return seal, err
			}
		}
	}
	return seal, nil
}

// setCheckpoint makes the first chunk the checkpoint of a truncation or a purge, and
// returns it.
func (r *logRedaction) setCheckpoint(ctx context.Context, n *stream.ControlRecord) (first stream.Chunk, err error) {
	for chunk, err := range r.store.Chunks(ctx, r.name, 0) {
		if err != nil {
			return first, stream.ReadError(err)
		}
		first = chunk
		break
	}
	old, err := first.Record()
	if err != nil || old.HasKind(stream.RecordCheckpoint) && old.Checkpoint.Head.Seq >= n.Until {
		return first, err
	}
	checkpointAt := r.checkpointAt
	if n.StartsAgain() {
		checkpointAt = r.emptyCheckpointAt
	}
	checkpoint, err := checkpointAt(ctx, r.name, n.Until)
	if err != nil {
		return first, err
	}
	return first, r.replaceByRecord(ctx, &first, &stream.ControlRecord{Kind: stream.RecordCheckpoint, Checkpoint: checkpoint})
}

// replaceByRecord makes a chunk hold a control record and the groups that it held, if it does not.
func (r *logRedaction) replaceByRecord(ctx context.Context, chunk *stream.Chunk, n *stream.ControlRecord) error {
	if held, err := chunk.Record(); err != nil || held.HasKind(stream.RecordTombstone) && n.HasKind(stream.RecordTombstone) {
		return err
	}
	changed, err := chunk.WithRecord(n)
	if err != nil {
		return err
	}
	r.onTruncated(chunk)
	was := chunk.Sum()
	*chunk = changed
	return r.store.Replace(ctx, changed, was)
}
