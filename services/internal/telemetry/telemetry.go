// Package telemetry makes what the program tells its operators: the logger and
// the metrics. It keeps nothing global, so that two instances in one process do
// not meet.
//
// It may not know a domain or a route beyond their names.
package telemetry

import (
	"io"
	"log/slog"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/acclaim-dev/acclaim/services/internal/live"
	"github.com/acclaim-dev/acclaim/services/internal/sink"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// NewLogger returns a logger that writes JSON lines of the given level and above.
func NewLogger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}

// Metrics are those of one process.
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

// Observe counts a finished request. Methods that no route has share a label, so
// that a client cannot make new series.
func (m *Metrics) Observe(route, method string, status int, took time.Duration) {
	switch method {
	case "GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS":
	default:
		method = "other"
	}
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Observe(took.Seconds())
}

// Streams registers the figures of a domain's stream engine.
func (m *Metrics) Streams(domain string, stats func() stream.Stats) {
	m.Registry.MustRegister(streams{stats: stats, labels: prometheus.Labels{"domain": domain}})
}

// Peers registers how many processes serve together and how many of them cannot
// be reached.
func (m *Metrics) Peers(count func() (alive, unreachable int)) {
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
	}
	m.Registry.MustRegister(
		gauge("acclaim_peers_alive", "Processes that share the database, this one included.", func() int {
			alive, _ := count()
			return alive
		}),
		gauge("acclaim_peers_unreachable", "Processes of those that cannot be reached from here.", func() int {
			_, unreachable := count()
			return unreachable
		}),
	)
}

// Retention registers what was taken out because it is too old.
func (m *Metrics) Retention(counts func() (chunks, bytes, snapshots uint64)) {
	counter := func(name, help string, value func() uint64) {
		m.Registry.MustRegister(prometheus.NewCounterFunc(
			prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value()) }))
	}
	counter("acclaim_retention_chunks_total", "Chunks whose entries were taken out.", func() uint64 { n, _, _ := counts(); return n })
	counter("acclaim_retention_bytes_total", "Bytes of their payloads.", func() uint64 { _, n, _ := counts(); return n })
	counter("acclaim_retention_snapshots_total", "Snapshots that were deleted.", func() uint64 { _, _, n := counts(); return n })
}

// Database registers how many commands were sent to the database, by name, and how
// many wait for a connection to it.
func (m *Metrics) Database(counts func() map[string]uint64, waiting func() int64) {
	m.Registry.MustRegister(database{counts}, prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "acclaim_database_waiting", Help: "Commands that wait for a connection to the database."},
		func() float64 { return float64(waiting()) }))
}

// database reads the counts when it is asked.
type database struct{ counts func() map[string]uint64 }

// Describe implements [prometheus.Collector].
func (d database) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(d, ch) }

// Collect implements [prometheus.Collector].
func (d database) Collect(ch chan<- prometheus.Metric) {
	desc := prometheus.NewDesc("acclaim_database_commands_total", "Commands sent to the database.", []string{"command"}, nil)
	for name, n := range d.counts() {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), name)
	}
}

// Live registers the figures of a hub of events.
func (m *Metrics) Live(stats func() live.Stats) { m.Registry.MustRegister(hub{stats}) }

// hub reads its figures when it is asked.
type hub struct{ stats func() live.Stats }

// Describe implements [prometheus.Collector].
func (h hub) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(h, ch) }

// Collect implements [prometheus.Collector].
func (h hub) Collect(ch chan<- prometheus.Metric) {
	f := h.stats()
	for _, m := range []struct {
		name, help string
		kind       prometheus.ValueType
		value      float64
	}{
		{"listeners", "Those who listen for events.", prometheus.GaugeValue, float64(f.Listeners)},
		{"sources", "Polls, documents and feeds that are listened to.", prometheus.GaugeValue, float64(f.Sources)},
		{"watched", "1 while the database itself tells what any process writes.", prometheus.GaugeValue, map[bool]float64{true: 1}[f.Watched]},
		{"looks_total", "Reads of what is listened to.", prometheus.CounterValue, float64(f.Looks)},
		{"failures_total", "Reads of what is listened to that failed and were tried again.", prometheus.CounterValue, float64(f.Failures)},
		{"events_total", "Events.", prometheus.CounterValue, float64(f.Events)},
		{"delivered_total", "Events handed to a listener each.", prometheus.CounterValue, float64(f.Delivered)},
		{"slow_total", "Listeners that were cut off because they did not keep up.", prometheus.CounterValue, float64(f.Slow)},
	} {
		desc := prometheus.NewDesc("acclaim_live_"+m.name, m.help, nil, nil)
		ch <- prometheus.MustNewConstMetric(desc, m.kind, m.value)
	}
}

// Sinks registers the figures of what tells other systems of events.
func (m *Metrics) Sinks(stats func() sink.Stats) { m.Registry.MustRegister(sinks{stats}) }

// sinks reads its figures when it is asked.
type sinks struct{ stats func() sink.Stats }

// Describe implements [prometheus.Collector].
func (s sinks) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(s, ch) }

// Collect implements [prometheus.Collector].
func (s sinks) Collect(ch chan<- prometheus.Metric) {
	f := s.stats()
	for _, m := range []struct {
		name, help string
		kind       prometheus.ValueType
		value      float64
	}{
		{"declared", "Sinks that this process serves.", prometheus.GaugeValue, float64(f.Sinks)},
		{"lanes", "Polls and channels that were delivered lately.", prometheus.GaugeValue, float64(f.Lanes)},
		{"waiting", "Polls, documents and feeds that are to be delivered.", prometheus.GaugeValue, float64(f.Waiting)},
		{"requests_total", "Requests made.", prometheus.CounterValue, float64(f.Requests)},
		{"limited_total", "Requests that were refused because there were too many.", prometheus.CounterValue, float64(f.Limited)},
		{"delivered_total", "Events delivered.", prometheus.CounterValue, float64(f.Delivered)},
		{"retries_total", "Events that were not taken and are tried again.", prometheus.CounterValue, float64(f.Retries)},
		{"dead_total", "Events that were given up.", prometheus.CounterValue, float64(f.Dead)},
		{"failures_total", "Reads and writes of what was delivered that failed and were tried again.", prometheus.CounterValue, float64(f.Failures)},
	} {
		desc := prometheus.NewDesc("acclaim_sink_"+m.name, m.help, nil, nil)
		ch <- prometheus.MustNewConstMetric(desc, m.kind, m.value)
	}
}

// streams reads an engine's figures when it is asked.
type streams struct {
	stats  func() stream.Stats
	labels prometheus.Labels
}

// Describe implements [prometheus.Collector].
func (s streams) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(s, ch) }

// Collect implements [prometheus.Collector].
func (s streams) Collect(ch chan<- prometheus.Metric) {
	f := s.stats()
	for _, m := range []struct {
		name, help string
		kind       prometheus.ValueType
		value      float64
	}{
		{"resident", "Streams whose state is in memory.", prometheus.GaugeValue, float64(f.Streams)},
		{"resident_bytes", "Bytes of the resident states.", prometheus.GaugeValue, float64(f.ResidentBytes)},
		{"waiting", "Commands in waiting.", prometheus.GaugeValue, float64(f.Waiting)},
		{"commits_total", "Chunks applied.", prometheus.CounterValue, float64(f.Commits)},
		{"entries_total", "Entries applied.", prometheus.CounterValue, float64(f.Entries)},
		{"conflicts_total", "Appends that lost the race for their place.", prometheus.CounterValue, float64(f.Conflicts)},
		{"unsettled_total", "Appends whose outcome stayed unknown.", prometheus.CounterValue, float64(f.Unsettled)},
		{"forwarded_total", "Commands and queries passed to the process where their stream is at home.", prometheus.CounterValue, float64(f.Forwarded)},
		{"recovered_total", "Groups of passed commands whose answer was lost and looked for in the log.", prometheus.CounterValue, float64(f.Recovered)},
		{"evictions_total", "Idle streams dropped from memory.", prometheus.CounterValue, float64(f.Evictions)},
		{"snapshots_total", "Snapshots written.", prometheus.CounterValue, float64(f.Snapshots)},
		{"loads_total", "Streams read into memory.", prometheus.CounterValue, float64(f.Loads)},
	} {
		desc := prometheus.NewDesc("acclaim_stream_"+m.name, m.help, nil, s.labels)
		ch <- prometheus.MustNewConstMetric(desc, m.kind, m.value)
	}
	phases := prometheus.NewDesc("acclaim_stream_load_seconds_total",
		"Time of the loads, divided into reading from the store and folding.", []string{"phase"}, s.labels)
	ch <- prometheus.MustNewConstMetric(phases, prometheus.CounterValue, f.LoadRead.Seconds(), "read")
	ch <- prometheus.MustNewConstMetric(phases, prometheus.CounterValue, f.LoadRebuild.Seconds(), "rebuild")
}
