package rewrite

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// logRedaction is an erasure, a truncation or a purge under way. All its state comes from
// the log, so any process may have done the earlier steps.
type logRedaction struct {
	*Rewriter
	name   string
	wanted *stream.ControlRecord
	// inspect looks at a chunk that was read, for found, after inspectEntry, unless that is
	// nil, has looked at the ids in each of its entries.
	inspect      func(chunk *stream.Chunk, n *stream.ControlRecord) error
	inspectEntry func(ids []string)
	// rewritten is called for each chunk that an erasure concerns, onTruncated for each
	// that a truncation empties.
	rewritten   func(n *stream.ControlRecord, entries uint64)
	onTruncated func(chunk *stream.Chunk)
	// changed is set when a chunk was appended or replaced.
	changed bool

	// What the log says up to head.
	head        stream.Head
	found       bool          // the log holds entries to erase or to truncate
	begun       *stream.Chunk // the control record of what is not finished
	checksumSeq uint64        // the last checksum record
	last        uint64        // the last control record that renames, or the checkpoint's head: older snapshots are of no use
	checkpoint  uint64        // the checkpoint's head

	// emptied holds the last tombstone that readLog has met.
	emptied stream.EmptiedChunks
	// tombstones is the sequence number up to which all chunks are known to be
	// truncated.
	tombstones uint64
}

// runSteps takes the next step until none is left, and reports whether the wanted
// erasure or truncation was begun and finished.
func (r *logRedaction) runSteps(ctx context.Context) (done bool, err error) {
	r.resetLog()
	for {
		if err := r.readLog(ctx); err != nil {
			return false, err
		}
		switch {
		case r.begun != nil:
			switch ours, err := r.finishBegun(ctx); {
			case errors.Is(err, stream.ErrConflict), errors.Is(err, stream.ErrTruncated):
				// Another process has come further with it, or has finished it and begun the next.
			case err != nil || ours:
				return ours, err
			}
			r.resetLog()
		case !r.found:
			return false, nil
		default:
			r.tombstones = r.checkpoint // for nothing is unfinished
			if r.wanted.HasKind(stream.RecordPurging) {
				r.wanted.Until = r.head.Seq
			}
			if err := r.appendRecord(ctx, r.wanted); err != nil && !errors.Is(err, stream.ErrConflict) {
				return false, err
			}
		}
	}
}

// resetLog makes readLog start from the beginning of the log.
func (r *logRedaction) resetLog() {
	r.head, r.found, r.begun, r.checksumSeq, r.last, r.checkpoint = stream.Head{}, false, nil, 0, 0, 0
}

// readLog reads the log from the last chunk read to the end.
func (r *logRedaction) readLog(ctx context.Context) error {
	for chunk, err := range stream.PresentChunks(ctx, r.store, r.name, r.head.Seq) {
		if err != nil {
			return stream.ReadError(err)
		}
		n, err := r.log.ReadNext(r.head, &chunk, r.inspectEntry)
		if err != nil {
			return err
		}
		if err := r.inspect(&chunk, n); err != nil {
			return err
		}
		r.head = chunk.Head()
		switch {
		case n.HasKind(stream.RecordTombstone): // a truncation has gone past the head
			if err := r.emptied.Meet(r.name, chunk.Seq); err != nil {
				return err
			}
			r.resetLog()
			return r.readLog(ctx)
		case n.HasKind(stream.RecordCheckpoint):
			r.head, r.last, r.checkpoint = n.Checkpoint.Head, n.Checkpoint.Head.Seq, n.Checkpoint.Head.Seq
		case n.HasKind(stream.RecordChecksum):
			r.checksumSeq = chunk.Seq
		case n.IsUnfinished():
			r.begun = &chunk
		}
		if n.ReplacesIDs() || n.StartsAgain() {
			r.last = chunk.Seq
		}
	}
	return nil
}

// finishBegun finishes the erasure or truncation that was begun, and reports whether
// it is the wanted one.
func (r *logRedaction) finishBegun(ctx context.Context) (ours bool, err error) {
	begun := *r.begun
	n, err := begun.Record()
	if err != nil {
		return false, err
	}
	r.changed = true
	var seal stream.Digest
	if n.HasKind(stream.RecordTruncating) || n.HasKind(stream.RecordPurging) {
		seal, err = r.truncateChunks(ctx, n, begun.Seq)
	} else {
		seal, err = r.rewriteChunks(ctx, n, begun.Seq)
	}
	if err != nil {
		return false, err
	}
	closed, err := begun.WithRecord(asFinished(n))
	if err != nil {
		return false, err
	}
	if err := r.ensureChecksum(ctx, withChunk(seal, &closed), begun.Seq); err != nil {
		return false, err
	}
	if n.ReplacesIDs() || n.StartsAgain() {
		if err := r.store.DeleteSnapshot(ctx, r.name); err != nil {
			return false, err
		}
	}
	return sameStart(n, r.wanted), r.store.Replace(ctx, closed, begun.Sum())
}

// appendRecord appends a control record to the log as it was read.
func (r *logRedaction) appendRecord(ctx context.Context, n *stream.ControlRecord) error {
	err := r.log.AppendRecord(ctx, r.name, r.head, n)
	r.changed = r.changed || !fault.NothingStored(err)
	return err
}

// ensureChecksum appends a checksum record unless the log has one after the control
// record with the given number. The error is ErrConflict if a later truncation has
// emptied the control record, whose checksum record may be gone with it: a second one,
// after the later control record, would count as the later's own.
func (r *logRedaction) ensureChecksum(ctx context.Context, seal stream.Digest, begun uint64) error {
	for r.checksumSeq < begun {
		err := r.appendRecord(ctx, &stream.ControlRecord{Kind: stream.RecordChecksum, Checksum: seal})
		if err != nil && !errors.Is(err, stream.ErrConflict) {
			return err
		}
		if err := r.readLog(ctx); err != nil {
			return err
		}
		if r.checkpoint >= begun {
			return stream.ErrConflict
		}
	}
	return nil
}

// sameStart reports whether two control records begin the same.
func sameStart(n, o *stream.ControlRecord) bool {
	return n.Kind == o.Kind && n.Until == o.Until && slices.Equal(n.Names, o.Names)
}

// asFinished returns a control record as it is when what it begins is finished.
func asFinished(n *stream.ControlRecord) *stream.ControlRecord {
	closed := &stream.ControlRecord{Kind: n.Kind + 1, Drop: n.Drop, Until: n.Until}
	for _, naming := range n.Names {
		closed.Names = append(closed.Names, stream.IDReplacement{Name: naming.Name})
	}
	return closed
}

// withChunk adds redacted chunks to the digest of a checksum record, in their order.
func withChunk(d stream.Digest, chunk *stream.Chunk) stream.Digest {
	if !chunk.IsRedacted() {
		return d
	}
	sum := chunk.Sum()
	buf := binary.BigEndian.AppendUint64(d[:], chunk.Seq)
	return sha256.Sum256(append(buf, sum[:]...))
}
