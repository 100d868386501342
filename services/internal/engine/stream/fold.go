package stream

import (
	"context"
	"errors"
)

// Span is the time between two chunks of a stream, in which it has one state: since the
// time of one, which belongs to it, until that of the next, in Unix milliseconds. Before the
// first chunk Since is 0; Truncated reports that the state is the one with which a truncated
// log begins.
type Span struct {
	Since, Until int64
	Truncated    bool
}

// Fold folds the log of a stream from its beginning and shows the states between its chunks,
// the oldest first, and then returns the last one with its span, whose Until is 0. A state
// belongs to show until that returns; if it returns false, Fold ends with that state and its
// span. Fold calls newShow before each attempt: an erasure or a truncation meanwhile
// makes it begin again. It reflects every command acknowledged before the call.
func (e *Engine[S, C, E, R]) Fold(ctx context.Context, name string, newShow func() func(Span, S) bool) (span Span, last S, err error) {
	if err := e.CheckOpen(); err != nil {
		return Span{}, last, err
	}
	var records []placedRecord
	var emptied EmptiedChunks
	for {
		l := &streamLog[S, C, E, R]{engine: e, name: name, state: e.rules.New(), detached: true}
		before := len(records)
		span, records, err = l.foldShowing(ctx, records, newShow())
		switch {
		case errors.Is(err, ErrTruncated):
			if err := emptied.Meet(name, l.head.Seq+1); err != nil {
				return span, last, ReadError(err)
			}
		case err != nil:
			return span, last, ReadError(err)
		case len(records) == before:
			return span, l.state, nil
		}
	}
}

// foldShowing is foldAll for a reader that is shown each state.
func (l *streamLog[S, C, E, R]) foldShowing(ctx context.Context, records []placedRecord, show func(Span, S) bool) (span Span, all []placedRecord, err error) {
	for chunk, err := range PresentChunks(ctx, l.engine.store, l.name, 0) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return span, records, err
		}
		isCheckpoint := beginsTruncated(&chunk)
		span.Until = chunk.At
		if !isCheckpoint && !show(span, l.state) {
			return span, records, nil
		}
		n, err := l.foldNext(&chunk, records)
		if err != nil {
			return span, records, err
		}
		if n.ReplacesIDs() && (len(records) == 0 || chunk.Seq > records[len(records)-1].seq) {
			records = append(records, placedRecord{chunk.Seq, n})
		}
		span = Span{Since: l.head.At, Truncated: isCheckpoint}
	}
	return span, records, nil
}

// beginsTruncated reports whether a chunk is the checkpoint with which a truncated log begins.
func beginsTruncated(chunk *Chunk) bool {
	if chunk.Seq > 1 || chunk.Count > 0 {
		return false
	}
	n, err := checkpointIn(chunk)
	return err == nil && n != nil
}
