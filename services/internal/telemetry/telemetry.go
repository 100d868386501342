// Package telemetry makes the logger and the metrics of a process. It has no
// package-level state: two instances in one process do not share metrics.
//
// It may not import anything of the project: package app maps the figures of the other
// packages to samples.
package telemetry

import (
	"io"
	"log/slog"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// NewLogger returns a logger that writes JSON lines of the given level and above.
func NewLogger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}

// Metrics are the metrics of one process.
type Metrics struct {
	Registry *prometheus.Registry
	requests *prometheus.HistogramVec
}

// NewMetrics returns metrics with those of the Go runtime and of the process.
func NewMetrics() *Metrics {
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "acclaim_http_request_duration_seconds",
			Help:    "Time from the arrival of a request to the end of its answer.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"route", "method", "status"}),
	}
	m.Registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
		m.requests,
	)
	return m
}

// Observe counts a finished request. Methods that no route has share a label value:
// clients cannot create time series. The trace of a sampled request becomes an exemplar.
func (m *Metrics) Observe(route, method string, status int, took time.Duration, traceID string) {
	switch method {
	case "GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS":
	default:
		method = "other"
	}
	observer := m.requests.WithLabelValues(route, method, strconv.Itoa(status))
	if withExemplar, ok := observer.(prometheus.ExemplarObserver); ok && traceID != "" {
		withExemplar.ObserveWithExemplar(took.Seconds(), prometheus.Labels{"trace_id": traceID})
		return
	}
	observer.Observe(took.Seconds())
}

// Register registers samples that are taken at each scrape. Their names begin with
// prefix.
func (m *Metrics) Register(prefix string, sample func() []Sample) {
	m.Registry.MustRegister(collector{prefix, sample})
}
