package stream

import (
	"context"
	"errors"
	"slices"
)

// placedRecord is a control record and its sequence number.
type placedRecord struct {
	seq uint64
	*controlRecord
}

// refoldAll makes the state the fold of the log from its beginning, because a control
// record after the head replaces ids in the state, or because a truncation has emptied
// the chunks that follow the head. It reports whether a chunk of the given attempt was
// among what it read. The state that readers see stays the old one until the new one
// is whole.
func (l *streamLog[S, C, E, R]) refoldAll(ctx context.Context, own ChunkID) (found bool, err error) {
	var records []placedRecord
	for {
		before := len(records)
		fresh := &streamLog[S, C, E, R]{engine: l.engine, name: l.name, state: l.engine.rules.New()}
		found, records, err = fresh.foldAll(ctx, own, records)
		switch {
		case errors.Is(err, errTruncated):
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
	for chunk, err := range l.engine.presentChunks(ctx, l.name, 0) {
		if err != nil {
			return false, records, err
		}
		n, err := l.foldNext(&chunk, records)
		if err != nil {
			return false, records, err
		}
		found = found || own != ChunkID{} && chunk.writtenBy(own)
		if n.replacesIDs() && (len(records) == 0 || chunk.Seq > records[len(records)-1].seq) {
			records = append(records, placedRecord{chunk.Seq, n})
		}
	}
	return found, records, nil
}

// renameEntry returns an entry of a chunk as the control records after the chunk have
// it. A finished erasure has already changed the chunk.
func (e *Engine[S, C, E, R]) renameEntry(entry E, seq uint64, records []placedRecord) E {
	for _, n := range records {
		if n.seq > seq && n.hasKind(recordErasing) && e.concernsEntry(n.controlRecord, entry) {
			entry = e.rules.Redact(entry, n.replaceID, n.drop)
		}
	}
	return entry
}

// keysAfter returns the keys of a chunk as the control records after the chunk have it.
func (e *Engine[S, C, E, R]) keysAfter(keys []storedKey, entries []E, seq uint64, records []placedRecord) []storedKey {
	for _, n := range records {
		if len(keys) > 0 && n.seq > seq && n.hasKind(recordErasing) {
			keys = keysWithout(keys, func(i int) bool { return i < len(entries) && e.concernsEntry(n.controlRecord, entries[i]) })
		}
	}
	return keys
}

// concernsEntry reports whether an entry is one of the viewer that a control record
// names.
func (e *Engine[S, C, E, R]) concernsEntry(n *controlRecord, entry E) bool {
	return slices.ContainsFunc(e.rules.Identities(entry), n.concernsID)
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
