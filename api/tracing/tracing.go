// Package tracing records OpenTelemetry spans of the programs of this project, as the
// OTEL_* variables configure it. Without an exporter it is off, and the programs have a nil
// [Tracing], which costs them a comparison.
//
// There is no package-level state, and nothing is set in that of OpenTelemetry: code that
// makes spans is given a tracer. Names of spans are templates of routes or fixed words, and
// attributes name no viewer: no path, no query and no body is ever part of a span.
//
// A collector that is slow or away costs spans and nothing else: they wait in a queue with
// a bound, which drops what it has no room for and counts it.
package tracing

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// scope is the instrumentation scope of all spans.
const scope = "github.com/acclaim-dev/acclaim"

// Program identifies the process that records spans.
type Program struct {
	// Service is the name of the service where OTEL_SERVICE_NAME does not set it.
	Service, Version string
	// Logger logs settings that are not supported, and spans that are lost.
	Logger *slog.Logger
}

// Tracing records the spans of one process. A nil Tracing records none.
type Tracing struct {
	provider *sdktrace.TracerProvider
	queue    *spanQueue
	tracer   trace.Tracer
	parents  parentRule
	inject   bool // the trace context is sent on
}

// newTracing returns a Tracing that sends its spans to an exporter.
func newTracing(ctx context.Context, p Program, s settings, exporter sdktrace.SpanExporter) *Tracing {
	queue := newSpanQueue(exporter, s.queueSize, p.Logger)
	options := []sdktrace.TracerProviderOption{
		sdktrace.WithSpanProcessor(queue),
		sdktrace.WithResource(describeProcess(ctx, p)),
	}
	t := &Tracing{provider: sdktrace.NewTracerProvider(options...), queue: queue, parents: s.parents, inject: s.propagates}
	t.tracer = t.provider.Tracer(scope)
	return t
}

// describeProcess returns what all spans of the process have in common. The OTEL_* variables
// go before what the program knows.
func describeProcess(ctx context.Context, p Program) *resource.Resource {
	described, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", p.Service), attribute.String("service.version", p.Version)),
		resource.WithFromEnv())
	if err != nil {
		p.Logger.Warn("some of OTEL_RESOURCE_ATTRIBUTES is ignored", "error", err)
	}
	return described
}

// Tracer returns a tracer whose spans have the attributes given, nil where tracing is off.
func (t *Tracing) Tracer(attributes ...attribute.KeyValue) trace.Tracer {
	if t == nil {
		return nil
	}
	return t.provider.Tracer(scope, trace.WithInstrumentationAttributes(attributes...))
}

// Stats returns how many spans were exported and lost.
func (t *Tracing) Stats() Stats { return t.queue.stats() }

// Flush sends the spans that wait.
func (t *Tracing) Flush(ctx context.Context) error { return t.provider.ForceFlush(ctx) }

// flushTimeout limits the time that the last spans may take to reach the collector.
const flushTimeout = 3 * time.Second

// Close sends the spans that wait, for 3 seconds at most, and ends.
func (t *Tracing) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.queue.logger.Warn("the last spans did not reach the collector", "error", err)
	}
}
