package tracing

import (
	"context"
	"log/slog"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// parentRule decides what becomes of the trace context that a request from outside brings.
type parentRule bool

const (
	// linkParents begins a trace of this program's own and links it to that of the client.
	// The client chooses neither whether it is sampled nor its id, which samplers by ratio
	// go by.
	linkParents parentRule = false
	// continueParents continues the trace of the client, which decides whether it is sampled.
	continueParents parentRule = true
)

// parentsVariable is the environment variable with the rule for parents: "link", the
// default, or "continue".
const parentsVariable = "ACCLAIM_TRACE_PARENTS"

// settings are those that the SDK does not read from the environment itself.
type settings struct {
	parents    parentRule
	propagates bool // W3C trace context, in and out
	queueSize  int64
}

// environment reads variables. As the specification of OpenTelemetry demands, a value that is
// not supported is logged and ignored.
type environment struct {
	getenv func(string) string
	logger *slog.Logger
}

func (e environment) value(name string) string {
	return strings.ToLower(strings.TrimSpace(e.getenv(name)))
}

func (e environment) refuse(name, supported string) {
	e.logger.Warn("a setting of tracing is not supported", "variable", name, "value", e.getenv(name), "supported", supported)
}

// hasExporter reports whether spans are to be sent by OTLP over HTTP. A variable that names
// another exporter or protocol leaves tracing off.
func (e environment) hasExporter() bool {
	if e.value("OTEL_SDK_DISABLED") == "true" {
		return false
	}
	switch e.value("OTEL_TRACES_EXPORTER") {
	case "":
		if e.value("OTEL_EXPORTER_OTLP_ENDPOINT")+e.value("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
			return false
		}
	case "otlp":
	case "none":
		return false
	default:
		e.refuse("OTEL_TRACES_EXPORTER", "otlp, none")
		return false
	}
	return e.hasProtocol("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
}

// hasProtocol reports whether the first of the variables that is set names a protocol over
// HTTP.
func (e environment) hasProtocol(names ...string) bool {
	for _, name := range names {
		switch e.value(name) {
		case "":
			continue
		case "http/protobuf", "http/json":
		default:
			e.refuse(name, "http/protobuf, http/json")
			return false
		}
		break
	}
	return true
}

// settings returns those that the SDK does not read itself.
func (e environment) settings() settings {
	s := settings{parents: linkParents, propagates: true, queueSize: sdktrace.DefaultMaxQueueSize}
	if names := e.value("OTEL_PROPAGATORS"); names != "" {
		s.propagates = strings.Contains(names, "tracecontext")
		if !s.propagates && names != "none" {
			e.refuse("OTEL_PROPAGATORS", "tracecontext, none")
		}
	}
	switch e.value(parentsVariable) {
	case "", "link":
	case "continue":
		s.parents = continueParents
	default:
		e.refuse(parentsVariable, "link, continue")
	}
	if size, err := strconv.ParseInt(e.value("OTEL_BSP_MAX_QUEUE_SIZE"), 10, 32); err == nil && size > 0 {
		s.queueSize = size
	}
	return s
}

// Open returns the tracing that the environment configures, nil if they name no exporter.
// Nothing is sent before the first span ends, so that a collector need not be there.
func Open(ctx context.Context, p Program, getenv func(string) string) *Tracing {
	e := environment{getenv, p.Logger}
	if !e.hasExporter() {
		return nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		p.Logger.Error("tracing is off: its exporter cannot be made", "error", err)
		return nil
	}
	return newTracing(ctx, p, e.settings(), exporter)
}

// OpenWith is Open with an exporter instead of that of the environment, for tests and
// measurements.
func OpenWith(ctx context.Context, p Program, getenv func(string) string, exporter sdktrace.SpanExporter) *Tracing {
	return newTracing(ctx, p, environment{getenv, p.Logger}.settings(), exporter)
}
