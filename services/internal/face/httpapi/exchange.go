package httpapi

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

// The header with the key of a request, and the one that marks the answer to a repetition.
const (
	keyHeader      = "Idempotency-Key"
	replayedHeader = "Idempotency-Replayed"
)

// httpExchange is one request and its answer on the way through the middleware: the
// response writer that records what the log line needs.
type httpExchange struct {
	http.ResponseWriter
	operation.Observation
	request *apiRequest // nil before the route is known
	// notes, if not nil, notes the caller before the answer to a request that succeeds.
	notes *API
	// lease holds the budget of the request. A stream that outlives the handler takes it
	// over.
	lease *limit.Lease[netip.Prefix]
	// stream, if not nil, is sent once the request is reported.
	stream *eventStream
}

// WriteHeader implements [http.ResponseWriter].
func (x *httpExchange) WriteHeader(status int) {
	if x.Status == 0 {
		x.Status = status
		if x.request != nil && status < http.StatusBadRequest && x.request.IsReplayed() {
			x.Header().Set(replayedHeader, "true")
		}
		if x.notes != nil && status < http.StatusBadRequest {
			x.notes.NoteViewer(x.request.Context(), x.Caller)
		}
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (x *httpExchange) Write(b []byte) (int, error) {
	if x.Status == 0 {
		x.Status = http.StatusOK
	}
	n, err := x.ResponseWriter.Write(b)
	x.Bytes += int64(n)
	return n, err
}

// Unwrap lets [http.ResponseController] reach the connection.
func (x *httpExchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// writeFailure answers with what err means. When the answer has begun, it cuts the
// connection instead, so that the client cannot mistake a part for the whole. A failure
// that the end of ctx caused is none of this server.
func (x *httpExchange) writeFailure(ctx context.Context, err error) {
	x.Err = err
	if x.Status != 0 {
		panic(http.ErrAbortHandler)
	}
	if gone := ctx.Err(); gone != nil && errors.Is(err, gone) {
		x.Status = operation.StatusClientGone
	}
	if x.request != nil && x.request.RetryAfter > 0 {
		x.Header().Set("Retry-After", strconv.Itoa(int(x.request.RetryAfter.Seconds())))
	}
	writeError(x, err)
}

// observeRequests gives each request an id, recovers from panics, and reports each request.
func (a *API) observeRequests(next func(*httpExchange, *http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A stream goes on for hours where its connection is shared. All that the request has
		// needed is gone by then, its part of the stack as well.
		if stream := a.observeRequest(w, r, next); stream != nil {
			stream.run()
		}
	})
}

// observeRequest returns the stream that the request has begun, nil for none.
func (a *API) observeRequest(w http.ResponseWriter, r *http.Request, next func(*httpExchange, *http.Request)) *eventStream {
	x := &httpExchange{ResponseWriter: w, Observation: operation.Observation{ID: requestID(r), Began: time.Now(), Method: r.Method, Route: "unknown"}}
	w.Header()["X-Request-Id"] = []string{x.ID}
	r = a.startSpan(x, r)
	defer func() {
		cut := a.recoverPanic(x, r, recover())
		a.Report(&x.Observation)
		if cut {
			panic(http.ErrAbortHandler)
		}
	}()
	next(x, r)
	return x.stream
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
	x.Err = a.LogPanic(&x.Observation, r.URL.Path, panicked)
	if x.Status != 0 {
		return true
	}
	writeError(x, x.Err)
	return false
}

// requestID returns the request id that the caller sent if it is safe to log, or a
// new one.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if id == "" || len(id) > contract.MaxRequestID {
		return rand.Text()
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return rand.Text()
		}
	}
	return id
}
