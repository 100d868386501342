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

// figures registers what is read when it is asked for.
func (m *Metrics) figures(prefix string, read func() []figure) {
	m.Registry.MustRegister(figures{prefix, read})
}

// Streams registers the figures of a domain's stream engine.
func (m *Metrics) Streams(domain string, stats func() stream.Stats) {
	const spent = "Time of the loads, divided into reading from the store and folding."
	m.figures("acclaim_stream_", func() []figure {
		f := stats()
		all := []figure{
			gauge("resident", "Streams whose state is in memory.", f.Streams),
			gauge("resident_bytes", "Bytes of the resident states.", f.ResidentBytes),
			gauge("waiting", "Commands in waiting.", f.Waiting),
			counter("commits_total", "Chunks applied.", f.Commits),
			counter("entries_total", "Entries applied.", f.Entries),
			counter("conflicts_total", "Appends that lost the race for their place.", f.Conflicts),
			counter("unsettled_total", "Appends whose outcome stayed unknown.", f.Unsettled),
			counter("forwarded_total", "Commands and queries passed to the process where their stream is at home.", f.Forwarded),
			counter("recovered_total", "Groups of passed commands whose answer was lost and looked for in the log.", f.Recovered),
			counter("evictions_total", "Idle streams dropped from memory.", f.Evictions),
			counter("snapshots_total", "Snapshots written.", f.Snapshots),
			counter("loads_total", "Streams read into memory.", f.Loads),
			counter("load_seconds_total", spent, f.LoadRead.Seconds()).of("phase", "read"),
			counter("load_seconds_total", spent, f.LoadRebuild.Seconds()).of("phase", "rebuild"),
		}
		for i := range all {
			all[i] = all[i].of("domain", domain)
		}
		return all
	})
}

// Peers registers how many processes serve together and how many of them cannot
// be reached.
func (m *Metrics) Peers(count func() (alive, unreachable int)) {
	m.figures("acclaim_peers_", func() []figure {
		alive, unreachable := count()
		return []figure{
			gauge("alive", "Processes that share the database, this one included.", alive),
			gauge("unreachable", "Processes of those that cannot be reached from here.", unreachable),
		}
	})
}

// Retention registers what was taken out because it is too old.
func (m *Metrics) Retention(counts func() (chunks, bytes, snapshots uint64)) {
	m.figures("acclaim_retention_", func() []figure {
		chunks, bytes, snapshots := counts()
		return []figure{
			counter("chunks_total", "Chunks whose entries were taken out.", chunks),
			counter("bytes_total", "Bytes of their payloads.", bytes),
			counter("snapshots_total", "Snapshots that were deleted.", snapshots),
		}
	})
}

// Database registers how many commands were sent to the database, by name, and how
// many wait for a connection to it.
func (m *Metrics) Database(counts func() map[string]uint64, waiting func() int64) {
	m.figures("acclaim_database_", func() []figure {
		all := []figure{gauge("waiting", "Commands that wait for a connection to the database, and chunks that wait for an insert.", waiting())}
		for name, n := range counts() {
			all = append(all, counter("commands_total", "Commands sent to the database.", n).of("command", name))
		}
		return all
	})
}

// Live registers the figures of a hub of events.
func (m *Metrics) Live(stats func() live.Stats) {
	m.figures("acclaim_live_", func() []figure {
		f := stats()
		return []figure{
			gauge("listeners", "Those who listen for events.", f.Listeners),
			gauge("sources", "Polls, documents and feeds that are listened to.", f.Sources),
			gauge("watched", "1 while the database itself tells what any process writes.", map[bool]int{true: 1}[f.Watched]),
			counter("looks_total", "Reads of what is listened to.", f.Looks),
			counter("failures_total", "Reads of what is listened to that failed and were tried again.", f.Failures),
			counter("events_total", "Events.", f.Events),
			counter("delivered_total", "Events handed to a listener each.", f.Delivered),
			counter("slow_total", "Listeners that were cut off because they did not keep up.", f.Slow),
		}
	})
}

// Sinks registers the figures of what tells other systems of events.
func (m *Metrics) Sinks(stats func() sink.Stats) {
	m.figures("acclaim_sink_", func() []figure {
		f := stats()
		return []figure{
			gauge("declared", "Sinks that this process serves.", f.Sinks),
			gauge("lanes", "Polls and channels that were delivered lately.", f.Lanes),
			gauge("waiting", "Polls, documents and feeds that are to be delivered.", f.Waiting),
			counter("requests_total", "Requests made.", f.Requests),
			counter("limited_total", "Requests that were refused because there were too many.", f.Limited),
			counter("delivered_total", "Events delivered.", f.Delivered),
			counter("retries_total", "Events that were not taken and are tried again.", f.Retries),
			counter("dead_total", "Events that were given up.", f.Dead),
			counter("failures_total", "Reads and writes of what was delivered that failed and were tried again.", f.Failures),
		}
	})
}
