package stream

import (
	"fmt"

	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
)

// Replay is the fold of a log from its beginning. Nothing of it stays resident in the engine.
type Replay interface {
	// Next checks the next chunk, applies it, and returns the control record that it holds,
	// nil when it holds none. The error is [ErrTruncated] for a tombstone, and else
	// [ErrDamaged].
	Next(chunk *Chunk) (*ControlRecord, error)
	// Head returns that of the last chunk.
	Head() Head
	// Snapshot returns the state, without keys, as one that was taken at a head.
	Snapshot(head Head) Snapshot
	// IsReadable reports whether a snapshot is in the present format.
	IsReadable(snapshot *Snapshot) bool
	// Compare checks a snapshot against the state at its head, and its keys, unless those of
	// truncated chunks may be among them. The error is [ErrDamaged].
	Compare(snapshot *Snapshot, truncated bool) error
	// CountOverLimits counts the entries of a chunk whose JSON exceeds [exactjson.CheckLimits].
	CountOverLimits(chunk *Chunk) (uint64, error)
}

// Replay returns a replay that has read nothing yet.
func (e *Engine[S, C, E, R]) Replay(name string) Replay {
	return logReplay[S, C, E, R]{&streamLog[S, C, E, R]{engine: e, name: name, state: e.rules.New()}}
}

type logReplay[S, C, E, R any] struct{ log *streamLog[S, C, E, R] }

func (r logReplay[S, C, E, R]) Next(chunk *Chunk) (*ControlRecord, error) {
	return r.log.foldNext(chunk, nil)
}

func (r logReplay[S, C, E, R]) Head() Head { return r.log.head }

func (r logReplay[S, C, E, R]) Snapshot(head Head) Snapshot {
	rules := r.log.engine.rules
	return Snapshot{Head: head, Format: rules.SnapshotFormat(), State: rules.AppendSnapshot(nil, r.log.state)}
}

func (r logReplay[S, C, E, R]) IsReadable(snapshot *Snapshot) bool {
	return r.log.engine.isReadable(snapshot)
}

func (r logReplay[S, C, E, R]) Compare(snapshot *Snapshot, truncated bool) error {
	l := r.log
	if snapshot.Head != l.head {
		return fmt.Errorf("%w: %s: the snapshot was taken at another chunk %d than the log has", ErrDamaged, l.name, l.head.Seq)
	}
	state, keys, err := l.engine.restoreSnapshot(snapshot)
	if err != nil {
		return fmt.Errorf("%w: %s: the snapshot at chunk %d does not decode: %w", ErrDamaged, l.name, l.head.Seq, err)
	}
	if !l.engine.rules.Equal(state, l.state) || !truncated && !keys.agreesWith(&l.keys, l.head.At) {
		return fmt.Errorf("%w: %s: the snapshot at chunk %d is not the state of the log", ErrDamaged, l.name, l.head.Seq)
	}
	return nil
}

// jsonRules are rules of entries that hold JSON of a caller.
type jsonRules[E any] interface{ EntryJSON(entry E) []byte }

func (r logReplay[S, C, E, R]) CountOverLimits(chunk *Chunk) (over uint64, err error) {
	rules, ok := r.log.engine.rules.(jsonRules[E])
	if truncated, err := chunk.Truncated(); !ok || truncated || err != nil {
		return 0, err
	}
	for entry, err := range r.log.engine.Entries(chunk) {
		if err != nil {
			return over, err
		}
		if exactjson.CheckLimits(rules.EntryJSON(entry)) != nil {
			over++
		}
	}
	return over, nil
}
