package stream

import (
	"bytes"
	"cmp"
	"context"
	"errors"
)

// The methods below are those by which package rewrite reads and changes logs, beside the
// store. None of them knows an erasure, a truncation or a purge as a whole.

// CheckOpen returns an error once Close was called. Close does not wait for its caller.
func (e *Engine[S, C, E, R]) CheckOpen() error {
	err := e.beginCall()
	if err == nil {
		e.work.Done()
	}
	return err
}

// ReadNext returns the control record that a chunk holds, nil when it holds none. It checks
// that the chunk follows a head and decodes, and calls each, unless that is nil, with the ids
// of viewers in each entry. The error is [ErrDamaged].
func (e *Engine[S, C, E, R]) ReadNext(head Head, chunk *Chunk, each func(ids []string)) (*ControlRecord, error) {
	if err := head.checkFollows(chunk, e.options.AllowEqualTimestamps); err != nil {
		return nil, err
	}
	_, record, entries, err := e.unpackChunk(chunk, nil)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if each != nil {
			each(e.rules.Identities(entry))
		}
	}
	return record, nil
}

// RedactChunk returns a chunk after an erasure, nil when that leaves it as it is, and how many
// of its entries are those of the viewer; of a checkpoint, how many ids it holds.
func (e *Engine[S, C, E, R]) RedactChunk(chunk *Chunk, erasing *ControlRecord) (redacted *Chunk, entries uint64, err error) {
	payload, entries, err := e.redactChunk(chunk, erasing)
	if err != nil || bytes.Equal(payload, chunk.Payload) {
		return nil, entries, err
	}
	changed := chunk.redactedTo(payload)
	return &changed, entries, nil
}

// VisitCheckpointIDs calls visit with each id of a viewer in the state of a checkpoint.
func (e *Engine[S, C, E, R]) VisitCheckpointIDs(checkpoint *ControlRecord, visit func(id string)) error {
	state, err := e.restoreCheckpoint(checkpoint)
	if err != nil {
		return err
	}
	e.rules.Rename(state, func(id string) string {
		visit(id)
		return id
	})
	return nil
}

// AppendRecord appends a control record to a log that ends with a head, when the pace of
// commits allows it. Errors are those of [Store].
func (e *Engine[S, C, E, R]) AppendRecord(ctx context.Context, name string, head Head, record *ControlRecord) error {
	l := &streamLog[S, C, E, R]{engine: e, name: name, head: head}
	if err := l.paceCommit(ctx, 0); err != nil {
		return err
	}
	err := e.store.Append(ctx, Chunk{
		Stream:  name,
		Seq:     head.Seq + 1,
		At:      l.nextTime(),
		ID:      e.random.newChunkID(),
		Prev:    head.Sum,
		Payload: record.encodePayload(),
	})
	if errors.Is(err, ErrConflict) { // the caller reads on, and it may be too early for that
		err = cmp.Or(e.clock.Sleep(ctx, minTurn), err)
	}
	return err
}

// Refresh makes a resident stream apply the chunks that were appended beside its worker. When it
// returns without an error, no snapshot that this engine copied before is still to be written.
func (e *Engine[S, C, E, R]) Refresh(ctx context.Context, name string) error {
	e.mu.Lock()
	resident := e.resident.Contains(name)
	e.mu.Unlock()
	if resident {
		if err := e.runLocally(ctx, name, &submittedCall[C, R]{refresh: true}); err != nil {
			return err
		}
	}
	return e.waitForSnapshot(ctx)
}
