package stream

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/acclaim-dev/acclaim/services/internal/engine/batchtrace"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// The steps of a batch.
const (
	stepLoad   = "load"   // the stream is read into memory, while calls wait
	stepDecide = "decide" // the rules are run
	stepAppend = "append" // the chunk is stored
	stepApply  = "apply"  // the chunk is folded into the state
	stepRead   = "read"   // chunks of other processes are read and folded
	stepWait   = "wait"   // between two attempts
)

// beginTrace returns the trace of the batch that was taken, nil where no call of it is
// sampled.
func (l *streamLog[S, C, E, R]) beginTrace() *batchtrace.Batch {
	load := l.loadStep
	l.loadStep = batchtrace.Step{}
	traces := l.engine.traces
	switch {
	case traces == nil, !slices.ContainsFunc(l.taken, func(it *callItem[C, R]) bool { return it.Value.traces != nil }):
		return nil
	case load.Name == "":
		return traces.NewBatch()
	}
	return traces.NewBatch(load)
}

// tracesOfBatch returns the traces of the calls that the batch still holds.
func (l *streamLog[S, C, E, R]) tracesOfBatch() (all []*batchtrace.Call) {
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
func (l *streamLog[S, C, E, R]) recordBatch(calls []*batchtrace.Call) {
	for _, call := range calls {
		l.trace.Record(call)
	}
	l.trace = nil
}

// sampledSpans yields the spans of the calls of a group that are sampled.
func (g *forwardedGroup[C, R]) sampledSpans() iter.Seq[trace.Span] {
	return func(yield func(trace.Span) bool) {
		for _, it := range g.items {
			if span := it.Value.span; span != nil && !yield(span) {
				return
			}
		}
	}
}

// traces returns the traces of a group that this process runs itself.
func (g *forwardedGroup[C, R]) traces() (traces *batchtrace.Call) {
	for span := range g.sampledSpans() {
		traces = traces.Join(span.SpanContext())
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
	if e.traces == nil {
		return nil
	}
	var list strings.Builder
	for i, p := range groups {
		for span := range p.sampledSpans() {
			of := span.SpanContext()
			list.WriteString(strconv.Itoa(i) + "-" + of.TraceID().String() + "-" + of.SpanID().String() + " ")
			e.traces.AddEvent(span, "sent")
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

// startServing starts a span for each trace in a list, and gives it to its group. It ignores
// what it cannot read: a trace is no reason to refuse a request.
func (e *Engine[S, C, E, R]) startServing(list string, groups []servedGroup[S, C, E, R]) {
	if e.traces == nil {
		return
	}
	started := 0
	for item := range strings.FieldsSeq(strings.TrimPrefix(list, tracesPrefix)) {
		group, parent, ok := parseTrace(item)
		if !ok || group >= len(groups) {
			continue
		}
		if started++; started > callsPerRequest {
			return
		}
		span := e.traces.StartRemote(parent, "serve forwarded")
		if !span.SpanContext().IsSampled() {
			continue // this process does not follow the decision of the other
		}
		g := &groups[group]
		g.spans, g.call.traces = append(g.spans, span), g.call.traces.Join(span.SpanContext())
	}
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
