package stream

import (
	"context"
	"slices"
)

// heard is a notice and where it stands.
type heard struct {
	seq uint64
	*notice
}

// refold makes the state the fold of the log from its beginning, because a notice
// after the head gives other names to what is in it. It reports whether a chunk of
// the given attempt was among what it read. The state that readers see stays the old
// one until the new one is whole.
func (l *log[S, C, E, R]) refold(ctx context.Context, own ChunkID) (found bool, err error) {
	var notices []heard
	for {
		before := len(notices)
		fresh := &log[S, C, E, R]{engine: l.engine, name: l.name, state: l.engine.rules.New()}
		if found, notices, err = fresh.foldAll(ctx, own, notices); err != nil {
			return false, err
		}
		if len(notices) == before {
			l.replaceBy(fresh)
			return found, nil
		}
	}
}

// foldAll folds the log from its beginning, with the notices that are known to
// follow. When it meets others it reads on only to learn of all there are: what was
// folded until then is under other names than it should be.
func (l *log[S, C, E, R]) foldAll(ctx context.Context, own ChunkID, notices []heard) (found bool, all []heard, err error) {
	known := len(notices)
	var entries []E
	for chunk, err := range l.engine.store.Chunks(ctx, l.name, 0) {
		if err != nil {
			return false, nil, err
		}
		if err := l.check(&chunk); err != nil {
			return false, nil, err
		}
		groups, n, read, err := l.engine.unpack(&chunk, entries[:0])
		if err != nil {
			return false, nil, err
		}
		found = found || own != ChunkID{} && chunk.by(own)
		if n.renames() && (len(notices) == 0 || chunk.Seq > notices[len(notices)-1].seq) {
			notices = append(notices, heard{chunk.Seq, n})
		}
		if entries = read; len(notices) > known {
			l.head = chunk.head()
			continue
		}
		for i := range entries {
			entries[i] = l.engine.rename(entries[i], chunk.Seq, notices)
		}
		l.apply(&chunk, groups, entries)
	}
	return found, notices, nil
}

// rename returns an entry of a chunk as the notices after the chunk have it. Of a
// finished erasure there is nothing left to do.
func (e *Engine[S, C, E, R]) rename(entry E, seq uint64, notices []heard) E {
	for _, n := range notices {
		if n.seq > seq && n.kind == noticeBegun && e.concerns(n.notice, entry) {
			entry = e.rules.Redact(entry, n.rename, n.drop)
		}
	}
	return entry
}

// concerns reports whether an entry is one of the viewer whom a notice is about.
func (e *Engine[S, C, E, R]) concerns(n *notice, entry E) bool {
	return slices.ContainsFunc(e.rules.Identities(entry), n.knows)
}

// replaceBy makes the state that of a fresh log. A snapshot of it is due, whatever
// the tail: the one there is, if any, is from before the notice.
func (l *log[S, C, E, R]) replaceBy(fresh *log[S, C, E, R]) {
	l.mu.Lock()
	l.state, l.head, l.folds = fresh.state, fresh.head, l.folds+1
	l.mu.Unlock()
	l.memory = fresh.memory
	l.measure()
	l.tail.Store(max(int64(l.engine.options.SnapshotTail), l.size.Load()))
}
