package rewrite

import (
	"context"
	"errors"
	"fmt"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// Report counts the contents of one stream that Verify has checked.
type Report struct {
	Chunks  uint64
	Entries uint64
	Bytes   uint64 // of the chunks' payloads
	// Redacted counts the chunks from which an erasure has taken ids, control records of
	// erasures and truncations included.
	Redacted uint64
	// Truncated counts the chunks whose entries a truncation has removed: a checkpoint
	// replaces them, and they are not replayed.
	Truncated uint64
	// OverLimits counts the entries whose JSON exceeds exactjson.CheckLimits: they were
	// stored before there were limits, and some readers fail at them.
	OverLimits uint64
	// Snapshot reports whether a snapshot of the present format was compared with the
	// log.
	Snapshot bool
}

// ErrUnfinished marks a stream in which an erasure, a truncation or a purge was begun and
// not finished.
var ErrUnfinished = errors.New("stream: an erasure or a truncation is not finished")

// streamAudit holds the progress of Verify between two chunks.
type streamAudit struct {
	stream.Replay
	name     string
	report   Report
	snapshot uint64 // the chunk it was taken at
	// checksum is the digest over the redacted chunks so far. broken is set when the
	// last checksum record has another, or a chunk after it is redacted.
	seal   stream.Digest
	broken bool
	// open is the sequence number of the control record of an unfinished erasure or
	// truncation, 0 when there is none.
	open uint64
	// unlike is set when the snapshot is not the state of the log.
	unlike error
}

// Verify replays a stream from nothing and checks what the engine checks when it loads
// one, that redacted chunks hold exactly the bytes that the erasures wrote, and that
// the snapshot is the state of the log at its head. A snapshot from before an erasure,
// which no engine uses, is not compared. The error is [stream.ErrDamaged] if the
// stream is not sound, [ErrUnfinished] if an erasure or truncation has to be repeated, and any
// other if it could not be read; the report then covers what came before. It keeps one
// chunk and the state in memory, and nothing resident in the engine.
func (r *Rewriter) Verify(ctx context.Context, name string) (Report, error) {
	a := &streamAudit{Replay: r.log.Replay(name), name: name}
	snapshot, ok, err := r.store.LoadSnapshot(ctx, name)
	if err != nil {
		return a.report, err
	}
	a.snapshot = snapshot.Head.Seq
	a.report.Snapshot = ok && a.IsReadable(&snapshot)
	for chunk, err := range stream.PresentChunks(ctx, r.store, name, 0) {
		if err != nil {
			return a.report, err
		}
		if err := a.replay(&chunk); err != nil {
			return a.report, err
		}
		if a.report.Snapshot && chunk.Seq == snapshot.Head.Seq {
			a.unlike = a.Compare(&snapshot, a.report.Truncated > 0)
		}
	}
	if a.report.Snapshot && snapshot.Head.Seq-1 >= a.Head().Seq {
		a.unlike = fmt.Errorf("%w: %s: the snapshot was taken at chunk %d, the log ends at %d",
			stream.ErrDamaged, name, snapshot.Head.Seq, a.Head().Seq)
	}
	return a.report, a.verdict()
}

// replay checks the next chunk and applies it.
func (a *streamAudit) replay(chunk *stream.Chunk) error {
	n, err := a.Next(chunk)
	if errors.Is(err, stream.ErrTruncated) {
		return fmt.Errorf("%w: %s: chunk %d is truncated and no checkpoint replaces it", stream.ErrDamaged, a.name, chunk.Seq)
	}
	if err != nil {
		return err
	}
	a.report.Chunks++
	a.report.Entries += uint64(chunk.Count)
	a.report.Bytes += uint64(len(chunk.Payload))
	over, err := a.CountOverLimits(chunk)
	if a.report.OverLimits += over; err != nil {
		return err
	}
	a.note(chunk, n)
	if n.ReplacesIDs() && a.snapshot < chunk.Seq || n.HasKind(stream.RecordCheckpoint) && a.snapshot <= a.Head().Seq {
		a.unlike, a.report.Snapshot = nil, false
	}
	return nil
}

// note updates the report and the checksum with a chunk.
func (a *streamAudit) note(chunk *stream.Chunk, n *stream.ControlRecord) {
	if chunk.IsRedacted() {
		a.seal, a.broken = withChunk(a.seal, chunk), true
	}
	switch {
	case n.HasKind(stream.RecordChecksum):
		a.broken = n.Checksum != a.seal
	case n.HasKind(stream.RecordCheckpoint):
		a.report.Truncated = a.Head().Seq
	case n.IsUnfinished():
		a.open = chunk.Seq
	}
	if chunk.IsRedacted() && !n.HasKind(stream.RecordCheckpoint) {
		a.report.Redacted++
	}
}

// verdict returns what is wrong with the stream as a whole.
func (a *streamAudit) verdict() error {
	switch {
	case a.open > 0:
		return fmt.Errorf("%w: %s: that begun with chunk %d; erasing again finishes it", ErrUnfinished, a.name, a.open)
	case a.broken:
		return fmt.Errorf("%w: %s: the redacted chunks are not those that erasures and truncations wrote", stream.ErrDamaged, a.name)
	}
	return a.unlike
}
