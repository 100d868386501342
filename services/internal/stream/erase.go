package stream

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	// Linked is what [Engine.Linked] returned before. Those ids were left as they are.
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
	wanted := &notice{kind: noticeErasing, drop: viewer.DropData}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(viewer.IDs))) {
		wanted.names = append(wanted.names, naming{id, erasedPrefix + rand.Text()})
	}
	var report Erased
	linked := links{}
	x := &redactor[S, C, E, R]{engine: e, name: name, wanted: wanted}
	x.trimmed = func(*Chunk) {}
	x.inspect = func(_ *Chunk, n *notice, entries []E) error { return x.lookFor(n, entries, linked) }
	x.rewritten = func(n *notice, entries uint64) {
		if slices.ContainsFunc(n.names, func(n naming) bool { return wanted.knows(n.id) }) {
			report.Chunks, report.Entries = report.Chunks+1, report.Entries+entries
		}
	}
	done, err := x.run(ctx)
	if err == nil && !done {
		err = x.dropOldSnapshot(ctx)
	}
	if x.changed {
		err = errors.Join(err, e.look(ctx, name))
	}
	report.Linked = linked.sorted()
	if err != nil {
		return report, fmt.Errorf("erase from %s: %w", name, err)
	}
	return report, nil
}

// erasedPrefix begins the names that take the place of ids.
const erasedPrefix = "erased-"

// Linked returns the ids that entries of a viewer hold besides those that are given,
// in order, from the entries that the stream still has: those that were trimmed tell
// nothing, nor do those from which the viewer was erased. It changes nothing.
func (e *Engine[S, C, E, R]) Linked(ctx context.Context, name string, ids []string) ([]string, error) {
	wanted := &notice{kind: noticeErasing}
	for _, id := range ids {
		wanted.names = append(wanted.names, naming{id: id, name: id})
	}
	linked := links{}
	x := &redactor[S, C, E, R]{engine: e, name: name, wanted: wanted}
	x.inspect = func(_ *Chunk, _ *notice, entries []E) error {
		for _, entry := range entries {
			x.link(entry, linked)
		}
		return nil
	}
	x.forget()
	if err := x.read(ctx); err != nil {
		return nil, fmt.Errorf("look for a viewer in %s: %w", name, err)
	}
	return linked.sorted(), nil
}

// links are ids that entries of a viewer hold besides those that were given.
type links map[string]bool

func (l links) sorted() []string { return slices.Sorted(maps.Keys(l)) }

// link notes what else an entry says of the viewer, if it is the viewer's, and reports
// whether it is.
func (x *redactor[S, C, E, R]) link(entry E, linked links) bool {
	if !x.engine.concerns(x.wanted, entry) {
		return false
	}
	for _, id := range x.engine.rules.Identities(entry) {
		if id != "" && !strings.HasPrefix(id, erasedPrefix) && !x.wanted.knows(id) {
			linked[id] = true
		}
	}
	return true
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

// lookFor notes whether a chunk holds something of the viewer, and what else is
// known of the viewer from it.
func (x *redactor[S, C, E, R]) lookFor(n *notice, entries []E, linked links) error {
	for _, entry := range entries {
		x.found = x.link(entry, linked) || x.found
	}
	if !n.is(noticeBase) {
		return nil
	}
	_, found, err := x.engine.renameBase(n, x.wanted)
	x.found = x.found || found > 0
	return err
}

// rewrite takes a viewer out of the chunks before the one that began an erasure, and
// returns the digest over all that are redacted.
func (x *redactor[S, C, E, R]) rewrite(ctx context.Context, n *notice, until uint64) (seal Digest, err error) {
	for chunk, err := range x.engine.present(ctx, x.name, 0) {
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
		if entries > 0 {
			x.rewritten(n, entries)
		}
		if !bytes.Equal(payload, chunk.Payload) {
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
	base, err := noticeIn(chunk, encoded)
	if err != nil {
		return nil, 0, err
	}
	if base.is(noticeBase) {
		base, entries, err = e.renameBase(base, n)
		if err != nil || entries == 0 {
			return chunk.Payload, 0, err
		}
		return base.append(payload), entries, nil
	}
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
func (x *redactor[S, C, E, R]) dropOldSnapshot(ctx context.Context) error {
	if x.last == 0 {
		return nil
	}
	snapshot, ok, err := x.engine.store.LoadSnapshot(ctx, x.name)
	if err != nil || !ok || snapshot.Head.Seq >= x.last {
		return err
	}
	return x.engine.store.DeleteSnapshot(ctx, x.name)
}
