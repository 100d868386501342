package stream_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ledger"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// openTracer returns a tracer that samples everything, and the exporter that gets its spans
// as they end.
func openTracer() (trace.Tracer, *tracetest.InMemoryExporter) {
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithSampler(sdktrace.AlwaysSample()))
	return provider.Tracer("test"), exporter
}

// The span of a forwarded call ends when its group is answered, though the request with
// another group goes on for seconds.
func TestServingEndsWithItsGroup(t *testing.T) {
	const takes = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		tracer, exporter := openTracer()
		owner := newEngine(&stallingStore{Memory: storetest.NewMemory(), stalls: isTestStream}, stream.Options{Tracer: tracer})
		sender := newEngine(storetest.NewMemory(), stream.Options{Peers: &ownerLink{owner: owner, takes: takes}, Tracer: tracer})
		ids := map[trace.TraceID]string{}
		var callers sync.WaitGroup
		for i, name := range []string{"first", testStream, "beside"} {
			ctx, root := tracer.Start(t.Context(), name)
			ids[root.SpanContext().TraceID()] = name
			callers.Go(func() {
				if _, err := sender.Do(ctx, name, ledger.Post{ID: uint64(i + 1), Amount: 1}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // the first is under way, the others wait for the next request
		}
		callers.Wait()
		mustClose(t, sender)
		mustClose(t, owner)
		served := map[string]time.Duration{}
		for _, s := range exporter.GetSpans() {
			if s.Name == "serve forwarded" {
				served[ids[s.SpanContext.TraceID()]] += s.EndTime.Sub(s.StartTime)
			}
		}
		if len(served) != 3 || served[testStream] < time.Second || served["beside"] > 100*takes {
			t.Errorf("calls are served for %v", served)
		}
	})
}
