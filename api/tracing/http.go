package tracing

import (
	"context"
	"net/http"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// AcceptRequest starts the span of a request that a server received at a time. The caller
// ends it with [EndRequest]. What the client sends as traceparent becomes the parent or a
// link, as configured. Its tracestate and its baggage are ignored: they may be long, and may
// name a viewer.
func (t *Tracing) AcceptRequest(r *http.Request, began time.Time) (context.Context, trace.Span) {
	ctx, parent := r.Context(), t.parentOf(r)
	if !parent.IsValid() {
		return t.AcceptCall(ctx, r.Method, began)
	}
	options := append(make([]trace.SpanStartOption, 0, 4), trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(began))
	if t.parents == continueParents {
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	} else {
		options = append(options, trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: parent}))
	}
	return t.tracer.Start(ctx, knownMethod(r.Method), options...)
}

// AcceptCall starts the span of a call that no trace of its client is known of.
func (t *Tracing) AcceptCall(ctx context.Context, method string, began time.Time) (context.Context, trace.Span) {
	return t.tracer.Start(ctx, knownMethod(method), trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(began), trace.WithNewRoot())
}

// parentOf returns the span that a request names as its parent.
func (t *Tracing) parentOf(r *http.Request) trace.SpanContext {
	if !t.inject || len(r.Header["Traceparent"]) == 0 {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(r.Header))
	return trace.SpanContextFromContext(ctx).WithTraceState(trace.TraceState{})
}

// EndRequest names the span of a request by the template of its route, and ends it.
func EndRequest(span trace.Span, method, route string, status int, attributes ...attribute.KeyValue) {
	if !span.IsRecording() {
		return
	}
	method = knownMethod(method)
	span.SetName(method + " " + route)
	span.SetAttributes(
		attribute.String("http.request.method", method),
		attribute.String("http.route", route),
		attribute.Int("http.response.status_code", status))
	span.SetAttributes(attributes...)
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, http.StatusText(status))
	}
	span.End()
}

// knownMethod returns the method, or a word for those that clients invent.
func knownMethod(method string) string {
	known := []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
	}
	if slices.Contains(known, method) {
		return method
	}
	return "_OTHER"
}

// Transport returns a transport whose requests each have a span, called the method and what
// name returns, and carry its context to the server as traceparent. It is next where tracing
// is off.
func (t *Tracing) Transport(next http.RoundTripper, name func(*http.Request) string) http.RoundTripper {
	if t == nil {
		return next
	}
	return transport{t, next, name}
}

type transport struct {
	tracing *Tracing
	next    http.RoundTripper
	name    func(*http.Request) string
}

// RoundTrip implements [http.RoundTripper]. Errors do not become part of the span: they
// have addresses, whose paths are often secrets.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, span := t.tracing.tracer.Start(r.Context(), r.Method+" "+t.name(r), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("http.request.method", r.Method), attribute.String("server.address", r.URL.Hostname())))
	defer span.End()
	r = r.Clone(ctx)
	if t.tracing.inject {
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(r.Header))
	}
	response, err := t.next.RoundTrip(r)
	if err != nil {
		span.SetStatus(codes.Error, "no answer")
		return response, err
	}
	span.SetAttributes(attribute.Int("http.response.status_code", response.StatusCode))
	if response.StatusCode >= http.StatusBadRequest {
		span.SetStatus(codes.Error, http.StatusText(response.StatusCode))
	}
	return response, nil
}
