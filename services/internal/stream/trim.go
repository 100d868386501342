package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// baseBytes bounds the state that a trim may put in the place of a chunk: stores keep
// chunks well below 16 MiB.
const baseBytes = 8 << 20

// errTrimmed says that a trim has taken chunks while they were being read.
var errTrimmed = errors.New("stream: chunks were trimmed while they were read")

// Trimmed is what a trim has done to a stream.
type Trimmed struct {
	Chunks uint64 // that have lost their entries
	Bytes  uint64 // of their payloads
}

// Trim takes the entries out of the chunks that were appended before a time, as the
// package comment describes, if there are any, and finishes what was cut off. Every
// state stays what it is. A stream whose state is larger than 8 MiB is left alone.
// It may be called for streams that engines append to, and cut off and repeated.
func (e *Engine[S, C, E, R]) Trim(ctx context.Context, name string, before time.Time) (Trimmed, error) {
	if err := e.begin(); err != nil {
		return Trimmed{}, err
	}
	e.work.Done() // Close does not wait: trimming again goes on where it was cut off
	var report Trimmed
	x := &redactor[S, C, E, R]{engine: e, name: name, wanted: &notice{kind: noticeTrimming}}
	x.rewritten = func(*notice, uint64) {}
	x.trimmed = func(chunk *Chunk) {
		report.Chunks, report.Bytes = report.Chunks+1, report.Bytes+uint64(len(chunk.Payload))
	}
	x.inspect = func(chunk *Chunk, _ *notice, entries []E) error {
		if len(entries) > 0 && chunk.At < before.UnixMilli() {
			x.found, x.wanted.until = true, chunk.Seq
		}
		return nil
	}
	fits, err := x.fits(ctx)
	if err == nil && fits {
		_, err = x.run(ctx)
	}
	if x.changed {
		err = errors.Join(err, e.look(ctx, name))
	}
	if err != nil {
		return report, fmt.Errorf("trim %s: %w", name, err)
	}
	return report, nil
}

// Trimmable reports whether the oldest entries of a stream are from before a time, or
// a trim of it seems to have been cut off. It reads a few chunks only, and does not see
// where nothing but the last steps of a trim are left to be done.
func (e *Engine[S, C, E, R]) Trimmable(ctx context.Context, name string, before time.Time) (bool, error) {
	for chunk, err := range e.present(ctx, name, 0) {
		if err != nil {
			return false, unread(err)
		}
		if chunk.Count > 0 {
			return chunk.At < before.UnixMilli(), nil
		}
		base, err := baseIn(&chunk)
		if err != nil {
			return false, err
		}
		if base == nil || base.base.Head.Seq == 1 {
			continue
		}
		if whole, err := e.isHusk(ctx, name, base.base.Head.Seq); !whole || err != nil {
			return err == nil, err
		}
	}
	return false, nil
}

// Emptied reports whether a trim has taken the entries of the chunk.
func (c *Chunk) Emptied() (bool, error) {
	_, encoded, err := splitPayload(c)
	if err != nil {
		return false, err
	}
	n, err := noticeIn(c, encoded)
	return err == nil && n != nil && n.empties(), err
}

// isHusk reports whether a chunk is one whose entries a trim has taken.
func (e *Engine[S, C, E, R]) isHusk(ctx context.Context, name string, seq uint64) (bool, error) {
	for chunk, err := range e.store.Chunks(ctx, name, seq-1) {
		if err != nil {
			return false, unread(err)
		}
		_, encoded, err := splitPayload(&chunk)
		if err != nil {
			return false, err
		}
		n, err := noticeIn(&chunk, encoded)
		return n.is(noticeHusk), err
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
			return false, unread(err)
		}
		if chunk.Count > 0 && chunk.At >= before.UnixMilli() { // trims do not count
			return false, nil
		}
	}
	return true, e.store.DeleteSnapshot(ctx, name)
}

// fits reports whether there is something to finish, or something to trim whose
// state may be put in the place of a chunk.
func (x *redactor[S, C, E, R]) fits(ctx context.Context) (bool, error) {
	x.forget()
	if err := x.read(ctx); err != nil || x.begun != nil || !x.found {
		return x.begun != nil, err
	}
	base, err := x.engine.baseAt(ctx, x.name, x.wanted.until)
	if errors.Is(err, errTrimmed) {
		return false, nil // somebody else is trimming
	}
	return err == nil && len(base.base.State) <= baseBytes, err
}

// baseAt folds a stream up to a chunk.
func (e *Engine[S, C, E, R]) baseAt(ctx context.Context, name string, until uint64) (*notice, error) {
	l := &log[S, C, E, R]{engine: e, name: name, state: e.rules.New()}
	for chunk, err := range e.present(ctx, name, 0) {
		if err != nil {
			return nil, unread(err)
		}
		if _, err := l.take(&chunk, nil); err != nil {
			return nil, err
		}
		if l.head.Seq >= until {
			break
		}
	}
	snapshot, _, _ := l.copy()
	return &notice{kind: noticeBase, base: snapshot}, nil
}

// take applies the next chunk to a state that nobody else sees, the notices known
// that follow. The error is errTrimmed if its entries are gone.
func (l *log[S, C, E, R]) take(chunk *Chunk, notices []heard) (*notice, error) {
	groups, n, entries, err := l.next(chunk, nil)
	switch {
	case err != nil:
		return nil, err
	case n.is(noticeHusk):
		return nil, errTrimmed
	case n.is(noticeBase):
		return n, l.begin(n, notices)
	}
	for i := range entries {
		entries[i] = l.engine.rename(entries[i], chunk.Seq, notices)
	}
	l.apply(chunk, groups, entries)
	return n, nil
}

// begin makes the state that of a base.
func (l *log[S, C, E, R]) begin(n *notice, notices []heard) error {
	state, err := l.engine.restoreBase(n)
	if err != nil {
		return err
	}
	for _, later := range notices {
		if later.is(noticeErasing) && later.seq > n.base.Head.Seq {
			state = l.engine.rules.Rename(state, later.rename)
		}
	}
	l.state, l.head = state, n.base.Head
	l.memory.forget(l.head.Seq)
	return nil
}

func (e *Engine[S, C, E, R]) restoreBase(n *notice) (state S, err error) {
	if n.base.Format != e.rules.SnapshotFormat() {
		return state, fmt.Errorf("%w: a trimmed log begins with a state in format %d, this is %d",
			ErrDamaged, n.base.Format, e.rules.SnapshotFormat())
	}
	if state, err = e.rules.RestoreSnapshot(slices.Clone(n.base.State)); err != nil {
		return state, fmt.Errorf("%w: the state with which a trimmed log begins: %w", ErrDamaged, err)
	}
	return state, nil
}

// renameBase returns a base after an erasure, and how many ids of the viewer it held.
func (e *Engine[S, C, E, R]) renameBase(base, n *notice) (renamed *notice, found uint64, err error) {
	state, err := e.restoreBase(base)
	if err != nil {
		return nil, 0, err
	}
	state = e.rules.Rename(state, func(id string) string {
		name := n.rename(id)
		if name != id {
			found++
		}
		return name
	})
	snapshot := base.base
	snapshot.State = e.rules.AppendSnapshot(nil, state)
	return &notice{kind: noticeBase, base: snapshot}, found, nil
}

// trim puts the base in the place of the first chunk, which at once makes it the
// beginning of the stream, and empties the others that go. It returns the digest over
// all chunks that are redacted, as far as they still count. Those that an earlier trim
// has emptied, of which there are ever more, are not read again.
func (x *redactor[S, C, E, R]) trim(ctx context.Context, n *notice, begun uint64) (seal Digest, err error) {
	first, err := x.setBase(ctx, n.until)
	if err != nil {
		return seal, err
	}
	seal = seal.sealing(&first)
	for chunk, err := range x.engine.store.Chunks(ctx, x.name, max(1, x.husks)) {
		if err != nil {
			return seal, unread(err)
		}
		switch {
		case chunk.Seq >= begun:
			return seal, nil
		case chunk.Seq > n.until:
			seal = seal.sealing(&chunk)
		default:
			if err := x.replace(ctx, &chunk, &notice{kind: noticeHusk}); err != nil {
				return seal, err
			}
		}
	}
	return seal, nil
}

// setBase makes the first chunk the base of a trim, and returns it.
func (x *redactor[S, C, E, R]) setBase(ctx context.Context, until uint64) (first Chunk, err error) {
	for chunk, err := range x.engine.store.Chunks(ctx, x.name, 0) {
		if err != nil {
			return first, unread(err)
		}
		first = chunk
		break
	}
	old, err := baseIn(&first)
	if err != nil || old != nil && old.base.Head.Seq >= until {
		return first, err
	}
	base, err := x.engine.baseAt(ctx, x.name, until)
	if err != nil {
		return first, err
	}
	return first, x.replace(ctx, &first, base)
}

// replace makes a chunk hold a notice and the groups that it held, if it does not.
func (x *redactor[S, C, E, R]) replace(ctx context.Context, chunk *Chunk, n *notice) error {
	_, encoded, err := splitPayload(chunk)
	if err != nil {
		return err
	}
	if held, err := noticeIn(chunk, encoded); err != nil || held.is(noticeHusk) && n.is(noticeHusk) {
		return err
	}
	x.trimmed(chunk)
	was := chunk.Sum()
	groups := slices.Clone(chunk.Payload[:len(chunk.Payload)-len(encoded)])
	*chunk = chunk.redactedTo(n.append(groups))
	chunk.Count = 0
	return x.engine.store.Replace(ctx, *chunk, was)
}
