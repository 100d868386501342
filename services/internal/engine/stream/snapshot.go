package stream

import (
	"context"
	"fmt"

	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// saveIfDue starts writing a snapshot when the tail has outgrown the state, so
// that snapshots cost no more than a constant share of what is appended. While
// another snapshot is being written it does nothing: the tail keeps growing and
// the next batch asks again. A stream whose loading failed is about to be read again.
func (l *streamLog[S, C, E, R]) saveIfDue() {
	e := l.engine
	if !l.loaded.Load() || l.tail.Load() < max(int64(e.options.SnapshotTail), l.size.Load()) {
		return
	}
	select {
	case e.saving <- struct{}{}:
	default:
		return
	}
	e.work.Go(func() {
		defer func() { <-e.saving }()
		if err := l.saveSnapshot(e.ctx); err != nil {
			e.options.Logger.Warn("a snapshot was not written", "stream", l.name, "error", err)
		}
	})
}

// waitForSnapshot waits until the snapshot that is being written, if any, is written.
func (e *Engine[S, C, E, R]) waitForSnapshot(ctx context.Context) error {
	select {
	case e.saving <- struct{}{}:
		<-e.saving
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// saveSnapshot writes a snapshot of the state as it is, and another if an erasure has made
// another state of it meanwhile. Readers go on meanwhile; the worker waits only
// while the state is copied.
func (l *streamLog[S, C, E, R]) saveSnapshot(ctx context.Context) error {
	for {
		snapshot, covered, fold := l.copyState()
		if err := l.engine.store.SaveSnapshot(ctx, l.name, snapshot); err != nil {
			return fmt.Errorf("snapshot of %s: %w", l.name, err)
		}
		l.engine.stats.snapshots.Add(1)
		l.mu.RLock()
		current := l.folds == fold
		l.mu.RUnlock()
		if current {
			l.tail.Add(-covered)
			return nil
		}
	}
}

// copyState returns a snapshot, how much of the tail it covers, and which fold it is of.
func (l *streamLog[S, C, E, R]) copyState() (snapshot Snapshot, covered int64, fold int) {
	rules := l.engine.rules
	l.mu.RLock()
	defer l.mu.RUnlock()
	snapshot = Snapshot{Head: l.head, Format: rules.SnapshotFormat()}
	switch {
	case len(l.keys.names)+len(l.keys.held.keys) == 0:
	case l.engine.holder != nil:
		snapshot.Format |= withHeldKeys
		snapshot.State = l.keys.held.appendSnapshot(l.keys.encodeSnapshot())
	default:
		snapshot.Format |= withKeys
		snapshot.State = l.keys.encodeSnapshot()
	}
	snapshot.State = rules.AppendSnapshot(snapshot.State, l.state)
	return snapshot, l.tail.Load(), l.folds
}

// withKeys is a bit in the format of a snapshot whose state follows keys. Versions without
// keys ignore such a snapshot and read the log.
//
// withHeldKeys is the bit of one whose state follows keys and those held beside records. Versions
// without such keys ignore it likewise. They would not find a key that was held.
const (
	withKeys     = 1 << 16
	withHeldKeys = 1 << 17
)

// isReadable reports whether a snapshot is in the present format.
func (e *Engine[S, C, E, R]) isReadable(s *Snapshot) bool {
	return s.Format&^(withKeys|withHeldKeys) == e.rules.SnapshotFormat()
}

// restoreSnapshot returns the state and the keys of a snapshot, which may keep parts of it.
func (e *Engine[S, C, E, R]) restoreSnapshot(s *Snapshot) (state S, keys keyRing, err error) {
	r := wire.NewReader(s.State)
	if s.Format&(withKeys|withHeldKeys) != 0 {
		keys = restoreKeys(r)
	}
	if s.Format&withHeldKeys != 0 {
		keys.held = restoreHeldKeys(r)
	}
	if err := r.Err(); err != nil {
		return state, keys, err
	}
	state, err = e.restoreState(r.Rest())
	return state, keys, err
}

// restoreState returns the state of a snapshot, which may keep parts of encoded.
func (e *Engine[S, C, E, R]) restoreState(encoded []byte) (S, error) {
	r := wire.NewReader(encoded)
	state := e.rules.RestoreSnapshot(r)
	return state, r.End()
}
