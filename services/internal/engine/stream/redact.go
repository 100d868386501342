package stream

import (
	"fmt"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// redactChunk returns the payload of a chunk after an erasure, and how many of its
// entries are those of the viewer. What does not concern the viewer stays byte for
// byte.
func (e *Engine[S, C, E, R]) redactChunk(chunk *Chunk, n *ControlRecord) (payload []byte, entries uint64, err error) {
	header, encoded, err := splitPayload(chunk)
	if err != nil {
		return nil, 0, err
	}
	payload = slices.Clone(chunk.Payload[:len(chunk.Payload)-len(encoded)])
	checkpoint, err := controlRecordIn(chunk, encoded)
	if err != nil {
		return nil, 0, err
	}
	if checkpoint.HasKind(RecordCheckpoint) {
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
			payload = e.rules.AppendEntry(payload, e.rules.Redact(entry, n.replaceID, n.Drop))
		} else {
			payload = append(payload, before[:len(before)-len(r.Rest())]...)
		}
	}
	return append(payload, r.Rest()...), entries, nil
}

// keysWithoutViewer returns the keys of a chunk without those of the viewer's entries.
func (e *Engine[S, C, E, R]) keysWithoutViewer(chunk *Chunk, encoded []byte, keys []storedKey, n *ControlRecord) ([]storedKey, error) {
	var own []bool
	for entry, err := range e.decodeEntries(chunk, encoded) {
		if err != nil {
			return nil, err
		}
		own = append(own, e.concernsEntry(n, entry))
	}
	return keysWithout(keys, func(entry int) bool { return entry < len(own) && own[entry] }), nil
}

// renameCheckpoint returns a checkpoint after an erasure, and how many ids of the viewer it held.
func (e *Engine[S, C, E, R]) renameCheckpoint(checkpoint, n *ControlRecord) (renamed *ControlRecord, found uint64, err error) {
	state, err := e.restoreCheckpoint(checkpoint)
	if err != nil {
		return nil, 0, err
	}
	state = e.rules.Rename(state, func(id string) string {
		name := n.replaceID(id)
		if name != id {
			found++
		}
		return name
	})
	snapshot := checkpoint.Checkpoint
	snapshot.State = e.rules.AppendSnapshot(nil, state)
	return &ControlRecord{Kind: RecordCheckpoint, Checkpoint: snapshot}, found, nil
}
