package rewrite

import (
	"context"
	"fmt"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
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
// comment of stream describes. With dryRun it only reports whether it would. It also finishes an
// earlier purge, truncation or erasure that was cut off. It may be called for streams that
// engines append to, and cut off and repeated. Before must be so early that no outcome of an
// append before it is unknown any more.
func (r *Rewriter) Purge(ctx context.Context, name string, before time.Time, dryRun bool) (PurgeResult, error) {
	if err := r.log.CheckOpen(); err != nil {
		return PurgeResult{}, err
	}
	var found PurgeResult
	x := &logRedaction{Rewriter: r, name: name, wanted: &stream.ControlRecord{Kind: stream.RecordPurging}}
	x.rewritten, x.onTruncated = func(*stream.ControlRecord, uint64) {}, func(*stream.Chunk) {}
	x.inspect = func(chunk *stream.Chunk, n *stream.ControlRecord) error {
		x.inspectForPurge(chunk, n, before, &found)
		return nil
	}
	if dryRun {
		x.resetLog()
		err := x.readLog(ctx)
		return found.ifFound(x.found), err
	}
	done, err := x.runSteps(ctx)
	if x.changed {
		if again := r.log.Refresh(ctx, name); err == nil {
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
func (r *logRedaction) inspectForPurge(chunk *stream.Chunk, n *stream.ControlRecord, before time.Time, found *PurgeResult) {
	if chunk.Seq == 1 {
		*found = PurgeResult{}
	}
	switch {
	case n.StartsAgain():
		if r.found = false; n.HasKind(stream.RecordPurged) {
			*found = PurgeResult{Empty: true}
		}
	case n.HasKind(stream.RecordCheckpoint):
		r.found = n.Checkpoint.Head.At < before.UnixMilli()
		found.Bytes += uint64(len(chunk.Payload))
	case chunk.Count > 0:
		r.found, found.Empty = chunk.At < before.UnixMilli(), false
		found.Entries, found.Bytes = found.Entries+uint64(chunk.Count), found.Bytes+uint64(len(chunk.Payload))
	}
}

// emptyCheckpointAt returns the state of a purge at a chunk, which nothing needs: the record of the purge follows.
func (r *Rewriter) emptyCheckpointAt(ctx context.Context, name string, until uint64) (checkpoint stream.Snapshot, err error) {
	for chunk, err := range r.store.Chunks(ctx, name, until-1) {
		if err != nil {
			return checkpoint, stream.ReadError(err)
		}
		if chunk.Seq != until {
			break
		}
		return r.log.Replay(name).Snapshot(chunk.Head()), nil
	}
	return checkpoint, fmt.Errorf("%w: %s has no chunk %d", stream.ErrDamaged, name, until)
}
