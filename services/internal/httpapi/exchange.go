package httpapi

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// exchange is one request and its answer on the way through the middleware: the
// response writer that notes what is worth a log line.
type exchange struct {
	http.ResponseWriter
	id     string
	route  string // template, so that logs and metrics do not grow with ids
	status int
	bytes  int64
	caller *Caller
	err    error
}

// WriteHeader implements [http.ResponseWriter].
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (x *exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	n, err := x.ResponseWriter.Write(b)
	x.bytes += int64(n)
	return n, err
}

// Unwrap lets [http.ResponseController] reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// fail answers with what err means. When the answer has begun, the connection is
// cut instead, so that nobody takes a part for the whole.
func (x *exchange) fail(err error) {
	x.err = err
	if x.status != 0 {
		panic(http.ErrAbortHandler)
	}
	writeError(x, err)
}

// observe wraps everything: it names the request, survives panics, and leaves
// one log line and one observation of the metrics for each request.
func (a *API) observe(next func(*exchange, *http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		x := &exchange{ResponseWriter: w, id: requestID(r), route: "unknown"}
		w.Header()["X-Request-Id"] = []string{x.id}
		defer func() {
			cut := a.recovered(x, r, recover())
			a.config.Metrics.Observe(x.route, r.Method, x.status, time.Since(begin))
			a.log(x, r, time.Since(begin))
			if cut {
				panic(http.ErrAbortHandler)
			}
		}()
		next(x, r)
	})
}

// recovered turns a panic into an answer and reports whether the connection must
// be cut because an answer has begun.
func (a *API) recovered(x *exchange, r *http.Request, panicked any) (cut bool) {
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

// log writes the one line of a request. Credentials and query strings, which may
// hold one, are never in it.
func (a *API) log(x *exchange, r *http.Request, took time.Duration) {
	level := slog.LevelInfo
	if x.status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	if !a.config.Logger.Enabled(r.Context(), level) {
		return
	}
	attrs := make([]slog.Attr, 0, 12)
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
	}
	if x.err != nil {
		attrs = append(attrs, slog.String("error", x.err.Error()))
	}
	a.config.Logger.LogAttrs(context.Background(), level, "request", attrs...)
}

// requestID returns the caller's own id of the request if it is fit for a log,
// or a new one.
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
