package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// placedRecord is a control record and its sequence number.
type placedRecord struct {
	seq uint64
	*ControlRecord
}

// refoldAll makes the state the fold of the log from its beginning, because a control
// record after the head replaces ids in the state, or because a truncation has emptied
// the chunks that follow the head. It reports whether a chunk of the given attempt was
// among what it read. The state that readers see stays the old one until the new one
// is whole.
func (l *streamLog[S, C, E, R]) refoldAll(ctx context.Context, own ChunkID) (found bool, err error) {
	var records []placedRecord
	var emptied EmptiedChunks
	for {
		before := len(records)
		fresh := &streamLog[S, C, E, R]{engine: l.engine, name: l.name, state: l.engine.rules.New()}
		found, records, err = fresh.foldAll(ctx, own, records)
		switch {
		case errors.Is(err, ErrTruncated):
			if err := emptied.Meet(l.name, fresh.head.Seq+1); err != nil {
				return false, err
			}
		case err != nil:
			return false, err
		case len(records) == before:
			l.replaceBy(fresh)
			return found, nil
		}
	}
}

// foldAll folds the log from its beginning, with the control records that are known to
// follow. When it finds others it reads on only to collect them all: the entries
// folded until then have ids that those records replace.
func (l *streamLog[S, C, E, R]) foldAll(ctx context.Context, own ChunkID, records []placedRecord) (found bool, all []placedRecord, err error) {
	for chunk, err := range PresentChunks(ctx, l.engine.store, l.name, 0) {
		if err != nil {
			return false, records, err
		}
		n, err := l.foldNext(&chunk, records)
		if err != nil {
			return false, records, err
		}
		found = found || own != ChunkID{} && chunk.writtenBy(own)
		if n.ReplacesIDs() && (len(records) == 0 || chunk.Seq > records[len(records)-1].seq) {
			records = append(records, placedRecord{chunk.Seq, n})
		}
	}
	return found, records, nil
}

// renameEntry returns an entry of a chunk as the control records after the chunk have
// it. A finished erasure has already changed the chunk.
func (e *Engine[S, C, E, R]) renameEntry(entry E, seq uint64, records []placedRecord) E {
	for _, n := range records {
		if n.seq > seq && n.HasKind(RecordErasing) && e.concernsEntry(n.ControlRecord, entry) {
			entry = e.rules.Redact(entry, n.replaceID, n.Drop)
		}
	}
	return entry
}

// keysAfter returns the keys of a chunk as the control records after the chunk have it.
func (e *Engine[S, C, E, R]) keysAfter(keys []storedKey, entries []E, seq uint64, records []placedRecord) []storedKey {
	for _, n := range records {
		if len(keys) > 0 && n.seq > seq && n.HasKind(RecordErasing) {
			keys = keysWithout(keys, func(i int) bool { return i < len(entries) && e.concernsEntry(n.ControlRecord, entries[i]) })
		}
	}
	return keys
}

// concernsEntry reports whether an entry is one of the viewer that a control record
// names.
func (e *Engine[S, C, E, R]) concernsEntry(n *ControlRecord, entry E) bool {
	return slices.ContainsFunc(e.rules.Identities(entry), n.ConcernsID)
}

// replaceBy takes over the state of a fresh log. A snapshot of it is due, whatever the
// tail: the stored one, if any, is from before the control record.
func (l *streamLog[S, C, E, R]) replaceBy(fresh *streamLog[S, C, E, R]) {
	l.mu.Lock()
	l.state, l.head, l.keys, l.folds = fresh.state, fresh.head, fresh.keys, l.folds+1
	l.mu.Unlock()
	l.window = fresh.window
	l.measureSize()
	l.tail.Store(max(int64(l.engine.options.SnapshotTail), l.size.Load()))
}

// ErrTruncated reports a truncation that emptied chunks while they were being read.
var ErrTruncated = errors.New("stream: chunks were truncated while they were read")

// EmptiedChunks holds the last tombstone that a reader of a log has met.
type EmptiedChunks struct {
	last uint64 // its sequence number
}

// Meet notes a tombstone, after which the reader begins again. The checkpoint of a truncation is
// written before its tombstones, so the reader finds one that replaces this and all earlier chunks.
// The error is [ErrDamaged] if it has not.
func (e *EmptiedChunks) Meet(name string, seq uint64) error {
	if seq <= e.last {
		return fmt.Errorf("%w: %s: chunk %d is truncated and no checkpoint replaces it", ErrDamaged, name, seq)
	}
	e.last = seq
	return nil
}

// foldNext applies the next chunk to a state that no reader sees, given the known
// control records that follow. The error is ErrTruncated if its entries are gone.
func (l *streamLog[S, C, E, R]) foldNext(chunk *Chunk, records []placedRecord) (*ControlRecord, error) {
	header, n, entries, err := l.readNext(chunk, nil)
	switch {
	case err != nil:
		return nil, err
	case n.HasKind(RecordTombstone):
		return nil, ErrTruncated
	case n.HasKind(RecordCheckpoint):
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
func (l *streamLog[S, C, E, R]) startFrom(n *ControlRecord, records []placedRecord) error {
	state, err := l.engine.restoreCheckpoint(n)
	if err != nil {
		return err
	}
	for _, later := range records {
		if later.HasKind(RecordErasing) && later.seq > n.Checkpoint.Head.Seq {
			state = l.engine.rules.Rename(state, later.replaceID)
		}
	}
	l.state, l.head, l.keys = state, n.Checkpoint.Head, keyRing{}
	l.window.resetTo(l.head.Seq)
	return nil
}

func (e *Engine[S, C, E, R]) restoreCheckpoint(n *ControlRecord) (state S, err error) {
	if n.Checkpoint.Format != e.rules.SnapshotFormat() {
		return state, fmt.Errorf("%w: a truncated log begins with a state in format %d, this is %d",
			ErrDamaged, n.Checkpoint.Format, e.rules.SnapshotFormat())
	}
	if state, err = e.restoreState(slices.Clone(n.Checkpoint.State)); err != nil {
		return state, fmt.Errorf("%w: the state with which a truncated log begins: %w", ErrDamaged, err)
	}
	return state, nil
}
