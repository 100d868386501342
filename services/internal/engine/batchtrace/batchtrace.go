// Package batchtrace records the spans of commits that serve many calls at once, each of a
// trace of its own.
//
// The worker of a queue notes when the steps of a batch began and ended. Afterwards every
// sampled call of the batch gets a span for each step, with these times, as children of its
// own span: each trace is complete in itself, with no links to follow, and the spans of one
// batch are known by their equal times. A batch without a sampled call notes nothing.
//
// Spans have neither the key of what is committed, which names a channel or a viewer, nor
// the text of an error.
package batchtrace

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Recorder makes the spans of calls whose context has a sampled span. A nil Recorder makes
// none, and its calls and batches are nil, too.
type Recorder struct {
	tracer   trace.Tracer
	now      func() time.Time
	conflict error
}

// NewRecorder returns a recorder, nil for a nil tracer. A step that fails with conflict has
// lost a race, which is no failure.
func NewRecorder(tracer trace.Tracer, now func() time.Time, conflict error) *Recorder {
	if tracer == nil {
		return nil
	}
	return &Recorder{tracer, now, conflict}
}

// Call holds the sampled spans that wait for a call.
type Call struct {
	parents []trace.SpanContext
	queued  time.Time // when the call joined a queue; zero if it never did
}

// NewCall returns a call that the span of a context waits for, nil if that is not sampled.
func (r *Recorder) NewCall(ctx context.Context) *Call {
	if r == nil {
		return nil
	}
	parent := trace.SpanContextFromContext(ctx)
	if !parent.IsSampled() {
		return nil
	}
	return &Call{parents: []trace.SpanContext{parent}}
}

// Join returns the call with a further span that waits for it, or a new one in place of nil.
func (c *Call) Join(parent trace.SpanContext) *Call {
	if c == nil {
		c = &Call{}
	}
	c.parents = append(c.parents, parent)
	return c
}

// NoteQueued notes that a call joins a queue now. It is called before a worker may take the
// call.
func (r *Recorder) NoteQueued(c *Call) {
	if c != nil {
		c.queued = r.now()
	}
}

// StartSpan starts a span of a call, under the first that waits for it; nil for a nil call.
func (r *Recorder) StartSpan(c *Call, name string, kind trace.SpanKind) trace.Span {
	if c == nil {
		return nil
	}
	ctx := trace.ContextWithSpanContext(context.Background(), c.parents[0])
	_, span := r.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithTimestamp(r.now()))
	return span
}

// StartRemote starts a span under one of another process.
func (r *Recorder) StartRemote(parent trace.SpanContext, name string) trace.Span {
	ctx := trace.ContextWithRemoteSpanContext(context.Background(), parent)
	_, span := r.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(r.now()))
	return span
}

// AddEvent adds an event to a span.
func (r *Recorder) AddEvent(span trace.Span, name string) {
	span.AddEvent(name, trace.WithTimestamp(r.now()))
}

// EndSpan ends a span, unless it is nil, and marks it if it failed.
func (r *Recorder) EndSpan(span trace.Span, err error) {
	if span != nil {
		r.endSpan(span, r.now(), err)
	}
}

// endSpan ends a span at a time. Of an error it tells only the kind.
func (r *Recorder) endSpan(span trace.Span, at time.Time, err error) {
	switch {
	case err == nil:
	case errors.Is(err, r.conflict):
		span.SetAttributes(attribute.Bool("acclaim.conflict", true))
	default:
		span.SetStatus(codes.Error, fault.KindOf(err).String())
	}
	span.End(trace.WithTimestamp(at))
}

// maxSteps limits the steps of a batch that are noted: one that loses many races has more.
const maxSteps = 32

// Batch notes the steps of a batch. A nil Batch notes nothing.
type Batch struct {
	recorder *Recorder
	taken    time.Time // when the calls left the queue
	last     time.Time // when the last step ended
	steps    []Step
}

// Step is a step of a batch.
type Step struct {
	Name         string
	Began, Ended time.Time
	attributes   []attribute.KeyValue
	err          error
}

// NewBatch returns a batch whose calls leave the queue now. The steps before were done for
// the calls while these waited.
func (r *Recorder) NewBatch(before ...Step) *Batch {
	now := r.now()
	return &Batch{recorder: r, taken: now, last: now, steps: before}
}

// EndStep notes that a step ended, which began when the one before ended. It returns the
// step, valid until the next one, or nil where it is not noted.
func (b *Batch) EndStep(name string, err error) *Step {
	if b == nil || len(b.steps) >= maxSteps {
		return nil
	}
	now := b.recorder.now()
	b.steps = append(b.steps, Step{Name: name, Began: b.last, Ended: now, err: err})
	b.last = now
	return &b.steps[len(b.steps)-1]
}

// Describe adds to a step how many calls it served, with how many entries of how many bytes
// together.
func (s *Step) Describe(calls, entries, size int) {
	if s == nil {
		return
	}
	s.attributes = []attribute.KeyValue{
		attribute.Int("acclaim.batch.calls", calls),
		attribute.Int("acclaim.batch.entries", entries),
		attribute.Int("acclaim.batch.bytes", size),
	}
}

// Record records the spans of a batch for a call of it, unless that is nil: the time in the
// queue and the steps that had not ended when it joined the queue.
func (b *Batch) Record(c *Call) {
	if b == nil || c == nil {
		return
	}
	for _, parent := range c.parents {
		ctx := trace.ContextWithSpanContext(context.Background(), parent)
		if !c.queued.IsZero() {
			b.recordStep(ctx, &Step{Name: "queue", Began: c.queued, Ended: b.taken})
		}
		for i := range b.steps {
			if step := &b.steps[i]; !step.Ended.Before(c.queued) {
				b.recordStep(ctx, step)
			}
		}
	}
}

func (b *Batch) recordStep(ctx context.Context, s *Step) {
	_, span := b.recorder.tracer.Start(ctx, s.Name, trace.WithTimestamp(s.Began), trace.WithAttributes(s.attributes...))
	b.recorder.endSpan(span, s.Ended, s.err)
}
