package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// maxStreams limits the requests under way on one connection of HTTP/2.
const maxStreams = 100

// NewServer returns a server for the public listener: HTTP/1.1 with keep-alive and
// HTTP/2, without TLS or with it, with a time-out for everything that waits for the client.
func NewServer(handler http.Handler, logger *slog.Logger) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	protocols.SetHTTP2(true) // with TLS
	return &http.Server{
		Handler:           limitResets(addDefaultHeaders(handler)),
		ConnContext:       addResetLimit,
		Protocols:         &protocols,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    32 << 10,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams,
			// Bytes that arrive before a handler reads them.
			MaxReceiveBufferPerConnection: 128 << 10,
			MaxReceiveBufferPerStream:     64 << 10,
		},
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		// The server's own answer to "OPTIONS *" would have no body.
		DisableGeneralOptionsHandler: true,
	}
}

// addDefaultHeaders has answers stored by no cache and their types believed. Handlers
// that know better replace the headers.
func addDefaultHeaders(handler http.Handler) http.Handler {
	noStore, noSniff := []string{"no-store"}, []string{"nosniff"} // of all answers: no handler changes one
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["Cache-Control"], h["X-Content-Type-Options"] = noStore, noSniff
		handler.ServeHTTP(w, r)
	})
}

// NewUnavailableHandler returns the handler of a listener or a route while the process
// cannot serve it. It answers 503.
func NewUnavailableHandler(err error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, fault.Wrap(fault.Unavailable, err, "unavailable"))
	})
}

// readiness is the answer of /readyz.
type readiness struct {
	Status    string   `json:"status"`
	Exhausted []string `json:"exhausted,omitempty"` // budgets that are used up
}

// NewAdminHandler returns the handler of the admin listener: /healthz succeeds while
// healthy is nil or returns nil, /readyz while ready returns nil, and /metrics is for
// Prometheus. maintenance, if not nil, answers all else. Where /healthz keeps failing,
// the process is restarted. /readyz names the budgets that exhausted, if not nil, returns.
func NewAdminHandler(healthy func() error, ready func(context.Context) error, exhausted func() []string, metrics *prometheus.Registry, maintenance http.Handler) http.Handler {
	mux := newOperatorMux(adminRoutes(healthy, ready, exhausted, metrics))
	if maintenance != nil {
		mux.Handle("/", maintenance)
	}
	return mux
}

func adminRoutes(healthy func() error, ready func(context.Context) error, exhausted func() []string, metrics prometheus.Gatherer) map[string]http.Handler {
	return map[string]http.Handler{
		"GET /healthz": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if healthy != nil && healthy() != nil {
				writeJSON(w, http.StatusServiceUnavailable, []byte(`{"status":"failed"}`))
				return
			}
			writeJSON(w, http.StatusOK, []byte(`{"status":"ok"}`))
		}),
		"GET /readyz": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := ready(r.Context()); err != nil {
				writeJSON(w, http.StatusServiceUnavailable, []byte(`{"status":"not ready"}`))
				return
			}
			answer := readiness{Status: "ready"}
			if exhausted != nil {
				answer.Exhausted = exhausted()
			}
			_ = writeValue(w, answer) // texts always encode
		}),
		"GET /metrics": promhttp.HandlerFor(metrics, promhttp.HandlerOpts{EnableOpenMetrics: true}),
	}
}
