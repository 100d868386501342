package httpapi

import "net/http"

// startSpan starts the span of a request and returns the request with it, or the request as it
// is where tracing is off.
func (a *API) startSpan(x *httpExchange, r *http.Request) *http.Request {
	if a.Config.Tracing == nil {
		return r
	}
	ctx, span := a.Config.Tracing.AcceptRequest(r, x.Began)
	x.Span = span
	return r.WithContext(ctx)
}
