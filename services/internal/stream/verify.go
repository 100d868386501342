package stream

import (
	"context"
	"fmt"
)

// Report is what Verify found in one stream.
type Report struct {
	Chunks  uint64
	Entries uint64
	Bytes   uint64 // of the chunks' payloads
	// Snapshot tells that there is a snapshot of the present format, which was
	// compared with the log.
	Snapshot bool
}

// Verify replays a stream from nothing and checks what the engine checks when
// it loads one, and that the snapshot is the state of the log at its head. What
// that means is for equal to say: encodings may differ by the order of a map or
// the seed of a hash table where states do not. The error is [ErrDamaged] if the stream is not sound, and any other if it could not be
// read; the report then covers what came before. It keeps one chunk and the
// state in memory, and nothing resident in the engine.
func (e *Engine[S, C, E, R]) Verify(ctx context.Context, name string, equal func(restored, folded S) bool) (Report, error) {
	var report Report
	snapshot, ok, err := e.store.LoadSnapshot(ctx, name)
	if err != nil {
		return report, err
	}
	report.Snapshot = ok && snapshot.Format == e.rules.SnapshotFormat()
	l := &log[S, C, E, R]{engine: e, name: name, state: e.rules.New()}
	for chunk, err := range e.store.Chunks(ctx, name, 0) {
		if err != nil {
			return report, err
		}
		if err := l.replay(&chunk, &report); err != nil {
			return report, err
		}
		if report.Snapshot && chunk.Seq == snapshot.Head.Seq {
			if err := l.compare(&snapshot, equal); err != nil {
				return report, err
			}
		}
	}
	if report.Snapshot && snapshot.Head.Seq-1 >= l.head.Seq {
		return report, fmt.Errorf("%w: %s: the snapshot was taken at chunk %d, the log ends at %d",
			ErrDamaged, name, snapshot.Head.Seq, l.head.Seq)
	}
	return report, nil
}

// replay checks the next chunk and applies it.
func (l *log[S, C, E, R]) replay(chunk *Chunk, report *Report) error {
	if err := l.check(chunk); err != nil {
		return err
	}
	_, encoded, err := splitPayload(chunk)
	if err != nil {
		return err
	}
	for entry, err := range l.engine.decode(chunk, encoded) {
		if err != nil {
			return err
		}
		l.engine.rules.Apply(l.state, chunk.At, entry)
		report.Entries++
	}
	l.head = Head{Seq: chunk.Seq, At: chunk.At, Sum: chunk.Sum()}
	report.Chunks++
	report.Bytes += uint64(len(chunk.Payload))
	return nil
}

// compare checks a snapshot against the state at its head.
func (l *log[S, C, E, R]) compare(snapshot *Snapshot, equal func(restored, folded S) bool) error {
	if snapshot.Head != l.head {
		return fmt.Errorf("%w: %s: the snapshot was taken at another chunk %d than the log has", ErrDamaged, l.name, l.head.Seq)
	}
	state, err := l.engine.rules.RestoreSnapshot(snapshot.State)
	if err != nil {
		return fmt.Errorf("%w: %s: the snapshot at chunk %d does not decode: %w", ErrDamaged, l.name, l.head.Seq, err)
	}
	if !equal(state, l.state) {
		return fmt.Errorf("%w: %s: the snapshot at chunk %d is not the state of the log", ErrDamaged, l.name, l.head.Seq)
	}
	return nil
}
