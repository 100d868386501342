package operation

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/acclaim-dev/acclaim/api/tracing"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Observation holds what logs, metrics and traces tell of one call.
type Observation struct {
	ID        string
	Began     time.Time
	Method    string
	Route     string      // template, so that logs and metrics do not grow with ids
	Operation *Definition // nil where none is known
	face      string      // "" for HTTP
	Status    int
	Bytes     int64
	Caller    *Caller
	Err       error
	Span      trace.Span // nil where tracing is off
}

// TraceID returns the id of the trace of a sampled call, else "".
func (x *Observation) TraceID() string {
	if x.Span == nil || !x.Span.SpanContext().IsSampled() {
		return ""
	}
	return x.Span.SpanContext().TraceID().String()
}

// Report ends the span of a call, and writes its observation of the metrics and, where it has one,
// its line in the log.
func (s *Service) Report(x *Observation) {
	took := time.Since(x.Began)
	s.EndSpan(x)
	s.Config.Metrics.Observe(x.Route, x.Method, x.Status, took, x.TraceID())
	s.logCall(x, took)
}

// LogPanic writes a panic of a call to the log, with its stack, and returns the error that the call
// fails with.
func (s *Service) LogPanic(x *Observation, path string, panicked any) error {
	s.Config.Logger.Error("panic", "request_id", x.ID, "path", path, "panic", panicked, "stack", string(debug.Stack()))
	return fault.New(fault.Internal, "panic")
}

// EndSpan ends the span of a call. The extension and the role of the caller are as much as it
// tells of it.
func (s *Service) EndSpan(x *Observation) {
	if x.Span == nil {
		return
	}
	attributes := []attribute.KeyValue{attribute.String("acclaim.environment", string(s.Config.Environment))}
	if x.Operation != nil {
		attributes = append(attributes, attribute.String("acclaim.operation", x.Operation.Name))
	}
	if c := x.Caller; c != nil {
		attributes = append(attributes,
			attribute.String("acclaim.extension", c.Extension.ClientID), attribute.String("acclaim.role", string(c.Role)))
	}
	tracing.EndRequest(x.Span, x.Method, x.Route, x.Status, attributes...)
}

// logCall writes the line of a call that has one, without credentials and without query strings,
// which may hold one.
func (s *Service) logCall(x *Observation, took time.Duration) {
	level := slog.LevelInfo
	if x.Status >= 500 {
		level = slog.LevelError
	}
	if !s.Config.Logger.Enabled(context.Background(), level) {
		return
	}
	leftOut, ok := s.sampler.admit(x, took)
	if !ok {
		return
	}
	attrs := make([]slog.Attr, 0, 16)
	attrs = append(attrs,
		slog.String("request_id", x.ID),
		slog.String("method", x.Method),
		slog.String("route", x.Route),
		slog.Int("status", x.Status),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
		slog.Int64("bytes", x.Bytes),
		slog.String("environment", string(s.Config.Environment)),
	)
	if x.Operation != nil {
		attrs = append(attrs, slog.String("operation", x.Operation.Name))
	}
	if x.face != "" {
		attrs = append(attrs, slog.String("face", x.face))
	}
	attrs = x.appendCaller(attrs)
	if id := x.TraceID(); id != "" {
		attrs = append(attrs, slog.String("trace_id", id))
	}
	if x.Err != nil {
		attrs = append(attrs, slog.String("error", x.Err.Error()))
	}
	if leftOut > 0 {
		attrs = append(attrs, slog.Uint64("left_out", leftOut))
	}
	s.Config.Logger.LogAttrs(context.Background(), level, "request", attrs...)
}

// appendCaller appends what the line of a call says about its caller.
func (x *Observation) appendCaller(attrs []slog.Attr) []slog.Attr {
	c := x.Caller
	if c == nil {
		return attrs
	}
	attrs = append(attrs,
		slog.String("extension", c.Extension.ClientID),
		slog.String("role", c.roleName()),
		slog.String("channel", c.ChannelID))
	asViewer := c.isModerator() && (x.Operation == nil || !x.Operation.IsStaffWrite())
	if actor := c.Actor(); actor != "" && !asViewer && x.Method != "GET" && x.Method != "HEAD" {
		attrs = append(attrs, slog.String("actor", actor))
	}
	return attrs
}

// StatusClientGone is the status, in logs and metrics, of a request that failed because its
// client went away. Other servers use the same number.
const StatusClientGone = 499
