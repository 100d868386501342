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

	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// Viewer names the viewer to erase.
type Viewer struct {
	// IDs are those by which entries may know the viewer, none of them empty. Each is
	// replaced by a random name of its own.
	IDs []string
	// DropData says to leave out, too, whatever the viewer was free to write.
	DropData bool
}

// Erasure counts the changes that an erasure made to a stream.
type Erasure struct {
	Chunks  uint64 // that held one of the ids
	Entries uint64 // that held one of the ids
	// RelatedIDs holds the result of [Engine.RelatedIDs] before the erasure. Those ids
	// were not replaced.
	RelatedIDs []string
}

// Erase gives a viewer random names in all that a stream holds up to now, as the
// package comment describes, and finishes other erasures of the stream that were cut
// off. When it returns without an error, the stored chunks and snapshot hold none of
// the ids and this engine knows them no more. Otherwise some may be left, every
// figure is as it was, and erasing again goes on. It may be called for streams that
// other engines append to.
func (e *Engine[S, C, E, R]) Erase(ctx context.Context, name string, viewer Viewer) (Erasure, error) {
	if err := e.beginCall(); err != nil {
		return Erasure{}, err
	}
	e.work.Done() // Close does not wait: erasing again goes on where it was cut off
	wanted := &controlRecord{kind: recordErasing, drop: viewer.DropData}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(viewer.IDs))) {
		wanted.names = append(wanted.names, idReplacement{id, erasedPrefix + rand.Text()})
	}
	var report Erasure
	linked := idSet{}
	x := &logRedaction[S, C, E, R]{engine: e, name: name, wanted: wanted}
	x.onTruncated = func(*Chunk) {}
	x.inspect = func(_ *Chunk, n *controlRecord, entries []E) error { return x.inspectForErasure(n, entries, linked) }
	x.rewritten = func(n *controlRecord, entries uint64) {
		if slices.ContainsFunc(n.names, func(n idReplacement) bool { return wanted.concernsID(n.id) }) {
			report.Chunks, report.Entries = report.Chunks+1, report.Entries+entries
		}
	}
	done, err := x.runSteps(ctx)
	if err == nil && !done {
		err = x.dropOldSnapshot(ctx)
	}
	if x.changed {
		err = errors.Join(err, e.refreshResident(ctx, name))
	}
	report.RelatedIDs = linked.sortedIDs()
	if err != nil {
		return report, fmt.Errorf("erase from %s: %w", name, err)
	}
	return report, nil
}

// erasedPrefix begins the names that take the place of ids.
const erasedPrefix = "erased-"

// RelatedIDs returns the ids that entries of a viewer hold besides those that are given,
// in order, from the entries that the stream still has: those that were truncated tell
// nothing, nor do those from which the viewer was erased. It changes nothing.
func (e *Engine[S, C, E, R]) RelatedIDs(ctx context.Context, name string, ids []string) ([]string, error) {
	wanted := &controlRecord{kind: recordErasing}
	for _, id := range ids {
		wanted.names = append(wanted.names, idReplacement{id: id, name: id})
	}
	linked := idSet{}
	x := &logRedaction[S, C, E, R]{engine: e, name: name, wanted: wanted}
	x.inspect = func(_ *Chunk, _ *controlRecord, entries []E) error {
		for _, entry := range entries {
			x.collectRelated(entry, linked)
		}
		return nil
	}
	x.resetLog()
	if err := x.readLog(ctx); err != nil {
		return nil, fmt.Errorf("look for a viewer in %s: %w", name, err)
	}
	return linked.sortedIDs(), nil
}

// idSet are ids that entries of a viewer hold besides those that were given.
type idSet map[string]bool

func (l idSet) sortedIDs() []string { return slices.Sorted(maps.Keys(l)) }

// collectRelated adds the other ids in an entry to linked if the entry is the
// viewer's, and reports whether it is.
func (x *logRedaction[S, C, E, R]) collectRelated(entry E, linked idSet) bool {
	if !x.engine.concernsEntry(x.wanted, entry) {
		return false
	}
	for _, id := range x.engine.rules.Identities(entry) {
		if id != "" && !strings.HasPrefix(id, erasedPrefix) && !x.wanted.concernsID(id) {
			linked[id] = true
		}
	}
	return true
}

// refreshResident makes a resident stream apply the chunks that other processes
// appended.
func (e *Engine[S, C, E, R]) refreshResident(ctx context.Context, name string) error {
	e.mu.Lock()
	resident := e.resident.Contains(name)
	e.mu.Unlock()
	if !resident {
		return nil
	}
	return e.runLocally(ctx, name, &submittedCall[C, R]{refresh: true})
}

// inspectForErasure notes whether a chunk holds an entry of the viewer, and which
// other ids such entries hold.
func (x *logRedaction[S, C, E, R]) inspectForErasure(n *controlRecord, entries []E, linked idSet) error {
	for _, entry := range entries {
		x.found = x.collectRelated(entry, linked) || x.found
	}
	if !n.hasKind(recordCheckpoint) {
		return nil
	}
	_, found, err := x.engine.renameCheckpoint(n, x.wanted)
	x.found = x.found || found > 0
	return err
}

// rewriteChunks erases a viewer from the chunks before the one that began the erasure,
// and returns the digest over all redacted chunks.
func (x *logRedaction[S, C, E, R]) rewriteChunks(ctx context.Context, n *controlRecord, until uint64) (seal Digest, err error) {
	for chunk, err := range x.engine.presentChunks(ctx, x.name, 0) {
		if err != nil {
			return seal, readError(err)
		}
		if chunk.Seq >= until {
			break
		}
		payload, entries, err := x.engine.redactChunk(&chunk, n)
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
		seal = seal.withChunk(&chunk)
	}
	return seal, nil
}

// redactChunk returns the payload of a chunk after an erasure, and how many of its
// entries are those of the viewer. What does not concern the viewer stays byte for
// byte.
func (e *Engine[S, C, E, R]) redactChunk(chunk *Chunk, n *controlRecord) (payload []byte, entries uint64, err error) {
	header, encoded, err := splitPayload(chunk)
	if err != nil {
		return nil, 0, err
	}
	payload = slices.Clone(chunk.Payload[:len(chunk.Payload)-len(encoded)])
	checkpoint, err := controlRecordIn(chunk, encoded)
	if err != nil {
		return nil, 0, err
	}
	if checkpoint.hasKind(recordCheckpoint) {
		checkpoint, entries, err = e.renameCheckpoint(checkpoint, n)
		if err != nil || entries == 0 {
			return chunk.Payload, 0, err
		}
		return checkpoint.appendEncoding(payload), entries, nil
	}
	if len(header.keys) > 0 {
		if header.keys, err = e.keysWithoutViewer(chunk, encoded, header.keys, n); err != nil {
			return nil, 0, err
		}
		payload = header.encode()
	}
	r := wire.NewReader(encoded)
	for range chunk.Count {
		before := r.Rest()
		entry := e.rules.DecodeEntry(r)
		if err := r.Err(); err != nil {
			return nil, 0, fmt.Errorf("%w: %s chunk %d: %w", ErrDamaged, chunk.Stream, chunk.Seq, err)
		}
		if e.concernsEntry(n, entry) {
			entries++
			payload = e.rules.AppendEntry(payload, e.rules.Redact(entry, n.replaceID, n.drop))
		} else {
			payload = append(payload, before[:len(before)-len(r.Rest())]...)
		}
	}
	return append(payload, r.Rest()...), entries, nil
}

// keysWithoutViewer returns the keys of a chunk without those of the viewer's entries.
func (e *Engine[S, C, E, R]) keysWithoutViewer(chunk *Chunk, encoded []byte, keys []storedKey, n *controlRecord) ([]storedKey, error) {
	var own []bool
	for entry, err := range e.decodeEntries(chunk, encoded) {
		if err != nil {
			return nil, err
		}
		own = append(own, e.concernsEntry(n, entry))
	}
	return keysWithout(keys, func(entry int) bool { return entry < len(own) && own[entry] }), nil
}

// dropOldSnapshot deletes a snapshot from before the last erasure, which a process
// may have written after its end.
func (x *logRedaction[S, C, E, R]) dropOldSnapshot(ctx context.Context) error {
	if x.last == 0 {
		return nil
	}
	snapshot, ok, err := x.engine.store.LoadSnapshot(ctx, x.name)
	if err != nil || !ok || snapshot.Head.Seq >= x.last {
		return err
	}
	return x.engine.store.DeleteSnapshot(ctx, x.name)
}
