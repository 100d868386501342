package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/operation"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/acclaim-dev/acclaim/api/tracing"
)

// Without tracing, a request allocates nothing for it.
func TestTracingOffAllocatesNothing(t *testing.T) {
	a, x := &API{Service: &operation.Service{}}, &httpExchange{}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/vote", nil)
	r.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	if n := testing.AllocsPerRun(1000, func() {
		if a.startSpan(x, r) != r || x.TraceID() != "" {
			t.Error("a span was started")
		}
		a.EndSpan(&x.Observation)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// lastObservation keeps the id of the trace of the last request, as Metrics.
type lastObservation struct{ traceID string }

func (l *lastObservation) Observe(_, _ string, _ int, _ time.Duration, traceID string) {
	l.traceID = traceID
}

// A sampled request has the id of its trace in its log line and in the exemplar; another has
// none.
func TestTraceIDs(t *testing.T) {
	for sampler, sampled := range map[string]bool{"always_on": true, "always_off": false} {
		t.Run(sampler, func(t *testing.T) {
			t.Setenv("OTEL_TRACES_SAMPLER", sampler)
			exporter := tracetest.NewInMemoryExporter()
			var log strings.Builder
			var observed lastObservation
			spans := tracing.OpenWith(t.Context(), tracing.Program{Service: "test", Logger: slog.New(slog.DiscardHandler)}, func(string) string { return "" }, exporter)
			t.Cleanup(func() { spans.Close(context.WithoutCancel(t.Context())) })
			a := &API{Service: operation.NewService(operation.Config{Metrics: &observed, Logger: slog.New(slog.NewJSONHandler(&log, nil)), Tracing: spans})}
			handler := a.observeRequests(func(x *httpExchange, _ *http.Request) {
				x.Route = "/vote"
				x.WriteHeader(http.StatusNoContent)
			})
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/vote?id=p", nil))
			if err := spans.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := exporter.GetSpans()
			if !sampled {
				if len(got) != 0 || observed.traceID != "" || strings.Contains(log.String(), "trace_id") {
					t.Errorf("spans %v, exemplar %q, log %s", got, observed.traceID, log.String())
				}
				return
			}
			if len(got) != 1 || got[0].Name != "POST /vote" {
				t.Fatalf("spans are %v", got)
			}
			id := got[0].SpanContext.TraceID().String()
			if observed.traceID != id || !strings.Contains(log.String(), `"trace_id":"`+id+`"`) {
				t.Errorf("exemplar %q, want %s; log %s", observed.traceID, id, log.String())
			}
		})
	}
}
