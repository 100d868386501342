package stream

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/wire"
)

// A commit serves many calls, each of a trace of its own. So the worker notes when the steps
// of a batch began and ended, and afterwards every sampled call of the batch gets a span for
// each step, with these times, as children of its own span: each trace is complete in itself,
// with no links to follow, and the spans of one batch are known by their equal times. A batch
// without a sampled call notes nothing.
//
// Spans have neither the name of a stream, which names a channel or a viewer, nor the text of
// an error.

// callTraces are the sampled spans that wait for a call: its caller's or, where another
// process forwarded it, those of each call of the group that is sampled.
type callTraces struct {
	parents []trace.SpanContext
	began   time.Time // when the call joined the queue of its stream
}

// tracesOf returns the traces of a call of this process, nil where it is not sampled.
func (e *Engine[S, C, E, R]) tracesOf(ctx context.Context) *callTraces {
	if e.options.Tracer == nil {
		return nil
	}
	parent := trace.SpanContextFromContext(ctx)
	if !parent.IsSampled() {
		return nil
	}
	return &callTraces{parents: []trace.SpanContext{parent}}
}

// The steps of a batch.
const (
	stepQueue  = "queue"  // the call waits for the commit before
	stepLoad   = "load"   // the stream is read into memory, while calls wait
	stepDecide = "decide" // the rules are run
	stepAppend = "append" // the chunk is stored
	stepApply  = "apply"  // the chunk is folded into the state
	stepRead   = "read"   // chunks of other processes are read and folded
	stepWait   = "wait"   // between two attempts
)

// maxSteps limits the steps of a batch that are noted: one that loses many races has more.
const maxSteps = 32

// batchTrace notes the steps of a batch. A nil batchTrace notes nothing.
type batchTrace struct {
	clock Clock
	taken time.Time
	last  time.Time
	steps []batchStep
}

type batchStep struct {
	name         string
	began, ended time.Time
	attributes   []attribute.KeyValue
	err          error
}

// beginTrace returns the trace of the batch that was taken, nil where no call of it is
// sampled.
func (l *streamLog[S, C, E, R]) beginTrace() *batchTrace {
	load := l.loadStep
	l.loadStep = batchStep{}
	if l.engine.options.Tracer == nil || !slices.ContainsFunc(l.taken, func(it *callItem[C, R]) bool { return it.Value.traces != nil }) {
		return nil
	}
	now := l.engine.clock.Now()
	t := &batchTrace{clock: l.engine.clock, taken: now, last: now}
	if load.name != "" {
		t.steps = append(t.steps, load)
	}
	return t
}

// endStep notes that a step ended, which began when the one before ended.
func (t *batchTrace) endStep(name string, err error) {
	if t == nil || len(t.steps) == maxSteps {
		return
	}
	now := t.clock.Now()
	t.steps = append(t.steps, batchStep{name: name, began: t.last, ended: now, err: err})
	t.last = now
}

// describeChunk adds what the last step did to a chunk.
func (t *batchTrace) describeChunk(calls int, chunk *Chunk) {
	if t == nil {
		return
	}
	t.steps[len(t.steps)-1].attributes = []attribute.KeyValue{
		attribute.Int("acclaim.batch.calls", calls),
		attribute.Int("acclaim.batch.entries", chunk.Count),
		attribute.Int("acclaim.batch.bytes", len(chunk.Payload)),
	}
}

// tracesOfBatch returns the traces of the calls that the batch still holds.
func (l *streamLog[S, C, E, R]) tracesOfBatch() (all []*callTraces) {
	if l.trace == nil {
		return nil
	}
	for _, it := range l.taken {
		if it.Value.traces != nil {
			all = append(all, it.Value.traces)
		}
	}
	return all
}

// recordBatch records the spans of a batch, after its calls were answered.
func (l *streamLog[S, C, E, R]) recordBatch(calls []*callTraces) {
	for _, call := range calls {
		for _, parent := range call.parents {
			recordSteps(l.engine.options.Tracer, parent, call.began, l.trace)
		}
	}
	l.trace = nil
}

// recordSteps records the steps of a batch for one call, which began to wait at a time.
func recordSteps(tracer trace.Tracer, parent trace.SpanContext, began time.Time, batch *batchTrace) {
	ctx := trace.ContextWithSpanContext(context.Background(), parent)
	recordStep(ctx, tracer, &batchStep{name: stepQueue, began: began, ended: batch.taken})
	for i := range batch.steps {
		if step := &batch.steps[i]; step.ended.After(began) {
			recordStep(ctx, tracer, step)
		}
	}
}

func recordStep(ctx context.Context, tracer trace.Tracer, step *batchStep) {
	_, span := tracer.Start(ctx, step.name, trace.WithTimestamp(step.began), trace.WithAttributes(step.attributes...))
	failSpan(span, step.err)
	span.End(trace.WithTimestamp(step.ended))
}

// failSpan marks a span as failed by an error and tells only its kind. A lost race is no
// failure.
func failSpan(span trace.Span, err error) {
	switch {
	case err == nil:
	case errors.Is(err, ErrConflict):
		span.SetAttributes(attribute.Bool("acclaim.conflict", true))
	default:
		span.SetStatus(codes.Error, fault.KindOf(err).String())
	}
}

// startForward starts the span of a call that waits for another process, nil where the call is
// not sampled.
func (e *Engine[S, C, E, R]) startForward(c *submittedCall[C, R]) trace.Span {
	if c.traces == nil {
		return nil
	}
	ctx := trace.ContextWithSpanContext(context.Background(), c.traces.parents[0])
	_, span := e.options.Tracer.Start(ctx, "forward", trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(e.clock.Now()))
	return span
}

// endForward ends the span of a forwarded call, if there is one.
func (e *Engine[S, C, E, R]) endForward(span trace.Span, err error) {
	if span == nil {
		return
	}
	failSpan(span, err)
	span.End(trace.WithTimestamp(e.clock.Now()))
}

// sampledSpans yields the spans of the calls of a group that are sampled.
func (p *forwardedGroup[C, R]) sampledSpans() iter.Seq[trace.Span] {
	return func(yield func(trace.Span) bool) {
		for _, it := range p.items {
			if span := it.Value.span; span != nil && !yield(span) {
				return
			}
		}
	}
}

// traces returns the traces of a group that this process runs itself.
func (p *forwardedGroup[C, R]) traces() (traces *callTraces) {
	for span := range p.sampledSpans() {
		if traces == nil {
			traces = &callTraces{}
		}
		traces.parents = append(traces.parents, span.SpanContext())
	}
	return traces
}

// A request between processes begins with a group of no commands and no queries if some of
// its calls are sampled. The name of its stream lists their traces: for each the number of
// the group, the id of the trace and that of the span. It gets no answer.

const tracesPrefix = "traces:"

// encodeTraces returns the frame with the traces of the sampled calls of a request, nil if
// none is.
func (e *Engine[S, C, E, R]) encodeTraces(groups []*forwardedGroup[C, R]) []byte {
	if e.options.Tracer == nil {
		return nil
	}
	var list strings.Builder
	for i, p := range groups {
		for span := range p.sampledSpans() {
			of := span.SpanContext()
			list.WriteString(strconv.Itoa(i) + "-" + of.TraceID().String() + "-" + of.SpanID().String() + " ")
			span.AddEvent("sent", trace.WithTimestamp(e.clock.Now()))
		}
	}
	if list.Len() == 0 {
		return nil
	}
	return e.encodeGroup(tracesPrefix+list.String(), &submittedCall[C, R]{})
}

// isTraces reports whether a group lists the traces of a request.
func (c *submittedCall[C, R]) isTraces(name string) bool {
	return len(c.outcomes) == 0 && strings.HasPrefix(name, tracesPrefix)
}

// startServing starts a span for each trace in a list, and gives their calls these spans. It
// ignores what it cannot read: a trace is no reason to refuse a request.
func (e *Engine[S, C, E, R]) startServing(list string, calls []*submittedCall[C, R]) (spans []trace.Span) {
	if e.options.Tracer == nil {
		return nil
	}
	for item := range strings.FieldsSeq(strings.TrimPrefix(list, tracesPrefix)) {
		group, parent, ok := parseTrace(item)
		if !ok || group >= len(calls) || len(spans) == callsPerRequest {
			continue
		}
		now := e.clock.Now()
		ctx := trace.ContextWithRemoteSpanContext(context.Background(), parent)
		_, span := e.options.Tracer.Start(ctx, "serve forwarded", trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(now))
		spans = append(spans, span)
		if !span.SpanContext().IsSampled() {
			continue // this process does not follow the decision of the other
		}
		c := calls[group]
		if c.traces == nil {
			c.traces = &callTraces{}
		}
		c.traces.parents = append(c.traces.parents, span.SpanContext())
	}
	return spans
}

// parseTrace reads one element of a list of traces.
func parseTrace(text string) (group int, parent trace.SpanContext, ok bool) {
	number, ids, _ := strings.Cut(text, "-")
	group, err := strconv.Atoi(number)
	if err != nil || group < 0 {
		return 0, parent, false
	}
	ofTrace, ofSpan, _ := strings.Cut(ids, "-")
	traceID, err := trace.TraceIDFromHex(ofTrace)
	if err != nil {
		return 0, parent, false
	}
	spanID, err := trace.SpanIDFromHex(ofSpan)
	if err != nil {
		return 0, parent, false
	}
	return group, trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, TraceFlags: trace.FlagsSampled, Remote: true}), true
}

// withTraces returns the request with the frame of the traces, if there is one, before it.
func withTraces(request, traces []byte) []byte {
	if len(traces) == 0 {
		return request
	}
	return append(wire.AppendBytes(nil, traces), request...)
}

// endServing ends the spans of the calls of a request.
func (e *Engine[S, C, E, R]) endServing(spans []trace.Span) {
	for _, span := range spans {
		span.End(trace.WithTimestamp(e.clock.Now()))
	}
}
