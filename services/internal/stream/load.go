package stream

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// load reads the stream into memory unless it is there: its snapshot, when
// there is a good one, and the chunks since.
func (l *log[S, C, E, R]) load(ctx context.Context) error {
	if l.loaded.Load() {
		return nil
	}
	if err := l.busy(); err != nil {
		return err
	}
	timer := l.startTimer()
	if err := l.restore(ctx, timer); err != nil {
		return unread(err)
	}
	l.tail.Store(0)
	if _, err := l.follow(ctx, ChunkID{}, toTheEnd, timer); err != nil {
		return unread(err)
	}
	l.measure()
	l.loaded.Store(true)
	timer.stop()
	return nil
}

// restore sets state and head from the stream's snapshot, or to those of an
// empty stream.
func (l *log[S, C, E, R]) restore(ctx context.Context, timer *loadTimer) error {
	rules := l.engine.rules
	l.state, l.head = rules.New(), Head{}
	l.memory.forget(0)
	if fresh, err := l.fresh(ctx); fresh || err != nil {
		return err
	}
	snapshot, ok, err := l.engine.store.LoadSnapshot(ctx, l.name)
	if err != nil || !ok || snapshot.Format != rules.SnapshotFormat() {
		return err
	}
	timer.reading()
	state, err := rules.RestoreSnapshot(snapshot.State)
	timer.rebuilding()
	if err != nil {
		l.engine.options.Logger.Warn("a snapshot does not decode; the whole log is read instead", "stream", l.name, "error", err)
		return nil
	}
	for chunk, err := range l.engine.store.Chunks(ctx, l.name, snapshot.Head.Seq-1) {
		if err != nil {
			return err
		}
		if chunk.Seq != snapshot.Head.Seq || chunk.Link() != snapshot.Head.Sum {
			break
		}
		l.state, l.head = state, snapshot.Head
		l.memory.forget(l.head.Seq)
		return nil
	}
	return fmt.Errorf("%w: %s: the snapshot was taken at chunk %d, which the log does not have as it was",
		ErrDamaged, l.name, snapshot.Head.Seq)
}

// fresh reports whether the stream has no chunk yet, as most that are asked for
// the first time: then there is no snapshot to look for either.
func (l *log[S, C, E, R]) fresh(ctx context.Context) (bool, error) {
	for _, err := range l.engine.store.Chunks(ctx, l.name, 0) {
		return false, err
	}
	return true, nil
}

// refresh applies the chunks that other engines have appended, and reports
// whether there were any. Where nobody else appends it looks only if it is asked to.
func (l *log[S, C, E, R]) refresh(ctx context.Context) (news bool, err error) {
	asked := slices.ContainsFunc(l.taken, func(it *item[C, R]) bool { return it.Value.look })
	if l.engine.options.Exclusive && !asked {
		return false, nil
	}
	before := l.head.Seq
	_, err = l.catchUp(ctx, ChunkID{}, toTheEnd)
	return l.head.Seq > before, err
}

// toTheEnd is for reading all there is.
const toTheEnd = math.MaxUint64

// catchUp applies the chunks after the head, up to the one numbered last, and
// reports whether one of them has the given id.
func (l *log[S, C, E, R]) catchUp(ctx context.Context, own ChunkID, last uint64) (found bool, err error) {
	found, err = l.follow(ctx, own, last, nil)
	if err != nil {
		return found, unread(err)
	}
	return found, nil
}

func (l *log[S, C, E, R]) follow(ctx context.Context, own ChunkID, last uint64, timer *loadTimer) (found bool, err error) {
	var entries []E
	for chunk, err := range l.engine.store.Chunks(ctx, l.name, l.head.Seq) {
		timer.reading()
		if err != nil {
			return found, err
		}
		groups, notice, read, err := l.next(&chunk, entries[:0])
		if err != nil {
			return found, err
		}
		mine := own != ChunkID{} && chunk.by(own)
		found = found || mine
		if timer == nil && !mine {
			l.rivals = rivalCommits
		}
		if notice.renames() || notice.empties() {
			again, err := l.refold(ctx, own)
			return found || again, err
		}
		entries = read
		l.apply(&chunk, groups, entries)
		timer.rebuilding()
		if l.head.Seq >= last {
			break
		}
	}
	return found, nil
}

// next returns what a chunk holds that follows the head.
func (l *log[S, C, E, R]) next(chunk *Chunk, entries []E) ([]membership, *notice, []E, error) {
	if err := l.check(chunk); err != nil {
		return nil, nil, nil, err
	}
	return l.engine.unpack(chunk, entries)
}

// check makes sure that chunk follows the head.
func (l *log[S, C, E, R]) check(chunk *Chunk) error {
	return l.head.follows(chunk, l.engine.options.Ties)
}
