package stream

import (
	"context"
	"errors"
	"iter"
)

// redactor is an erasure or a trim under way. All it knows it has read from the log,
// so that it does not matter who has done the steps before the next.
type redactor[S, C, E, R any] struct {
	engine *Engine[S, C, E, R]
	name   string
	wanted *notice
	// inspect looks at a chunk that was read, for found.
	inspect func(chunk *Chunk, n *notice, entries []E) error
	// rewritten is told of each chunk that an erasure concerns, trimmed of each that a
	// trim takes.
	rewritten func(n *notice, entries uint64)
	trimmed   func(chunk *Chunk)
	// changed says that a chunk was appended or replaced.
	changed bool

	// What the log says up to the head of log, which has no state.
	log    *log[S, C, E, R]
	found  bool   // there is something to do
	begun  *Chunk // the notice of what is not finished
	sealed uint64 // the last seal
	last   uint64 // the last notice that renames, or the base's head: older snapshots are of no use
	base   uint64 // the base's head

	// husks is up to which chunk all are known to be trimmed.
	husks uint64
}

// run takes the next step until there is none, and reports whether what was wanted
// has been begun and finished.
func (x *redactor[S, C, E, R]) run(ctx context.Context) (done bool, err error) {
	x.forget()
	for {
		if err := x.read(ctx); err != nil {
			return false, err
		}
		switch {
		case x.begun != nil:
			switch ours, err := x.finish(ctx); {
			case errors.Is(err, ErrConflict): // somebody else has finished it and begun another
			case err != nil || ours:
				return ours, err
			}
			x.forget()
		case !x.found:
			return false, nil
		default:
			x.husks = x.base // for nothing is unfinished
			if err := x.append(ctx, x.wanted); err != nil && !errors.Is(err, ErrConflict) {
				return false, err
			}
		}
	}
}

// forget makes the log unread.
func (x *redactor[S, C, E, R]) forget() {
	x.log = &log[S, C, E, R]{engine: x.engine, name: x.name}
	x.found, x.begun, x.sealed, x.last, x.base = false, nil, 0, 0, 0
}

// read reads on in the log.
func (x *redactor[S, C, E, R]) read(ctx context.Context) error {
	for chunk, err := range x.engine.present(ctx, x.name, x.log.head.Seq) {
		if err != nil {
			return unread(err)
		}
		_, n, entries, err := x.log.next(&chunk, nil)
		if err != nil {
			return err
		}
		if err := x.inspect(&chunk, n, entries); err != nil {
			return err
		}
		x.log.head = chunk.head()
		switch {
		case n.is(noticeHusk): // a trim has gone past the head
			x.forget()
			return x.read(ctx)
		case n.is(noticeBase):
			x.log.head, x.last, x.base = n.base.Head, n.base.Head.Seq, n.base.Head.Seq
		case n.is(noticeSealed):
			x.sealed = chunk.Seq
		case n.opens():
			x.begun = &chunk
		}
		if n.renames() {
			x.last = chunk.Seq
		}
	}
	return nil
}

// present yields the chunks of a stream after a number, without those that a trim
// has taken: after the base come those after its head.
func (e *Engine[S, C, E, R]) present(ctx context.Context, name string, after uint64) iter.Seq2[Chunk, error] {
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
				if base, err := baseIn(&chunk); base != nil && err == nil {
					after, more = base.base.Head.Seq, true
					break
				}
			}
		}
	}
}

// baseIn returns the base that a chunk holds, nil when it holds none.
func baseIn(chunk *Chunk) (*notice, error) {
	_, encoded, err := splitPayload(chunk)
	if err != nil {
		return nil, err
	}
	n, err := noticeIn(chunk, encoded)
	if !n.is(noticeBase) {
		return nil, err
	}
	return n, err
}

// append appends a notice to the log as it was read.
func (x *redactor[S, C, E, R]) append(ctx context.Context, n *notice) error {
	if err := x.log.pace(ctx, 0); err != nil {
		return err
	}
	head := x.log.head
	err := x.engine.store.Append(ctx, Chunk{
		Stream:  x.name,
		Seq:     head.Seq + 1,
		At:      x.log.stamp(),
		ID:      x.engine.random.id(),
		Prev:    head.Sum,
		Payload: n.payload(),
	})
	x.changed = x.changed || !notStored(err)
	return err
}

// finish finishes what was begun, and reports whether it is what is wanted.
func (x *redactor[S, C, E, R]) finish(ctx context.Context) (ours bool, err error) {
	begun := *x.begun
	n, err := decodeNotice(begun.Payload[len(noGroups):])
	if err != nil {
		return false, err
	}
	x.changed = true
	var seal Digest
	if n.is(noticeTrimming) {
		seal, err = x.trim(ctx, n, begun.Seq)
	} else {
		seal, err = x.rewrite(ctx, n, begun.Seq)
	}
	if err != nil {
		return false, err
	}
	closed := begun.redactedTo(n.close().payload())
	if err := x.seal(ctx, seal.sealing(&closed), begun.Seq); err != nil {
		return false, err
	}
	if n.renames() {
		if err := x.engine.store.DeleteSnapshot(ctx, x.name); err != nil {
			return false, err
		}
	}
	return n.equal(x.wanted), x.engine.store.Replace(ctx, closed, begun.Sum())
}

// seal makes sure that there is a seal after the notice with the given number. The
// error is ErrConflict if a later trim has taken the notice, whose seal may be gone
// with it: a second one, after the later notice, would be taken for the later's own.
func (x *redactor[S, C, E, R]) seal(ctx context.Context, seal Digest, begun uint64) error {
	for x.sealed < begun {
		err := x.append(ctx, &notice{kind: noticeSealed, seal: seal})
		if err != nil && !errors.Is(err, ErrConflict) {
			return err
		}
		if err := x.read(ctx); err != nil {
			return err
		}
		if x.base >= begun {
			return ErrConflict
		}
	}
	return nil
}
