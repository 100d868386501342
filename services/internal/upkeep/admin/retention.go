package admin

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// retentionInterval is the time between two runs over all streams. Retention periods
// are given in hours.
const retentionInterval = time.Hour

// RetentionWorker deletes data that is older than each extension's retention period.
type RetentionWorker struct {
	store    Store
	domains  Domains
	registry func() *tenant.Registry
	clock    stream.Clock
	logger   *slog.Logger

	chunks, bytes, snapshots atomic.Uint64
}

// NewRetentionWorker returns a worker for the streams of domains, which are those that
// this process serves.
func NewRetentionWorker(store Store, domains Domains, registry func() *tenant.Registry, clock stream.Clock, logger *slog.Logger) *RetentionWorker {
	return &RetentionWorker{store: store, domains: domains, registry: registry, clock: clock, logger: logger}
}

// RetentionStats are totals since the worker was made.
type RetentionStats struct {
	Chunks    uint64 // truncated
	Bytes     uint64 // of their payloads
	Snapshots uint64 // deleted
}

// Stats returns the worker's figures.
func (w *RetentionWorker) Stats() RetentionStats {
	return RetentionStats{w.chunks.Load(), w.bytes.Load(), w.snapshots.Load()}
}

// Run applies retention every hour until ctx is done. The first run comes after a
// random part of an hour, so that processes that share a database do not run at the
// same time, and checks every chunk: it finishes what an earlier process began.
func (w *RetentionWorker) Run(ctx context.Context) {
	wait := rand.N(retentionInterval)
	for first := true; w.clock.Sleep(ctx, wait) == nil; first = false {
		if err := w.RunOnce(ctx, first); err != nil && ctx.Err() == nil {
			w.logger.Warn("retention did not check every stream", "error", err)
		}
		wait = retentionInterval
	}
}

// RunOnce applies retention to every extension. With everyChunk it also checks
// streams that are not due.
func (w *RetentionWorker) RunOnce(ctx context.Context, everyChunk bool) error {
	var errs []error
	for extension := range w.registry().Extensions() {
		for _, environment := range []tenant.Environment{tenant.Production, tenant.Sandbox} {
			retention := extension.Retention(environment)
			for _, kind := range slices.Sorted(maps.Keys(w.domains)) {
				s := &retentionSweep{
					domain:     w.domains[kind],
					prefix:     key.Prefix(kind, string(environment), extension.ClientID),
					entries:    w.domains[kind].Retention(retention),
					snapshots:  retention.Snapshots,
					everyChunk: everyChunk,
				}
				if s.entries > 0 || s.snapshots > 0 {
					errs = append(errs, w.sweepStore(ctx, s))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// retentionSweep applies the retention of one extension to its streams of one kind.
type retentionSweep struct {
	domain             Domain
	prefix             string        // of the streams' names
	entries, snapshots time.Duration // how long they stay; 0 keeps them
	everyChunk         bool
}

// sweepStore continues after a stream that fails.
func (w *RetentionWorker) sweepStore(ctx context.Context, s *retentionSweep) error {
	var errs []error
	chunks, bytes := w.chunks.Load(), w.bytes.Load()
	for name, err := range w.store.Streams(ctx, s.prefix) {
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		began := w.clock.Now()
		errs = append(errs, w.applyRetention(ctx, s, name))
		// A pause as long as the work uses at most half of a connection's time.
		if err := w.clock.Sleep(ctx, w.clock.Now().Sub(began)); err != nil {
			return err
		}
	}
	if n := w.chunks.Load() - chunks; n > 0 {
		w.logger.Info("retention truncated streams", "streams", s.prefix, "chunks", n, "bytes", w.bytes.Load()-bytes)
	}
	return errors.Join(errs...)
}

// applyRetention applies retention to one stream.
func (w *RetentionWorker) applyRetention(ctx context.Context, s *retentionSweep, name string) error {
	now := w.clock.Now()
	if s.entries > 0 {
		due, err := s.domain.NeedsTruncation(ctx, name, now.Add(-s.entries))
		if err != nil {
			return err
		}
		if due || s.everyChunk {
			done, err := s.domain.Truncate(ctx, name, now.Add(-s.entries))
			w.chunks.Add(done.Chunks)
			w.bytes.Add(done.Bytes)
			if err != nil {
				return err
			}
		}
	}
	if s.snapshots == 0 {
		return nil
	}
	dropped, err := s.domain.DropSnapshot(ctx, name, now.Add(-s.snapshots))
	if dropped && err == nil {
		w.snapshots.Add(1)
	}
	return err
}
