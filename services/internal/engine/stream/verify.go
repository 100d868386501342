package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
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
	// OverLimits counts the entries whose JSON exceeds [exactjson.CheckLimits]: they were
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
type streamAudit[S, C, E, R any] struct {
	*streamLog[S, C, E, R]
	report   Report
	snapshot uint64 // the chunk it was taken at
	// checksum is the digest over the redacted chunks so far. broken is set when the
	// last checksum record has another, or a chunk after it is redacted.
	seal   Digest
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
// which no engine uses, is not compared. The error is [ErrDamaged] if the stream is
// not sound, [ErrUnfinished] if an erasure or truncation has to be repeated, and any
// other if it could not be read; the report then covers what came before. It keeps one
// chunk and the state in memory, and nothing resident in the engine.
func (e *Engine[S, C, E, R]) Verify(ctx context.Context, name string) (Report, error) {
	a := &streamAudit[S, C, E, R]{streamLog: &streamLog[S, C, E, R]{engine: e, name: name, state: e.rules.New()}}
	snapshot, ok, err := e.store.LoadSnapshot(ctx, name)
	if err != nil {
		return a.report, err
	}
	a.snapshot = snapshot.Head.Seq
	a.report.Snapshot = ok && e.isReadable(&snapshot)
	for chunk, err := range e.presentChunks(ctx, name, 0) {
		if err != nil {
			return a.report, err
		}
		if err := a.replay(&chunk); err != nil {
			return a.report, err
		}
		if a.report.Snapshot && chunk.Seq == snapshot.Head.Seq {
			a.unlike = a.compare(&snapshot, a.report.Truncated > 0)
		}
	}
	if a.report.Snapshot && snapshot.Head.Seq-1 >= a.head.Seq {
		a.unlike = fmt.Errorf("%w: %s: the snapshot was taken at chunk %d, the log ends at %d",
			ErrDamaged, name, snapshot.Head.Seq, a.head.Seq)
	}
	return a.report, a.verdict()
}

// replay checks the next chunk and applies it.
func (a *streamAudit[S, C, E, R]) replay(chunk *Chunk) error {
	n, err := a.foldNext(chunk, nil)
	if errors.Is(err, errTruncated) {
		return fmt.Errorf("%w: %s: chunk %d is truncated and no checkpoint replaces it", ErrDamaged, a.name, chunk.Seq)
	}
	if err != nil {
		return err
	}
	a.report.Chunks++
	a.report.Entries += uint64(chunk.Count)
	a.report.Bytes += uint64(len(chunk.Payload))
	if err := a.countOverLimits(chunk); err != nil {
		return err
	}
	a.note(chunk, n)
	if n.replacesIDs() && a.snapshot < chunk.Seq || n.hasKind(recordCheckpoint) && a.snapshot <= a.head.Seq {
		a.unlike, a.report.Snapshot = nil, false
	}
	return nil
}

// jsonRules are rules of entries that hold JSON of a caller.
type jsonRules[E any] interface{ EntryJSON(entry E) []byte }

func (a *streamAudit[S, C, E, R]) countOverLimits(chunk *Chunk) error {
	rules, ok := a.engine.rules.(jsonRules[E])
	if truncated, err := chunk.Truncated(); !ok || truncated || err != nil {
		return err
	}
	for entry, err := range a.engine.Entries(chunk) {
		if err != nil {
			return err
		}
		if exactjson.CheckLimits(rules.EntryJSON(entry)) != nil {
			a.report.OverLimits++
		}
	}
	return nil
}

// note updates the report and the checksum with a chunk.
func (a *streamAudit[S, C, E, R]) note(chunk *Chunk, n *controlRecord) {
	if chunk.isRedacted() {
		a.seal, a.broken = a.seal.withChunk(chunk), true
	}
	switch {
	case n.hasKind(recordChecksum):
		a.broken = n.checksum != a.seal
	case n.hasKind(recordCheckpoint):
		a.report.Truncated = a.head.Seq
	case n.isUnfinished():
		a.open = chunk.Seq
	}
	if chunk.isRedacted() && !n.hasKind(recordCheckpoint) {
		a.report.Redacted++
	}
}

// verdict returns what is wrong with the stream as a whole.
func (a *streamAudit[S, C, E, R]) verdict() error {
	switch {
	case a.open > 0:
		return fmt.Errorf("%w: %s: that begun with chunk %d; erasing again finishes it", ErrUnfinished, a.name, a.open)
	case a.broken:
		return fmt.Errorf("%w: %s: the redacted chunks are not those that erasures and truncations wrote", ErrDamaged, a.name)
	}
	return a.unlike
}

// compare checks a snapshot against the state at its head, and its keys, unless those of
// truncated chunks may be among them.
func (l *streamLog[S, C, E, R]) compare(snapshot *Snapshot, truncated bool) error {
	if snapshot.Head != l.head {
		return fmt.Errorf("%w: %s: the snapshot was taken at another chunk %d than the log has", ErrDamaged, l.name, l.head.Seq)
	}
	state, keys, err := l.engine.restoreSnapshot(snapshot)
	if err != nil {
		return fmt.Errorf("%w: %s: the snapshot at chunk %d does not decode: %w", ErrDamaged, l.name, l.head.Seq, err)
	}
	if !l.engine.rules.Equal(state, l.state) || !truncated && !keys.equal(&l.keys) {
		return fmt.Errorf("%w: %s: the snapshot at chunk %d is not the state of the log", ErrDamaged, l.name, l.head.Seq)
	}
	return nil
}
