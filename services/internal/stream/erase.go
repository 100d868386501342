package stream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Viewer is whom an erasure is about.
type Viewer struct {
	// IDs are those by which entries may know the viewer, none of them empty. Each is
	// replaced by a random name of its own.
	IDs []string
	// DropData says to leave out, too, whatever the viewer was free to write.
	DropData bool
}

// Erased is what an erasure has done to a stream.
type Erased struct {
	Chunks  uint64 // that held one of the ids
	Entries uint64 // that held one of the ids
	// Linked are ids that entries of the viewer hold besides those that were given,
	// in order. They were left as they are.
	Linked []string
}

// Erase gives a viewer random names in all that a stream holds up to now, as the
// package comment describes, and finishes other erasures of the stream that were cut
// off. When it returns without an error, the stored chunks and snapshot hold none of
// the ids and this engine knows them no more. Otherwise some may be left, every
// figure is as it was, and erasing again goes on. It may be called for streams that
// other engines append to.
func (e *Engine[S, C, E, R]) Erase(ctx context.Context, name string, viewer Viewer) (Erased, error) {
	if err := e.begin(); err != nil {
		return Erased{}, err
	}
	e.work.Done() // Close does not wait: erasing again goes on where it was cut off
	x := &eraser[S, C, E, R]{engine: e, name: name, linked: map[string]bool{}}
	x.wanted = &notice{kind: noticeBegun, drop: viewer.DropData}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(viewer.IDs))) {
		x.wanted.names = append(x.wanted.names, naming{id, "erased-" + rand.Text()})
	}
	err := x.run(ctx)
	if x.changed {
		err = errors.Join(err, e.look(ctx, name))
	}
	x.report.Linked = slices.Sorted(maps.Keys(x.linked))
	if err != nil {
		return x.report, fmt.Errorf("erase from %s: %w", name, err)
	}
	return x.report, nil
}

// look makes a resident stream follow what was appended by others.
func (e *Engine[S, C, E, R]) look(ctx context.Context, name string) error {
	e.mu.Lock()
	resident := e.resident.Contains(name)
	e.mu.Unlock()
	if !resident {
		return nil
	}
	return e.run(ctx, name, &call[C, R]{look: true})
}

// eraser is an erasure under way. All it knows it has read from the log, so that it
// does not matter who has done the steps before the next.
type eraser[S, C, E, R any] struct {
	engine *Engine[S, C, E, R]
	name   string
	wanted *notice
	report Erased
	linked map[string]bool
	// changed says that a chunk was appended or replaced.
	changed bool

	// What the log says up to the head of log, which has no state.
	log    *log[S, C, E, R]
	found  bool   // an id is in a chunk
	begun  *Chunk // the notice of an erasure that is not finished
	sealed uint64 // the last seal
	last   uint64 // the last notice that renames
}

// run takes the next step until there is none.
func (x *eraser[S, C, E, R]) run(ctx context.Context) error {
	x.forget()
	for {
		if err := x.read(ctx); err != nil {
			return err
		}
		switch {
		case x.begun != nil:
			switch ours, err := x.finish(ctx); {
			case errors.Is(err, ErrConflict): // somebody else has finished it and begun another
			case err != nil || ours:
				return err
			}
			x.forget()
		case x.found:
			if err := x.append(ctx, x.wanted); err != nil && !errors.Is(err, ErrConflict) {
				return err
			}
		default:
			return x.dropOldSnapshot(ctx)
		}
	}
}

// forget makes the log unread.
func (x *eraser[S, C, E, R]) forget() {
	x.log = &log[S, C, E, R]{engine: x.engine, name: x.name}
	x.found, x.begun, x.sealed, x.last = false, nil, 0, 0
}

// read reads on in the log.
func (x *eraser[S, C, E, R]) read(ctx context.Context) error {
	for chunk, err := range x.engine.store.Chunks(ctx, x.name, x.log.head.Seq) {
		if err != nil {
			return unread(err)
		}
		if err := x.log.check(&chunk); err != nil {
			return err
		}
		_, n, entries, err := x.engine.unpack(&chunk, nil)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			x.inspect(entry)
		}
		x.log.head = chunk.head()
		switch {
		case n == nil:
		case n.kind == noticeSealed:
			x.sealed = chunk.Seq
		default:
			x.last = chunk.Seq
			if n.kind == noticeBegun {
				x.begun = &chunk
			}
		}
	}
	return nil
}

// inspect notes whether an entry is one of the viewer, and what else is known of the
// viewer from it.
func (x *eraser[S, C, E, R]) inspect(entry E) {
	if !x.engine.concerns(x.wanted, entry) {
		return
	}
	x.found = true
	for _, id := range x.engine.rules.Identities(entry) {
		if id != "" && !x.wanted.knows(id) {
			x.linked[id] = true
		}
	}
}

// append appends a notice to the log as it was read.
func (x *eraser[S, C, E, R]) append(ctx context.Context, n *notice) error {
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

// finish finishes the erasure that was begun, and reports whether it is the one
// that is wanted.
func (x *eraser[S, C, E, R]) finish(ctx context.Context) (ours bool, err error) {
	begun := *x.begun
	n, err := decodeNotice(begun.Payload[len(noGroups):])
	if err != nil {
		return false, err
	}
	x.changed = true
	redacted := begun.redactedTo(n.redact().payload())
	seal, err := x.rewrite(ctx, n, begun.Seq)
	if err != nil {
		return false, err
	}
	if err := x.seal(ctx, seal.sealing(&redacted), begun.Seq); err != nil {
		return false, err
	}
	if err := x.engine.store.DeleteSnapshot(ctx, x.name); err != nil {
		return false, err
	}
	return slices.Equal(n.names, x.wanted.names), x.engine.store.Replace(ctx, redacted, begun.Sum())
}

// seal makes sure that there is a seal after the notice with the given number.
func (x *eraser[S, C, E, R]) seal(ctx context.Context, seal Digest, begun uint64) error {
	for x.sealed < begun {
		err := x.append(ctx, &notice{kind: noticeSealed, seal: seal})
		if err != nil && !errors.Is(err, ErrConflict) {
			return err
		}
		if err := x.read(ctx); err != nil {
			return err
		}
	}
	return nil
}

// rewrite redacts the chunks before the one that began an erasure, and returns the
// digest over all that are redacted.
func (x *eraser[S, C, E, R]) rewrite(ctx context.Context, n *notice, until uint64) (seal Digest, err error) {
	about := slices.ContainsFunc(n.names, func(n naming) bool { return x.wanted.knows(n.id) })
	x.report = Erased{}
	for chunk, err := range x.engine.store.Chunks(ctx, x.name, 0) {
		if err != nil {
			return seal, unread(err)
		}
		if chunk.Seq >= until {
			break
		}
		payload, entries, err := x.engine.redact(&chunk, n)
		if err != nil {
			return seal, err
		}
		if entries > 0 && about {
			x.report.Chunks, x.report.Entries = x.report.Chunks+1, x.report.Entries+entries
		}
		if string(payload) != string(chunk.Payload) {
			was := chunk.Sum()
			chunk = chunk.redactedTo(payload)
			if err := x.engine.store.Replace(ctx, chunk, was); err != nil {
				return seal, err
			}
		}
		seal = seal.sealing(&chunk)
	}
	return seal, nil
}

// redact returns the payload of a chunk after an erasure, and how many of its
// entries are those of the viewer. What does not concern the viewer stays byte for
// byte.
func (e *Engine[S, C, E, R]) redact(chunk *Chunk, n *notice) (payload []byte, entries uint64, err error) {
	_, encoded, err := splitPayload(chunk)
	if err != nil {
		return nil, 0, err
	}
	payload = slices.Clone(chunk.Payload[:len(chunk.Payload)-len(encoded)])
	for range chunk.Count {
		entry, rest, err := e.rules.DecodeEntry(encoded)
		if err != nil {
			return nil, 0, fmt.Errorf("%w: %s chunk %d: %w", ErrDamaged, chunk.Stream, chunk.Seq, err)
		}
		if e.concerns(n, entry) {
			entries++
			payload = e.rules.AppendEntry(payload, e.rules.Redact(entry, n.rename, n.drop))
		} else {
			payload = append(payload, encoded[:len(encoded)-len(rest)]...)
		}
		encoded = rest
	}
	return append(payload, encoded...), entries, nil
}

// dropOldSnapshot deletes a snapshot from before the last erasure, which a process
// may have written after its end.
func (x *eraser[S, C, E, R]) dropOldSnapshot(ctx context.Context) error {
	if x.last == 0 {
		return nil
	}
	snapshot, ok, err := x.engine.store.LoadSnapshot(ctx, x.name)
	if err != nil || !ok || snapshot.Head.Seq >= x.last {
		return err
	}
	return x.engine.store.DeleteSnapshot(ctx, x.name)
}
