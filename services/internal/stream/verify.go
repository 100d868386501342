package stream

import (
	"context"
	"errors"
	"fmt"
)

// Report is what Verify found in one stream.
type Report struct {
	Chunks  uint64
	Entries uint64
	Bytes   uint64 // of the chunks' payloads
	// Redacted counts the chunks from which an erasure has taken ids, notices of
	// erasures and trims included.
	Redacted uint64
	// Trimmed is how many chunks a trim has taken the entries of: a base stands for
	// them, and they are not replayed.
	Trimmed uint64
	// Snapshot tells that there is a snapshot of the present format, which was
	// compared with the log.
	Snapshot bool
}

// ErrUnfinished marks a stream in which an erasure or a trim was begun and not
// finished.
var ErrUnfinished = errors.New("stream: an erasure or a trim is not finished")

// audit is what Verify knows of a stream between two chunks.
type audit[S, C, E, R any] struct {
	*log[S, C, E, R]
	report   Report
	snapshot uint64 // the chunk it was taken at
	// seal is over the redacted chunks so far. broken says that the last seal is
	// another, or that a chunk after it is redacted.
	seal   Digest
	broken bool
	// open is the chunk with the notice of what is not finished, 0 when there is none.
	open uint64
	// unlike is why the snapshot is not the state of the log.
	unlike error
}

// Verify replays a stream from nothing and checks what the engine checks when
// it loads one, that redacted chunks are what the erasures made of them, and that
// the snapshot is the state of the log at its head. A snapshot from before an erasure, which no engine uses, is not
// compared. The error is [ErrDamaged] if the stream is not sound, [ErrUnfinished]
// if an erasure or trim has to be repeated, and any other if it could not be read; the
// report then covers what came before. It keeps one chunk and the state in memory,
// and nothing resident in the engine.
func (e *Engine[S, C, E, R]) Verify(ctx context.Context, name string) (Report, error) {
	a := &audit[S, C, E, R]{log: &log[S, C, E, R]{engine: e, name: name, state: e.rules.New()}}
	snapshot, ok, err := e.store.LoadSnapshot(ctx, name)
	if err != nil {
		return a.report, err
	}
	a.snapshot = snapshot.Head.Seq
	a.report.Snapshot = ok && snapshot.Format == e.rules.SnapshotFormat()
	for chunk, err := range e.present(ctx, name, 0) {
		if err != nil {
			return a.report, err
		}
		if err := a.replay(&chunk); err != nil {
			return a.report, err
		}
		if a.report.Snapshot && chunk.Seq == snapshot.Head.Seq {
			a.unlike = a.compare(&snapshot)
		}
	}
	if a.report.Snapshot && snapshot.Head.Seq-1 >= a.head.Seq {
		a.unlike = fmt.Errorf("%w: %s: the snapshot was taken at chunk %d, the log ends at %d",
			ErrDamaged, name, snapshot.Head.Seq, a.head.Seq)
	}
	return a.report, a.verdict()
}

// replay checks the next chunk and applies it.
func (a *audit[S, C, E, R]) replay(chunk *Chunk) error {
	n, err := a.take(chunk, nil)
	if errors.Is(err, errTrimmed) {
		return fmt.Errorf("%w: %s: chunk %d is trimmed and no base stands for it", ErrDamaged, a.name, chunk.Seq)
	}
	if err != nil {
		return err
	}
	a.report.Chunks++
	a.report.Entries += uint64(chunk.Count)
	a.report.Bytes += uint64(len(chunk.Payload))
	a.note(chunk, n)
	if n.renames() && a.snapshot < chunk.Seq || n.is(noticeBase) && a.snapshot <= a.head.Seq {
		a.unlike, a.report.Snapshot = nil, false
	}
	return nil
}

// note notes what a chunk says of those that are redacted.
func (a *audit[S, C, E, R]) note(chunk *Chunk, n *notice) {
	if chunk.redacted() {
		a.seal, a.broken = a.seal.sealing(chunk), true
	}
	switch {
	case n.is(noticeSealed):
		a.broken = n.seal != a.seal
	case n.is(noticeBase):
		a.report.Trimmed = a.head.Seq
	case n.opens():
		a.open = chunk.Seq
	}
	if chunk.redacted() && !n.is(noticeBase) {
		a.report.Redacted++
	}
}

// verdict returns what is wrong with the stream as a whole.
func (a *audit[S, C, E, R]) verdict() error {
	switch {
	case a.open > 0:
		return fmt.Errorf("%w: %s: that begun with chunk %d; erasing again finishes it", ErrUnfinished, a.name, a.open)
	case a.broken:
		return fmt.Errorf("%w: %s: the redacted chunks are not what erasures and trims made of them", ErrDamaged, a.name)
	}
	return a.unlike
}

// compare checks a snapshot against the state at its head.
func (l *log[S, C, E, R]) compare(snapshot *Snapshot) error {
	if snapshot.Head != l.head {
		return fmt.Errorf("%w: %s: the snapshot was taken at another chunk %d than the log has", ErrDamaged, l.name, l.head.Seq)
	}
	state, err := l.engine.rules.RestoreSnapshot(snapshot.State)
	if err != nil {
		return fmt.Errorf("%w: %s: the snapshot at chunk %d does not decode: %w", ErrDamaged, l.name, l.head.Seq, err)
	}
	if !l.engine.rules.Equal(state, l.state) {
		return fmt.Errorf("%w: %s: the snapshot at chunk %d is not the state of the log", ErrDamaged, l.name, l.head.Seq)
	}
	return nil
}
