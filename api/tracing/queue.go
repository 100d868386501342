package tracing

import (
	"context"
	"log/slog"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// spanQueue holds the spans that have ended until the exporter has dealt with them. It is
// the batch processor of the SDK with a bound that counts what it drops: that of the SDK
// drops without a word. It never blocks.
type spanQueue struct {
	sdktrace.SpanProcessor // the batch processor
	limit                  int64
	logger                 *slog.Logger

	waiting                   atomic.Int64
	exported, failed, dropped atomic.Uint64
	// dropping and failing are set from the first loss until the next export that succeeds,
	// so that each is logged once.
	dropping, failing atomic.Bool
}

// Stats are the spans of a process since it started, and those that wait.
type Stats struct {
	Waiting, Limit int64
	Exported       uint64
	Failed         uint64 // the collector did not take them
	Dropped        uint64 // there was no room for them
}

func newSpanQueue(exporter sdktrace.SpanExporter, limit int64, logger *slog.Logger) *spanQueue {
	q := &spanQueue{limit: limit, logger: logger}
	q.SpanProcessor = sdktrace.NewBatchSpanProcessor(countingExporter{exporter, q}, sdktrace.WithMaxQueueSize(int(limit)))
	return q
}

// OnEnd implements [sdktrace.SpanProcessor].
func (q *spanQueue) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if q.waiting.Add(1) > q.limit {
		q.waiting.Add(-1)
		q.dropped.Add(1)
		if !q.dropping.Swap(true) {
			q.logger.Warn("spans are dropped: the queue for the collector is full", "limit", q.limit)
		}
		return
	}
	q.SpanProcessor.OnEnd(s)
}

func (q *spanQueue) stats() Stats {
	return Stats{
		Waiting: q.waiting.Load(), Limit: q.limit,
		Exported: q.exported.Load(), Failed: q.failed.Load(), Dropped: q.dropped.Load(),
	}
}

// countingExporter counts what happens to the spans of a queue.
type countingExporter struct {
	sdktrace.SpanExporter
	queue *spanQueue
}

// ExportSpans implements [sdktrace.SpanExporter]. It returns nil: the SDK would write an
// error past the logger.
func (e countingExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	q, n := e.queue, len(spans)
	err := e.SpanExporter.ExportSpans(ctx, spans)
	q.waiting.Add(int64(-n))
	if err != nil {
		q.failed.Add(uint64(n))
		if !q.failing.Swap(true) {
			q.logger.Warn("spans are lost: the collector does not take them", "error", err)
		}
		return nil
	}
	q.exported.Add(uint64(n))
	q.dropping.Store(false)
	if q.failing.Swap(false) {
		q.logger.Info("the collector takes spans again")
	}
	return nil
}
