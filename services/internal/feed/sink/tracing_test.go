package sink

import (
	"context"
	"log/slog"
	"net/http"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/acclaim-dev/acclaim/api/tracing"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

// A delivery is a trace, which the receiver can continue.
func TestDeliveriesCarryTheirTrace(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	spans := tracing.OpenWith(t.Context(), tracing.Program{Service: "test", Logger: slog.New(slog.DiscardHandler)}, func(string) string { return "" }, exporter)
	t.Cleanup(func() { spans.Close(context.WithoutCancel(t.Context())) })
	to, tuned := &system{t: t}, defaultTuning(false)
	tuned.transport = to
	m := newTuned(Options{Notifier: &event.Notifier{}, Tracing: spans}, tuned)
	for name, header := range map[string]string{"POST webhook": IDHeader, "POST pubsub": "Client-Id"} {
		exporter.Reset()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://receiver.test/secret", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(header, "1")
		if o := m.sendRequest(r); o.verdict != delivered {
			t.Fatalf("%s: %+v", name, o)
		}
		if err := spans.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := exporter.GetSpans()
		if len(got) != 1 || got[0].Name != name {
			t.Fatalf("spans are %v, want %s", got, name)
		}
		if of := got[0].SpanContext; to.headers.Get("Traceparent") != "00-"+of.TraceID().String()+"-"+of.SpanID().String()+"-01" {
			t.Errorf("%s: traceparent is %q", name, to.headers.Get("Traceparent"))
		}
	}
}
