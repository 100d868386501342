package stream

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// logRedaction is an erasure, a truncation or a purge under way. All its state comes from
// the log, so any process may have done the earlier steps.
type logRedaction[S, C, E, R any] struct {
	engine *Engine[S, C, E, R]
	name   string
	wanted *controlRecord
	// inspect looks at a chunk that was read, for found.
	inspect func(chunk *Chunk, n *controlRecord, entries []E) error
	// rewritten is called for each chunk that an erasure concerns, onTruncated for each
	// that a truncation empties.
	rewritten   func(n *controlRecord, entries uint64)
	onTruncated func(chunk *Chunk)
	// changed is set when a chunk was appended or replaced.
	changed bool

	// What the log says up to the head of log, which has no state.
	log         *streamLog[S, C, E, R]
	found       bool   // the log holds entries to erase or to truncate
	begun       *Chunk // the control record of what is not finished
	checksumSeq uint64 // the last checksum record
	last        uint64 // the last control record that renames, or the checkpoint's head: older snapshots are of no use
	checkpoint  uint64 // the checkpoint's head

	// tombstones is the sequence number up to which all chunks are known to be
	// truncated.
	tombstones uint64
}

// runSteps takes the next step until none is left, and reports whether the wanted
// erasure or truncation was begun and finished.
func (x *logRedaction[S, C, E, R]) runSteps(ctx context.Context) (done bool, err error) {
	x.resetLog()
	for {
		if err := x.readLog(ctx); err != nil {
			return false, err
		}
		switch {
		case x.begun != nil:
			switch ours, err := x.finishBegun(ctx); {
			case errors.Is(err, ErrConflict): // another process has finished it and begun the next
			case err != nil || ours:
				return ours, err
			}
			x.resetLog()
		case !x.found:
			return false, nil
		default:
			x.tombstones = x.checkpoint // for nothing is unfinished
			if x.wanted.hasKind(recordPurging) {
				x.wanted.until = x.log.head.Seq
			}
			if err := x.appendRecord(ctx, x.wanted); err != nil && !errors.Is(err, ErrConflict) {
				return false, err
			}
		}
	}
}

// resetLog makes readLog start from the beginning of the log.
func (x *logRedaction[S, C, E, R]) resetLog() {
	x.log = &streamLog[S, C, E, R]{engine: x.engine, name: x.name}
	x.found, x.begun, x.checksumSeq, x.last, x.checkpoint = false, nil, 0, 0, 0
}

// readLog reads the log from the last chunk read to the end.
func (x *logRedaction[S, C, E, R]) readLog(ctx context.Context) error {
	for chunk, err := range x.engine.presentChunks(ctx, x.name, x.log.head.Seq) {
		if err != nil {
			return readError(err)
		}
		_, n, entries, err := x.log.readNext(&chunk, nil)
		if err != nil {
			return err
		}
		if err := x.inspect(&chunk, n, entries); err != nil {
			return err
		}
		x.log.head = chunk.head()
		switch {
		case n.hasKind(recordTombstone): // a truncation has gone past the head
			x.resetLog()
			return x.readLog(ctx)
		case n.hasKind(recordCheckpoint):
			x.log.head, x.last, x.checkpoint = n.checkpoint.Head, n.checkpoint.Head.Seq, n.checkpoint.Head.Seq
		case n.hasKind(recordChecksum):
			x.checksumSeq = chunk.Seq
		case n.isUnfinished():
			x.begun = &chunk
		}
		if n.replacesIDs() || n.startsAgain() {
			x.last = chunk.Seq
		}
	}
	return nil
}

// presentChunks yields the chunks of a stream after a number, without tombstones:
// after the checkpoint come the chunks after its head.
func (e *Engine[S, C, E, R]) presentChunks(ctx context.Context, name string, after uint64) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		for more := true; more; {
			more = false
			for chunk, err := range e.store.Chunks(ctx, name, after) {
				if !yield(chunk, err) || err != nil {
					return
				}
				if chunk.Seq > 1 || chunk.Count > 0 {
					continue
				}
				if checkpoint, err := checkpointIn(&chunk); checkpoint != nil && err == nil {
					after, more = checkpoint.checkpoint.Head.Seq, true
					break
				}
			}
		}
	}
}

// checkpointIn returns the checkpoint that a chunk holds, nil when it holds none.
func checkpointIn(chunk *Chunk) (*controlRecord, error) {
	_, encoded, err := splitPayload(chunk)
	if err != nil {
		return nil, err
	}
	n, err := controlRecordIn(chunk, encoded)
	if !n.hasKind(recordCheckpoint) {
		return nil, err
	}
	return n, err
}

// appendRecord appends a control record to the log as it was read.
func (x *logRedaction[S, C, E, R]) appendRecord(ctx context.Context, n *controlRecord) error {
	if err := x.log.paceCommit(ctx, 0); err != nil {
		return err
	}
	head := x.log.head
	err := x.engine.store.Append(ctx, Chunk{
		Stream:  x.name,
		Seq:     head.Seq + 1,
		At:      x.log.nextTime(),
		ID:      x.engine.random.newChunkID(),
		Prev:    head.Sum,
		Payload: n.encodePayload(),
	})
	x.changed = x.changed || !fault.NothingStored(err)
	if errors.Is(err, ErrConflict) { // the caller reads on, and it may be too early for that
		err = cmp.Or(x.engine.clock.Sleep(ctx, minTurn), err)
	}
	return err
}

// finishBegun finishes the erasure or truncation that was begun, and reports whether
// it is the wanted one.
func (x *logRedaction[S, C, E, R]) finishBegun(ctx context.Context) (ours bool, err error) {
	begun := *x.begun
	n, err := decodeControlRecord(begun.Payload[len(noGroups):])
	if err != nil {
		return false, err
	}
	x.changed = true
	var seal Digest
	if n.hasKind(recordTruncating) || n.hasKind(recordPurging) {
		seal, err = x.truncateChunks(ctx, n, begun.Seq)
	} else {
		seal, err = x.rewriteChunks(ctx, n, begun.Seq)
	}
	if err != nil {
		return false, err
	}
	closed := begun.redactedTo(n.asFinished().encodePayload())
	if err := x.ensureChecksum(ctx, seal.withChunk(&closed), begun.Seq); err != nil {
		return false, err
	}
	if n.replacesIDs() || n.startsAgain() {
		if err := x.engine.store.DeleteSnapshot(ctx, x.name); err != nil {
			return false, err
		}
	}
	return n.sameStart(x.wanted), x.engine.store.Replace(ctx, closed, begun.Sum())
}

// ensureChecksum appends a checksum record unless the log has one after the control
// record with the given number. The error is ErrConflict if a later truncation has
// emptied the control record, whose checksum record may be gone with it: a second one,
// after the later control record, would count as the later's own.
func (x *logRedaction[S, C, E, R]) ensureChecksum(ctx context.Context, seal Digest, begun uint64) error {
	for x.checksumSeq < begun {
		err := x.appendRecord(ctx, &controlRecord{kind: recordChecksum, checksum: seal})
		if err != nil && !errors.Is(err, ErrConflict) {
			return err
		}
		if err := x.readLog(ctx); err != nil {
			return err
		}
		if x.checkpoint >= begun {
			return ErrConflict
		}
	}
	return nil
}
