package httpapi

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/acclaim-dev/acclaim/services/internal/budget"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// httpExchange is one request and its answer on the way through the middleware: the
// response writer that records what the log line needs.
type httpExchange struct {
	http.ResponseWriter
	id     string
	route  string // template, so that logs and metrics do not grow with ids
	status int
	bytes  int64
	caller *Caller
	err    error
	// onSuccess, if not nil, is called before the answer to a request that succeeds.
	onSuccess func()
	// lease holds the budget of the request. A stream that outlives the handler takes it
	// over.
	lease *budget.Lease[netip.Prefix]
	// span is that of the request, nil where tracing is off.
	span trace.Span
}

// WriteHeader implements [http.ResponseWriter].
func (x *httpExchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
		if x.onSuccess != nil && status < http.StatusBadRequest {
			x.onSuccess()
		}
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (x *httpExchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	n, err := x.ResponseWriter.Write(b)
	x.bytes += int64(n)
	return n, err
}

// Unwrap lets [http.ResponseController] reach the connection.
func (x *httpExchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// statusClientGone is the status, in logs and metrics, of a request that failed because its
// client went away. Other servers use the same number.
const statusClientGone = 499

// writeFailure answers with what err means. When the answer has begun, it cuts the
// connection instead, so that the client cannot mistake a part for the whole. A failure
// that the end of ctx caused is none of this server.
func (x *httpExchange) writeFailure(ctx context.Context, err error) {
	x.err = err
	if x.status != 0 {
		panic(http.ErrAbortHandler)
	}
	if gone := ctx.Err(); gone != nil && errors.Is(err, gone) {
		x.status = statusClientGone
	}
	writeError(x, err)
}

// observeRequests gives each request an id, recovers from panics, and writes one log line
// and one observation of the metrics for each request.
func (a *API) observeRequests(next func(*httpExchange, *http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		x := &httpExchange{ResponseWriter: w, id: requestID(r), route: "unknown"}
		w.Header()["X-Request-Id"] = []string{x.id}
		r = a.startSpan(x, r, begin)
		defer func() {
			cut := a.recoverPanic(x, r, recover())
			a.endSpan(x, r)
			a.config.Metrics.Observe(x.route, r.Method, x.status, time.Since(begin), x.traceID())
			a.logRequest(x, r, time.Since(begin))
			if cut {
				panic(http.ErrAbortHandler)
			}
		}()
		next(x, r)
	})
}

// recoverPanic turns a panic into an answer and reports whether the connection must
// be cut because an answer has begun.
func (a *API) recoverPanic(x *httpExchange, r *http.Request, panicked any) (cut bool) {
	if panicked == nil {
		return false
	}
	if err, ok := panicked.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		return true
	}
	a.config.Logger.Error("panic", "request_id", x.id, "path", r.URL.Path, "panic", panicked, "stack", string(debug.Stack()))
	if x.status != 0 {
		return true
	}
	x.err = fault.New(fault.Internal, "panic")
	writeError(x, x.err)
	return false
}

// logRequest writes the one log line of a request, without credentials and without
// query strings, which may hold one.
func (a *API) logRequest(x *httpExchange, r *http.Request, took time.Duration) {
	level := slog.LevelInfo
	if x.status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	if !a.config.Logger.Enabled(r.Context(), level) {
		return
	}
	attrs := make([]slog.Attr, 0, 14)
	attrs = append(attrs,
		slog.String("request_id", x.id),
		slog.String("method", r.Method),
		slog.String("route", x.route),
		slog.Int("status", x.status),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
		slog.Int64("bytes", x.bytes),
		slog.String("environment", string(a.config.Environment)),
	)
	if c := x.caller; c != nil {
		attrs = append(attrs,
			slog.String("extension", c.Extension.ClientID),
			slog.String("role", string(c.Role)),
			slog.String("channel", c.ChannelID))
		if actor := c.actor(); actor != "" && changesData(r.Method) {
			attrs = append(attrs, slog.String("actor", actor))
		}
	}
	if id := x.traceID(); id != "" {
		attrs = append(attrs, slog.String("trace_id", id))
	}
	if x.err != nil {
		attrs = append(attrs, slog.String("error", x.err.Error()))
	}
	a.config.Logger.LogAttrs(context.Background(), level, "request", attrs...)
}

func changesData(method string) bool {
	return method == http.MethodPost || method == http.MethodPatch || method == http.MethodDelete
}

// requestID returns the request id that the caller sent if it is safe to log, or a
// new one.
func requestID(r *http.Request) string {
	const longest = 128
	id := r.Header.Get("X-Request-Id")
	if id == "" || len(id) > longest {
		return rand.Text()
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return rand.Text()
		}
	}
	return id
}
