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

// NewServer returns a server for the public listener: HTTP/1.1 with keep-alive
// and HTTP/2 without TLS, with a bound on everything a client can take its time
// over.
func NewServer(handler http.Handler, logger *slog.Logger) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           handler,
		Protocols:         &protocols,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		// The server's own answer to "OPTIONS *" would have no body.
		DisableGeneralOptionsHandler: true,
	}
}

// NewUnavailable returns what answers on the public listener while nothing can be
// served: 503, which err explains, and that nothing was stored.
func NewUnavailable(err error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, fault.Wrap(fault.Unavailable, err, "unavailable"))
	})
}

// NewAdmin returns what answers on the admin listener: /healthz while the process
// lives, /readyz while ready returns nil, /metrics for Prometheus, and erase to POST
// /erase unless it is nil.
func NewAdmin(ready func(context.Context) error, metrics *prometheus.Registry, erase http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, []byte(`{"status":"ok"}`))
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := ready(r.Context()); err != nil {
			writeJSON(w, http.StatusServiceUnavailable, []byte(`{"status":"not ready"}`))
			return
		}
		writeJSON(w, http.StatusOK, []byte(`{"status":"ready"}`))
	})
	if erase != nil {
		mux.Handle("POST /erase", erase)
	}
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	return mux
}
