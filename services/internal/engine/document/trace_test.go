package document_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/acclaim-dev/acclaim/services/internal/engine/batchtrace"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// tracedService returns a service over a store whose spans exporter gets as they end.
func tracedService(store document.Store, sampler sdktrace.Sampler) (*document.Service, trace.Tracer, *tracetest.InMemoryExporter) {
	exporter := tracetest.NewInMemoryExporter()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithSampler(sampler)).Tracer("test")
	recorder := batchtrace.NewRecorder(tracer, time.Now, document.ErrConflict)
	return document.NewService(store, newClock(), document.Options{Traces: recorder}), tracer, exporter
}

// describeSpans returns the names and attributes of the spans below a root, in the order in which
// they began.
func describeSpans(spans tracetest.SpanStubs, root trace.SpanContext) (all []string) {
	spans = slices.DeleteFunc(slices.Clone(spans), func(s tracetest.SpanStub) bool { return s.Parent.SpanID() != root.SpanID() })
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	for _, s := range spans {
		text := s.Name
		for _, a := range s.Attributes {
			text += fmt.Sprintf(" %s=%s", strings.TrimPrefix(string(a.Key), "acclaim."), a.Value.String())
		}
		if s.Status.Description != "" {
			text += " failed: " + s.Status.Description
		}
		all = append(all, text)
	}
	return all
}

// A sampled read or edit has a span for each step of its batch, with neither a key nor a body.
func TestSpans(t *testing.T) {
	lose := func(err error) func(*faulty) {
		return func(store *faulty) {
			store.put = func(_ context.Context, n int64, put func() error) error {
				if n == 1 {
					return err
				}
				return put()
			}
		}
	}
	change := func(ctx context.Context, s *document.Service) error {
		_, err := s.Edit(ctx, edit(t, "secret", `{"a":1}`))
		return err
	}
	const write = "write batch.calls=1 batch.entries=1 batch.bytes=7"
	for name, test := range map[string]struct {
		prepare func(*faulty)
		act     func(context.Context, *document.Service) error
		want    []string
	}{
		"read": {nil, func(ctx context.Context, s *document.Service) error {
			_, err := s.Get(ctx, "secret", "other")
			return err
		}, []string{"read"}},
		"edit": {nil, change, []string{"queue", "read", "decide", write}},
		"refused edit": {nil, func(ctx context.Context, s *document.Service) error {
			_, err := s.Edit(ctx, document.Edit{Key: "secret", Change: mustParse(t, `{}`), Existing: true})
			return err
		}, []string{"queue", "read", "decide"}},
		"lost race": {lose(document.ErrConflict), change,
			[]string{"queue", "read", "decide", write + " conflict=true", "wait", "read", "decide", write}},
		"unknown outcome": {lose(errLost), change, []string{"queue", "read", "decide", write + " failed: Internal", "settle"}},
		"part of a write": {lose(document.ErrIncomplete), change, []string{"queue", "read", "decide", write + " failed: Internal", "settle"}},
		"failure":         {lose(fault.New(fault.Storage, "secret")), change, []string{"queue", "read", "decide", write + " failed: Storage"}},
		"several": {nil, func(ctx context.Context, s *document.Service) error {
			return s.EditAll(ctx, []document.Edit{edit(t, "secret", `{"a":1}`), edit(t, "other", `{"b":22}`)})
		}, []string{"queue", "read", "decide", "write batch.calls=1 batch.entries=2 batch.bytes=15"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newFaulty()
				if test.prepare != nil {
					test.prepare(store)
				}
				service, tracer, exporter := tracedService(store, sdktrace.AlwaysSample())
				ctx, root := tracer.Start(t.Context(), "PATCH /state")
				if err := test.act(ctx, service); fault.KindOf(err) == fault.Uncertain {
					t.Fatal(err)
				}
				synctest.Wait() // the worker records the spans after it has answered
				if diff := cmp.Diff(test.want, describeSpans(exporter.GetSpans(), root.SpanContext())); diff != "" {
					t.Errorf("spans (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Each sampled edit of a batch has the spans of the batch, which have equal times; one that is
// not sampled has none.
func TestSpansOfBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		service, _, exporter := tracedService(store, sdktrace.ParentBased(sdktrace.NeverSample()))
		gate := make(chan struct{})
		store.put = func(_ context.Context, _ int64, put func() error) error {
			<-gate
			<-time.After(time.Minute)
			return put()
		}
		done := []<-chan outcome{start(t.Context(), t, service, edit(t, "k", member(0)))}
		var roots []trace.SpanContext
		for i, flags := range []trace.TraceFlags{0, trace.FlagsSampled, trace.FlagsSampled} {
			root := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{byte(i + 1)}, TraceFlags: flags})
			roots = append(roots, root)
			synctest.Wait()
			<-time.After(time.Second)
			done = append(done, start(trace.ContextWithSpanContext(t.Context(), root), t, service, edit(t, "k", member(i+1))))
		}
		synctest.Wait()
		<-time.After(time.Second)
		close(gate)
		for _, d := range done {
			if got := <-d; got.err != nil {
				t.Error(got.err)
			}
		}
		synctest.Wait()
		spans := exporter.GetSpans()
		for i, root := range roots {
			want := []string{"queue", "read", "decide", "write batch.calls=3 batch.entries=1 batch.bytes=29"}
			if i == 0 {
				want = nil
			}
			if diff := cmp.Diff(want, describeSpans(spans, root)); diff != "" {
				t.Errorf("spans of edit %d (-want +got):\n%s", i, diff)
			}
		}
		took := map[string][]time.Duration{}
		for _, s := range spans {
			took[s.Name] = append(took[s.Name], s.EndTime.Sub(s.StartTime))
		}
		// The batch before leaves the queue, and the store, a minute after the gate opens.
		if diff := cmp.Diff(map[string][]time.Duration{
			"queue": {time.Minute + 2*time.Second, time.Minute + time.Second}, "read": {0, 0}, "decide": {0, 0}, "write": {time.Minute, time.Minute},
		}, took); diff != "" {
			t.Errorf("how long the spans took (-want +got):\n%s", diff)
		}
	})
}

// Without a recorder, a read or an edit allocates nothing for its trace.
func TestTracingOffAllocatesNothing(t *testing.T) {
	var off *batchtrace.Recorder
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() {
		call := off.NewCall(ctx)
		off.NoteQueued(call)
		var batch *batchtrace.Batch
		batch.EndStep("write", nil).Describe(1, 1, 1)
		batch.Record(call)
	}); n != 0 || batchtrace.NewRecorder(nil, time.Now, nil) != nil {
		t.Errorf("%v allocations", n)
	}
}
