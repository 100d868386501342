package httpapi

import (
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/acclaim-dev/acclaim/api/tracing"
)

// startSpan starts the span of a request and returns the request with it, or the request as it
// is where tracing is off.
func (a *API) startSpan(x *httpExchange, r *http.Request, began time.Time) *http.Request {
	if a.config.Tracing == nil {
		return r
	}
	ctx, span := a.config.Tracing.AcceptRequest(r, began)
	x.span = span
	return r.WithContext(ctx)
}

// endSpan ends the span of a request. The extension and the role of the caller are as much as
// it tells of it.
func (a *API) endSpan(x *httpExchange, r *http.Request) {
	if x.span == nil {
		return
	}
	attributes := []attribute.KeyValue{attribute.String("acclaim.environment", string(a.config.Environment))}
	if c := x.caller; c != nil {
		attributes = append(attributes,
			attribute.String("acclaim.extension", c.Extension.ClientID), attribute.String("acclaim.role", string(c.Role)))
	}
	tracing.EndRequest(x.span, r, x.route, x.status, attributes...)
}

// traceID returns the id of the trace of a sampled request, else "".
func (x *httpExchange) traceID() string {
	if x.span == nil || !x.span.SpanContext().IsSampled() {
		return ""
	}
	return x.span.SpanContext().TraceID().String()
}
