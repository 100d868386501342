package stream

import (
	"context"
	"errors"
	"slices"
)

// heard is a notice and where it stands.
type heard struct {
	seq uint64
	*notice
}

// refold makes the state the fold of the log from its beginning, because a notice
// after the head gives other names to what is in it, or because a trim has taken what
// follows the head. It reports whether a chunk of the given attempt was among what it
// read. The state that readers see stays the old one until the new one is whole.
func (l *log[S, C, E, R]) refold(ctx context.Context, own ChunkID) (found bool, err error) {
	var notices []heard
	for {
		before := len(notices)
		fresh := &log[S, C, E, R]{engine: l.engine, name: l.name, state: l.engine.rules.New()}
		found, notices, err = fresh.foldAll(ctx, own, notices)
		switch {
		case errors.Is(err, errTrimmed):
		case err != nil:
			return false, err
		case len(notices) == before:
			l.replaceBy(fresh)
			return found, nil
		}
	}
}

// foldAll folds the log from its beginning, with the notices that are known to
// follow. When it meets others it reads on only to learn of all there are: what was
// folded until then is under other names than it should be.
func (l *log[S, C, E, R]) foldAll(ctx context.Context, own ChunkID, notices []heard) (found bool, all []heard, err error) {
	for chunk, err := range l.engine.present(ctx, l.name, 0) {
		if err != nil {
			return false, notices, err
		}
		n, err := l.take(&chunk, notices)
		if err != nil {
			return false, notices, err
		}
		found = found || own != ChunkID{} && chunk.by(own)
		if n.renames() && (len(notices) == 0 || chunk.Seq > notices[len(notices)-1].seq) {
			notices = append(notices, heard{chunk.Seq, n})
		}
	}
	return found, notices, nil
}

// rename returns an entry of a chunk as the notices after the chunk have it. Of a
// finished erasure there is nothing left to do.
func (e *Engine[S, C, E, R]) rename(entry E, seq uint64, notices []heard) E {
	for _, n := range notices {
		if n.seq > seq && n.is(noticeErasing) && e.concerns(n.notice, entry) {
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
