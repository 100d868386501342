package stream

import (
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/acclaim-dev/acclaim/services/internal/engine/batch"
)

// Without a tracer, what a call passes for its traces allocates nothing.
func TestTracingOffAllocatesNothing(t *testing.T) {
	ctx := t.Context()
	e := &Engine[int, int, int, int]{clock: SystemClock()}
	l := &streamLog[int, int, int, int]{engine: e}
	c := newCommand[int, int](1)
	l.taken = append(l.taken, batch.NewItem(c))
	if n := testing.AllocsPerRun(1000, func() {
		c.traces = e.traces.NewCall(ctx)
		e.traces.NoteQueued(c.traces)
		e.traces.EndSpan(e.traces.StartSpan(c.traces, "forward", trace.SpanKindClient), nil)
		l.trace = l.beginTrace()
		l.trace.EndStep(stepDecide, nil)
		l.trace.EndStep(stepAppend, nil).Describe(1, 1, 1)
		l.recordBatch(l.tracesOfBatch())
		e.startServing("", nil)
		if e.encodeTraces(nil) != nil {
			t.Error("a request lists traces")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A list of traces from another process is read as far as it makes sense, and refuses nothing.
func TestParseTrace(t *testing.T) {
	const ids = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"
	for text, want := range map[string]bool{
		"0-" + ids: true, "17-" + ids: true, "-1-" + ids: false, "x-" + ids: false, ids: false, "": false, "0-": false,
		"0-" + ids + "-": false, "0-00000000000000000000000000000000-00f067aa0ba902b7": false,
	} {
		_, parent, ok := parseTrace(text)
		if ok != want || ok && (!parent.IsSampled() || !parent.IsRemote()) {
			t.Errorf("%q: %t, %v", text, ok, parent)
		}
	}
}
