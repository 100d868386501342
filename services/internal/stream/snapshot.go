package stream

import (
	"context"
	"fmt"
)

// saveIfDue starts writing a snapshot when the tail has outgrown the state, so
// that snapshots cost no more than a constant share of what is appended. While
// another snapshot is being written it does nothing: the tail keeps growing and
// the next batch asks again. A stream whose loading failed is about to be read anew.
func (l *log[S, C, E, R]) saveIfDue() {
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
		if err := l.save(e.ctx); err != nil {
			e.options.Logger.Warn("a snapshot was not written", "stream", l.name, "error", err)
		}
	})
}

// save writes a snapshot of the state as it is, and another if an erasure has made
// another state of it meanwhile. Readers go on meanwhile; the worker waits only
// while the state is copied.
func (l *log[S, C, E, R]) save(ctx context.Context) error {
	for {
		snapshot, covered, fold := l.copy()
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

// copy returns a snapshot, how much of the tail it covers, and which fold it is of.
func (l *log[S, C, E, R]) copy() (snapshot Snapshot, covered int64, fold int) {
	rules := l.engine.rules
	l.mu.RLock()
	defer l.mu.RUnlock()
	snapshot = Snapshot{
		Head:   l.head,
		Format: rules.SnapshotFormat(),
		State:  rules.AppendSnapshot(nil, l.state),
	}
	return snapshot, l.tail.Load(), l.folds
}
