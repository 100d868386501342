package stream

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/batchtrace"
)

// ensureLoaded reads the stream into memory unless it is there: its snapshot, when
// there is a good one, and the chunks since.
func (l *streamLog[S, C, E, R]) ensureLoaded(ctx context.Context) error {
	if l.loaded.Load() {
		return nil
	}
	if err := l.checkBusy(); err != nil {
		return err
	}
	timer := l.startTimer()
	if err := l.restoreSnapshot(ctx, timer); err != nil {
		return ReadError(err)
	}
	l.tail.Store(0)
	if _, err := l.followChunks(ctx, ChunkID{}, toTheEnd, timer); err != nil {
		return ReadError(err)
	}
	l.measureSize()
	l.loaded.Store(true)
	timer.stop()
	l.loadStep = batchtrace.Step{Name: stepLoad, Began: timer.began, Ended: timer.last}
	return nil
}

// restoreSnapshot sets state and head from the stream's snapshot, or to those of an
// empty stream.
func (l *streamLog[S, C, E, R]) restoreSnapshot(ctx context.Context, timer *loadTimer) error {
	rules := l.engine.rules
	l.state, l.head, l.keys = rules.New(), Head{}, keyRing{}
	l.window.resetTo(0)
	if fresh, err := l.isEmpty(ctx); fresh || err != nil {
		return err
	}
	snapshot, ok, err := l.engine.store.LoadSnapshot(ctx, l.name)
	if err != nil || !ok || !l.engine.isReadable(&snapshot) {
		return err
	}
	timer.countRead()
	state, keys, err := l.engine.restoreSnapshot(&snapshot)
	timer.countRebuild()
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
		l.state, l.head, l.keys = state, snapshot.Head, keys
		l.window.resetTo(l.head.Seq)
		return nil
	}
	return fmt.Errorf("%w: %s: the snapshot was taken at chunk %d, which the log does not have as it was",
		ErrDamaged, l.name, snapshot.Head.Seq)
}

// isEmpty reports whether the stream has no chunk yet, as most that are asked for
// the first time: then there is no snapshot to look for either.
func (l *streamLog[S, C, E, R]) isEmpty(ctx context.Context) (bool, error) {
	for _, err := range l.engine.store.Chunks(ctx, l.name, 0) {
		return false, err
	}
	return true, nil
}

// refreshState applies the chunks that other engines have appended, and reports
// whether there were any. Where no other process appends it looks only if it is asked to.
func (l *streamLog[S, C, E, R]) refreshState(ctx context.Context) (news bool, err error) {
	asked := slices.ContainsFunc(l.taken, func(it *callItem[C, R]) bool { return it.Value.refresh })
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
func (l *streamLog[S, C, E, R]) catchUp(ctx context.Context, own ChunkID, last uint64) (found bool, err error) {
	found, err = l.followChunks(ctx, own, last, nil)
	if err != nil {
		return found, ReadError(err)
	}
	return found, nil
}

func (l *streamLog[S, C, E, R]) followChunks(ctx context.Context, own ChunkID, last uint64, timer *loadTimer) (found bool, err error) {
	var entries []E
	for chunk, err := range l.engine.store.Chunks(ctx, l.name, l.head.Seq) {
		timer.countRead()
		if err != nil {
			return found, err
		}
		header, record, read, err := l.readNext(&chunk, entries[:0])
		if err != nil {
			return found, err
		}
		mine := own != ChunkID{} && chunk.writtenBy(own)
		found = found || mine
		if timer == nil && !mine {
			l.contendedCommits = commitsPaced
		}
		if record.ReplacesIDs() || record.isTruncated() {
			again, err := l.refoldAll(ctx, own)
			return found || again, err
		}
		entries = read
		l.applyChunk(&chunk, header, record, entries)
		timer.countRebuild()
		if l.head.Seq >= last {
			break
		}
	}
	return found, nil
}

// readNext returns what a chunk holds that follows the head.
func (l *streamLog[S, C, E, R]) readNext(chunk *Chunk, entries []E) (chunkHeader, *ControlRecord, []E, error) {
	if err := l.checkNext(chunk); err != nil {
		return chunkHeader{}, nil, nil, err
	}
	return l.engine.unpackChunk(chunk, entries)
}

// checkNext makes sure that chunk follows the head.
func (l *streamLog[S, C, E, R]) checkNext(chunk *Chunk) error {
	return l.head.checkFollows(chunk, l.engine.options.AllowEqualTimestamps)
}
