package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// checkpointLimit bounds the state that a truncation may store as a chunk. MongoDB takes
// commands of 16 MiB, and one that erases a viewer from a chunk has its payload before
// and after: the rest is for longer names.
const checkpointLimit = 7 << 20

// errTruncated reports a truncation that emptied chunks while they were being read.
var errTruncated = errors.New("stream: chunks were truncated while they were read")

// Truncation counts the changes that a truncation made to a stream.
type Truncation struct {
	Chunks uint64 // that have lost their entries
	Bytes  uint64 // of their payloads
}

// Truncate removes the entries from the chunks that were appended before a time, as
// the package comment describes, if there are any, and finishes an earlier truncation
// or erasure that was cut off. It changes no state. A stream whose state is larger
// than 7 MiB is left alone. It may be called for streams that engines append to, and
// cut off and repeated.
func (e *Engine[S, C, E, R]) Truncate(ctx context.Context, name string, before time.Time) (Truncation, error) {
	if err := e.beginCall(); err != nil {
		return Truncation{}, err
	}
	e.work.Done() // Close does not wait: truncating again goes on where it was cut off
	var report Truncation
	x := &logRedaction[S, C, E, R]{engine: e, name: name, wanted: &controlRecord{kind: recordTruncating}}
	x.rewritten = func(*controlRecord, uint64) {}
	x.onTruncated = func(chunk *Chunk) {
		report.Chunks, report.Bytes = report.Chunks+1, report.Bytes+uint64(len(chunk.Payload))
	}
	x.inspect = func(chunk *Chunk, _ *controlRecord, entries []E) error {
		if len(entries) > 0 && chunk.At < before.UnixMilli() {
			x.found, x.wanted.until = true, chunk.Seq
		}
		return nil
	}
	fits, err := x.canTruncate(ctx)
	if err == nil && fits {
		_, err = x.runSteps(ctx)
	}
	if x.changed {
		err = errors.Join(err, e.refreshResident(ctx, name))
	}
	if err != nil {
		return report, fmt.Errorf("truncate %s: %w", name, err)
	}
	return report, nil
}

// NeedsTruncation reports whether the oldest entries of a stream are from before a
// time, or a truncation of it seems to have been cut off. It reads a few chunks only,
// and does not notice an unfinished truncation that lacks only its last steps.
func (e *Engine[S, C, E, R]) NeedsTruncation(ctx context.Context, name string, before time.Time) (bool, error) {
	for chunk, err := range e.presentChunks(ctx, name, 0) {
		if err != nil {
			return false, readError(err)
		}
		if chunk.Count > 0 {
			return chunk.At < before.UnixMilli(), nil
		}
		checkpoint, err := checkpointIn(&chunk)
		if err != nil {
			return false, err
		}
		if checkpoint == nil || checkpoint.checkpoint.Head.Seq == 1 {
			continue
		}
		if whole, err := e.isTombstone(ctx, name, checkpoint.checkpoint.Head.Seq); !whole || err != nil {
			return err == nil, err
		}
	}
	return false, nil
}

// Truncated reports whether a truncation has removed the entries of the chunk.
func (c *Chunk) Truncated() (bool, error) {
	_, encoded, err := splitPayload(c)
	if err != nil {
		return false, err
	}
	n, err := controlRecordIn(c, encoded)
	return err == nil && n != nil && n.isTruncated(), err
}

// isTombstone reports whether a truncation has removed the entries of a chunk.
func (e *Engine[S, C, E, R]) isTombstone(ctx context.Context, name string, seq uint64) (bool, error) {
	for chunk, err := range e.store.Chunks(ctx, name, seq-1) {
		if err != nil {
			return false, readError(err)
		}
		_, encoded, err := splitPayload(&chunk)
		if err != nil {
			return false, err
		}
		n, err := controlRecordIn(&chunk, encoded)
		return n.hasKind(recordTombstone), err
	}
	return false, nil
}

// DropSnapshot deletes the snapshot of a stream to which nothing was appended since a
// time, and reports whether there was one.
func (e *Engine[S, C, E, R]) DropSnapshot(ctx context.Context, name string, before time.Time) (bool, error) {
	snapshot, ok, err := e.store.LoadSnapshot(ctx, name)
	if err != nil || !ok || snapshot.Head.At >= before.UnixMilli() {
		return false, err
	}
	for chunk, err := range e.store.Chunks(ctx, name, snapshot.Head.Seq) {
		if err != nil {
			return false, readError(err)
		}
		if chunk.Count > 0 && chunk.At >= before.UnixMilli() { // truncations do not count
			return false, nil
		}
	}
	return true, e.store.DeleteSnapshot(ctx, name)
}

// canTruncate reports whether an erasure or a truncation is unfinished, or entries are
// to be truncated and the state after them fits into a chunk.
func (x *logRedaction[S, C, E, R]) canTruncate(ctx context.Context) (bool, error) {
	x.resetLog()
	if err := x.readLog(ctx); err != nil || x.begun != nil || !x.found {
		return x.begun != nil, err
	}
	checkpoint, err := x.engine.checkpointAt(ctx, x.name, x.wanted.until)
	if errors.Is(err, errTruncated) {
		return false, nil // another process is truncating
	}
	return err == nil && len(checkpoint.checkpoint.State) <= checkpointLimit, err
}

// checkpointAt folds a stream up to a chunk and returns the checkpoint there.
func (e *Engine[S, C, E, R]) checkpointAt(ctx context.Context, name string, until uint64) (*controlRecord, error) {
	l := &streamLog[S, C, E, R]{engine: e, name: name, state: e.rules.New()}
	for chunk, err := range e.presentChunks(ctx, name, 0) {
		if err != nil {
			return nil, readError(err)
		}
		if _, err := l.foldNext(&chunk, nil); err != nil {
			return nil, err
		}
		if l.head.Seq >= until {
			break
		}
	}
	checkpoint := Snapshot{Head: l.head, Format: e.rules.SnapshotFormat(), State: e.rules.AppendSnapshot(nil, l.state)}
	return &controlRecord{kind: recordCheckpoint, checkpoint: checkpoint}, nil
}

// foldNext applies the next chunk to a state that no reader sees, given the known
// control records that follow. The error is errTruncated if its entries are gone.
func (l *streamLog[S, C, E, R]) foldNext(chunk *Chunk, records []placedRecord) (*controlRecord, error) {
	header, n, entries, err := l.readNext(chunk, nil)
	switch {
	case err != nil:
		return nil, err
	case n.hasKind(recordTombstone):
		return nil, errTruncated
	case n.hasKind(recordCheckpoint):
		return n, l.startFrom(n, records)
	}
	header.keys = l.engine.keysAfter(header.keys, entries, chunk.Seq, records)
	for i := range entries {
		entries[i] = l.engine.renameEntry(entries[i], chunk.Seq, records)
	}
	l.applyChunk(chunk, header, n, entries)
	return n, nil
}

// startFrom makes the state that of a checkpoint.
func (l *streamLog[S, C, E, R]) startFrom(n *controlRecord, records []placedRecord) error {
	state, err := l.engine.restoreCheckpoint(n)
	if err != nil {
		return err
	}
	for _, later := range records {
		if later.hasKind(recordErasing) && later.seq > n.checkpoint.Head.Seq {
			state = l.engine.rules.Rename(state, later.replaceID)
		}
	}
	l.state, l.head, l.keys = state, n.checkpoint.Head, keyRing{}
	l.window.resetTo(l.head.Seq)
	return nil
}

func (e *Engine[S, C, E, R]) restoreCheckpoint(n *controlRecord) (state S, err error) {
	if n.checkpoint.Format != e.rules.SnapshotFormat() {
		return state, fmt.Errorf("%w: a truncated log begins with a state in format %d, this is %d",
			ErrDamaged, n.checkpoint.Format, e.rules.SnapshotFormat())
	}
	if state, err = e.restoreState(slices.Clone(n.checkpoint.State)); err != nil {
		return state, fmt.Errorf("%w: the state with which a truncated log begins: %w", ErrDamaged, err)
	}
	return state, nil
}

// renameCheckpoint returns a checkpoint after an erasure, and how many ids of the viewer it held.
func (e *Engine[S, C, E, R]) renameCheckpoint(checkpoint, n *controlRecord) (renamed *controlRecord, found uint64, err error) {
	state, err := e.restoreCheckpoint(checkpoint)
	if err != nil {
		return nil, 0, err
	}
	state = e.rules.Rename(state, func(id string) string {
		name := n.replaceID(id)
		if name != id {
			found++
		}
		return name
	})
	snapshot := checkpoint.checkpoint
	snapshot.State = e.rules.AppendSnapshot(nil, state)
	return &controlRecord{kind: recordCheckpoint, checkpoint: snapshot}, found, nil
}

// truncation replaces the first chunk by the checkpoint, which at once makes it the
// beginning of the stream, and empties the other truncated chunks. It returns the
// digest over all redacted chunks that still count. Chunks that an earlier truncation
// has emptied are not read again: their number only grows.
func (x *logRedaction[S, C, E, R]) truncateChunks(ctx context.Context, n *controlRecord, begun uint64) (seal Digest, err error) {
	first, err := x.setCheckpoint(ctx, n)
	if err != nil {
		return seal, err
	}
	seal = seal.withChunk(&first)
	for chunk, err := range x.engine.store.Chunks(ctx, x.name, max(1, x.tombstones)) {
		if err != nil {
			return seal, readError(err)
		}
		switch {
		case chunk.Seq >= begun:
			return seal, nil
		case chunk.Seq > n.until:
			seal = seal.withChunk(&chunk)
		default:
			if err := x.replaceByRecord(ctx, &chunk, &controlRecord{kind: recordTombstone}); err != nil {
				return seal, err
			}
		}
	}
	return seal, nil
}

// setCheckpoint makes the first chunk the checkpoint of a truncation or a purge, and
// returns it.
func (x *logRedaction[S, C, E, R]) setCheckpoint(ctx context.Context, n *controlRecord) (first Chunk, err error) {
	for chunk, err := range x.engine.store.Chunks(ctx, x.name, 0) {
		if err != nil {
			return first, readError(err)
		}
		first = chunk
		break
	}
	old, err := checkpointIn(&first)
	if err != nil || old != nil && old.checkpoint.Head.Seq >= n.until {
		return first, err
	}
	checkpointAt := x.engine.checkpointAt
	if n.startsAgain() {
		checkpointAt = x.engine.emptyCheckpointAt
	}
	checkpoint, err := checkpointAt(ctx, x.name, n.until)
	if err != nil {
		return first, err
	}
	return first, x.replaceByRecord(ctx, &first, checkpoint)
}

// replaceByRecord makes a chunk hold a control record and the groups that it held, if it does not.
func (x *logRedaction[S, C, E, R]) replaceByRecord(ctx context.Context, chunk *Chunk, n *controlRecord) error {
	header, encoded, err := splitPayload(chunk)
	if err != nil {
		return err
	}
	if held, err := controlRecordIn(chunk, encoded); err != nil || held.hasKind(recordTombstone) && n.hasKind(recordTombstone) {
		return err
	}
	x.onTruncated(chunk)
	was := chunk.Sum()
	*chunk = chunk.redactedTo(n.appendEncoding(encodeMemberships(header.groups)))
	chunk.Count = 0
	return x.engine.store.Replace(ctx, *chunk, was)
}
