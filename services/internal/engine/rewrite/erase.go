package rewrite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
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
	// RelatedIDs holds the result of [Rewriter.RelatedIDs] before the erasure. Those ids
	// were not replaced.
	RelatedIDs []string
}

// Erase gives a viewer random names in all that a stream holds up to now, as the
// package comment of stream describes, and finishes other erasures of the stream that were cut
// off. When it returns without an error, the stored chunks and snapshot hold none of
// the ids and this engine knows them no more. Otherwise some may be left, every
// figure is as it was, and erasing again goes on. It may be called for streams that
// other engines append to.
func (r *Rewriter) Erase(ctx context.Context, name string, viewer Viewer) (Erasure, error) {
	if err := r.log.CheckOpen(); err != nil {
		return Erasure{}, err
	}
	if r.beforeErase != nil {
		if err := r.beforeErase(ctx, name, viewer.IDs); err != nil {
			return Erasure{}, fmt.Errorf("erase from %s: %w", name, err)
		}
	}
	wanted := &stream.ControlRecord{Kind: stream.RecordErasing, Drop: viewer.DropData}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(viewer.IDs))) {
		wanted.Names = append(wanted.Names, stream.IDReplacement{ID: id, Name: erasedPrefix + rand.Text()})
	}
	var report Erasure
	linked := idSet{}
	x := &logRedaction{Rewriter: r, name: name, wanted: wanted}
	x.onTruncated = func(*stream.Chunk) {}
	x.inspectEntry = func(ids []string) { x.found = x.collectRelated(ids, linked) || x.found }
	x.inspect = x.inspectForErasure
	x.rewritten = func(n *stream.ControlRecord, entries uint64) {
		if slices.ContainsFunc(n.Names, func(n stream.IDReplacement) bool { return wanted.ConcernsID(n.ID) }) {
			report.Chunks, report.Entries = report.Chunks+1, report.Entries+entries
		}
	}
	_, err := x.runSteps(ctx)
	if x.changed {
		err = errors.Join(err, r.log.Refresh(ctx, name))
	}
	if err == nil {
		err = x.dropOldSnapshot(ctx)
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
func (r *Rewriter) RelatedIDs(ctx context.Context, name string, ids []string) ([]string, error) {
	wanted := &stream.ControlRecord{Kind: stream.RecordErasing}
	for _, id := range ids {
		wanted.Names = append(wanted.Names, stream.IDReplacement{ID: id, Name: id})
	}
	linked := idSet{}
	x := &logRedaction{Rewriter: r, name: name, wanted: wanted}
	x.inspectEntry = func(ids []string) { x.collectRelated(ids, linked) }
	x.inspect = func(*stream.Chunk, *stream.ControlRecord) error { return nil }
	x.resetLog()
	if err := x.readLog(ctx); err != nil {
		return nil, fmt.Errorf("look for a viewer in %s: %w", name, err)
	}
	return linked.sortedIDs(), nil
}

// idSet are ids that entries of a viewer hold besides those that were given.
type idSet map[string]bool

func (s idSet) sortedIDs() []string { return slices.Sorted(maps.Keys(s)) }

// collectRelated adds the other ids in an entry to linked if the entry is the
// viewer's, and reports whether it is.
func (r *logRedaction) collectRelated(ids []string, linked idSet) bool {
	if !slices.ContainsFunc(ids, r.wanted.ConcernsID) {
		return false
	}
	for _, id := range ids {
		if id != "" && !strings.HasPrefix(id, erasedPrefix) && !r.wanted.ConcernsID(id) {
			linked[id] = true
		}
	}
	return true
}

// inspectForErasure notes whether a checkpoint holds an id of the viewer.
func (r *logRedaction) inspectForErasure(chunk *stream.Chunk, n *stream.ControlRecord) error {
	if !n.HasKind(stream.RecordCheckpoint) {
		return nil
	}
	_, found, err := r.content.RedactChunk(chunk, r.wanted)
	r.found = r.found || found > 0
	return err
}

// rewriteChunks erases a viewer from the chunks before the one that began the erasure,
// and returns the digest over all redacted chunks.
func (r *logRedaction) rewriteChunks(ctx context.Context, n *stream.ControlRecord, until uint64) (seal stream.Digest, err error) {
	for chunk, err := range stream.PresentChunks(ctx, r.store, r.name, 0) {
		if err != nil {
			return seal, stream.ReadError(err)
		}
		if chunk.Seq >= until {
			break
		}
		redacted, entries, err := r.content.RedactChunk(&chunk, n)
		if err != nil {
			return seal, err
		}
		if entries > 0 {
			r.rewritten(n, entries)
		}
		if redacted != nil {
			if err := r.store.Replace(ctx, *redacted, chunk.Sum()); err != nil {
				return seal, err
			}
			chunk = *redacted
		}
		seal = withChunk(seal, &chunk)
	}
	return seal, nil
}

// dropOldSnapshot deletes a snapshot from before the last erasure: another process may write one
// after its end, as may this one for a stream that it evicted meanwhile.
func (r *logRedaction) dropOldSnapshot(ctx context.Context) error {
	if r.last == 0 {
		return nil
	}
	snapshot, ok, err := r.store.LoadSnapshot(ctx, r.name)
	if err != nil || !ok || snapshot.Head.Seq >= r.last {
		return err
	}
	return r.store.DeleteSnapshot(ctx, r.name)
}
