package app

import (
	"github.com/acclaim-dev/acclaim/api/tracing"
	"github.com/acclaim-dev/acclaim/services/internal/cluster/peer"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/face/gamelink"
	"github.com/acclaim-dev/acclaim/services/internal/feed/live"
	"github.com/acclaim-dev/acclaim/services/internal/feed/publish"
	"github.com/acclaim-dev/acclaim/services/internal/feed/sink"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/telemetry"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
)

// registerBuild registers which program runs.
func registerBuild(m *telemetry.Metrics, build Build) {
	m.Register("acclaim_build_", func() []telemetry.Sample {
		return []telemetry.Sample{telemetry.Gauge("info", "1, with the version of the program as labels.", 1).
			With("version", build.Version).With("commit", build.Commit).With("go_version", build.GoVersion)}
	})
}

// registerTracing registers what became of the spans of the process.
func registerTracing(m *telemetry.Metrics, stats func() tracing.Stats) {
	const spans = "Spans that ended: exported, refused by the collector or dropped because the queue was full."
	m.Register("acclaim_tracing_", func() []telemetry.Sample {
		s := stats()
		return []telemetry.Sample{
			telemetry.Gauge("queued_spans", "Spans that wait for the collector.", s.Waiting),
			telemetry.Gauge("queue_limit", "The most spans that may wait.", s.Limit),
			telemetry.Counter("spans_total", spans, s.Exported).With("outcome", "exported"),
			telemetry.Counter("spans_total", spans, s.Failed).With("outcome", "failed"),
			telemetry.Counter("spans_total", spans, s.Dropped).With("outcome", "dropped"),
		}
	})
}

// registerBudgets registers what requests hold of each budget.
func registerBudgets(m *telemetry.Metrics, pools func() map[string]limit.Stats) {
	const refused = "Requests refused because the budget (all) or the share of one client (share) was used up."
	m.Register("acclaim_budget_", func() (samples []telemetry.Sample) {
		for name, s := range pools() {
			for _, sample := range []telemetry.Sample{
				telemetry.Gauge("used", "Amount of the budget that is in use.", s.Used),
				telemetry.Gauge("limit", "Size of the budget.", s.Limit),
				telemetry.Counter("refused_total", refused, s.Full).With("cause", "all"),
				telemetry.Counter("refused_total", refused, s.OverShare).With("cause", "share"),
			} {
				samples = append(samples, sample.With("budget", name))
			}
		}
		return samples
	})
}

// registerLimits registers the refusals at limits, whose series begin with the first one, and
// their sums for each kind of quota and rate.
func registerLimits(m *telemetry.Metrics, refusals func() map[limit.Bound]uint64) {
	m.Register("acclaim_limit_", func() (samples []telemetry.Sample) {
		for b, n := range refusals() {
			samples = append(samples, telemetry.Counter("refused_total", "Refusals, by the limit, the scope of its bound, and the extension that reached it.", n).
				With("limit", b.Limit).With("scope", b.Scope.String()).With("environment", b.Environment).With("extension", b.Extension))
		}
		return samples
	})
	m.Register("acclaim_quota_", func() (samples []telemetry.Sample) {
		all, ofShares := map[string]uint64{}, map[string]uint64{}
		for b, n := range refusals() {
			all[b.Limit] += n
			if b.Scope == limit.FairShare {
				ofShares[b.Limit] += n
			}
		}
		for _, kind := range limit.Kinds() {
			samples = append(samples,
				telemetry.Counter("refusals_total", "Requests refused because a quota was used up.", all[kind]).With("quota", kind),
				telemetry.Counter("share_refusals_total", "Refusals by a quota in which a channel or a viewer had used its share while others had used less.", ofShares[kind]).With("quota", kind))
		}
		return samples
	})
}

// registerStreams registers the figures of a domain's stream engine.
func registerStreams(m *telemetry.Metrics, domain string, stats func() stream.Stats) {
	const loadSeconds = "Time spent on loads, divided into reading from the store and rebuilding the state."
	const refused = "Commands refused because no place for a key was free (all), or because their caller had too many keys (share)."
	m.Register("acclaim_stream_", func() []telemetry.Sample {
		s := stats()
		samples := []telemetry.Sample{
			telemetry.Gauge("resident_streams", "Streams whose state is in memory.", s.Streams),
			telemetry.Gauge("resident_bytes", "Bytes of the states in memory.", s.ResidentBytes),
			telemetry.Gauge("queued_commands", "Commands that wait for a commit.", s.Queued),
			telemetry.Counter("commits_total", "Chunks that this process has stored.", s.Commits),
			telemetry.Counter("entries_total", "Entries in these chunks.", s.Entries),
			telemetry.Counter("conflicts_total", "Appends refused because another process had stored a chunk with the same number.", s.Conflicts),
			telemetry.Counter("unknown_outcomes_total", "Appends whose outcome stayed unknown.", s.UnknownOutcomes),
			telemetry.Counter("forwarded_total", "Commands and queries forwarded to the owner of their stream.", s.Forwarded),
			telemetry.Counter("settled_total", "Forwarded requests whose response was lost and whose outcome was read from the log.", s.Settled),
			telemetry.Counter("evictions_total", "Idle streams evicted from memory.", s.Evictions),
			telemetry.Counter("snapshots_total", "Snapshots written.", s.Snapshots),
			telemetry.Counter("loads_total", "Streams loaded into memory.", s.Loads),
			telemetry.Counter("load_seconds_total", loadSeconds, s.LoadRead.Seconds()).With("phase", "read"),
			telemetry.Counter("load_seconds_total", loadSeconds, s.LoadRebuild.Seconds()).With("phase", "rebuild"),
			telemetry.Gauge("keys", "Keys of requests in memory, without those that are stored with a vote.", s.Keys.Used),
			telemetry.Gauge("keys_limit", "The most keys of requests in memory; a sixtieth a second are kept for a minute.", s.Keys.Limit),
			telemetry.Counter("keys_refused_total", refused, s.Keys.Full).With("cause", "all"),
			telemetry.Counter("keys_refused_total", refused, s.Keys.OverShare).With("cause", "share"),
		}
		for i := range samples {
			samples[i] = samples[i].With("domain", domain)
		}
		return samples
	})
}

// registerPeers registers how many processes are members, how many of them cannot be
// reached, the connections that were refused, and the requests between this process and the
// others.
func registerPeers(m *telemetry.Metrics, count func() (alive, unreachable int), traffic func() (sent, received peer.Traffic), refused func() uint64) {
	m.Register("acclaim_peers_", func() []telemetry.Sample {
		alive, unreachable := count()
		samples := []telemetry.Sample{
			telemetry.Gauge("alive", "Processes that share the database, including this one.", alive),
			telemetry.Gauge("unreachable", "Live processes that this one cannot reach.", unreachable),
			telemetry.Counter("connections_refused_total", "Connections to the listener for peers closed before their handshake.", refused()),
		}
		sent, received := traffic()
		for direction, t := range map[string]peer.Traffic{"sent": sent, "received": received} {
			for _, sample := range []telemetry.Sample{
				telemetry.Gauge("requests_under_way", "Requests between processes without a complete answer.", t.Requests),
				telemetry.Gauge("request_bytes_under_way", "Bytes of the requests between processes without a complete answer.", t.Bytes),
				telemetry.Counter("requests_refused_total", "Requests between processes refused at the bound of their connection.", t.Refused),
			} {
				samples = append(samples, sample.With("direction", direction))
			}
		}
		return samples
	})
}

// registerProxies registers how trusted proxies name their clients.
func registerProxies(m *telemetry.Metrics, unnamed func() uint64, clients func() int) {
	m.Register("acclaim_proxy_", func() []telemetry.Sample {
		return []telemetry.Sample{
			telemetry.Counter("requests_without_client_total", "Requests of viewers and games from a trusted proxy that named no client.", unnamed()),
			telemetry.Gauge("clients", "Different clients that trusted proxies named within a minute, an estimate.", clients()),
		}
	})
}

// registerRetention registers the figures of the retention worker.
func registerRetention(m *telemetry.Metrics, stats func() admin.RetentionStats) {
	m.Register("acclaim_retention_", func() []telemetry.Sample {
		s := stats()
		return []telemetry.Sample{
			telemetry.Counter("chunks_total", "Chunks truncated.", s.Chunks),
			telemetry.Counter("bytes_total", "Bytes of the payloads of truncated chunks.", s.Bytes),
			telemetry.Counter("snapshots_total", "Snapshots deleted.", s.Snapshots),
		}
	})
}

// registerReachable registers whether the database answers, which is known before it is open.
func registerReachable(m *telemetry.Metrics, away func() bool) {
	m.Register("acclaim_database_", func() []telemetry.Sample {
		reachable := 1
		if away() {
			reachable = 0
		}
		return []telemetry.Sample{
			telemetry.Gauge("reachable", "1 while the database answers the readiness probe of this process, else 0, also before it has answered once.", reachable),
		}
	})
}

// registerDatabase registers how many commands were sent to the database, by name, and
// how many wait for a connection.
func registerDatabase(m *telemetry.Metrics, counts func() map[string]uint64, waiting func() int64) {
	m.Register("acclaim_database_", func() []telemetry.Sample {
		samples := []telemetry.Sample{
			telemetry.Gauge("pool_waiters", "Commands that wait for a connection to the database, and chunks that wait for an insert.", waiting()),
		}
		for name, n := range counts() {
			samples = append(samples, telemetry.Counter("commands_total", "Commands sent to the database.", n).With("command", name))
		}
		return samples
	})
}

// registerEvents registers the figures of the broker of events.
func registerEvents(m *telemetry.Metrics, stats func() live.Stats) {
	m.Register("acclaim_events_", func() []telemetry.Sample {
		s := stats()
		watched := 0
		if s.ChangeStreamActive {
			watched = 1
		}
		return []telemetry.Sample{
			telemetry.Gauge("subscribers", "Connected event subscribers.", s.Subscribers),
			telemetry.Gauge("sources", "Polls, documents and feeds that are read for subscribers.", s.Sources),
			telemetry.Gauge("change_stream_active", "1 while the process learns of every write at once, by a change stream or from the other processes.", watched),
			telemetry.Counter("source_reads_total", "Reads of sources.", s.Reads),
			telemetry.Counter("source_read_failures_total", "Reads of sources that failed and were retried.", s.Failures),
			telemetry.Counter("published_total", "Events published.", s.Published),
			telemetry.Counter("delivered_total", "Events delivered, counted for each subscriber.", s.Delivered),
			telemetry.Counter("slow_subscribers_total", "Subscribers disconnected because they did not keep up.", s.Slow),
		}
	})
}

// registerResults registers the figures of the log of results.
func registerResults(m *telemetry.Metrics, stats func() publish.Stats) {
	m.Register("acclaim_results_", func() []telemetry.Sample {
		s := stats()
		return []telemetry.Sample{
			telemetry.Gauge("queued_polls", "Polls with verifiable votes whose newest entries wait to be signed.", s.Queued),
			telemetry.Gauge("log_leaves", "Leaves of the log of results when it was signed last.", s.Size),
			telemetry.Gauge("witnessed_leaves", "Leaves of the log of results that a quorum of witnesses has signed.", s.Witnessed),
			telemetry.Counter("unwitnessed_total", "Rounds in which not all witnesses signed the log of results.", s.Unwitnessed),
			telemetry.Gauge("mark_taken", "1 while the mark is that of another log, so that no results are signed.", s.Taken),
			telemetry.Counter("refused_total", "Polls that contradict what was signed, and are not signed any more.", s.Refused),
			telemetry.Counter("failures_total", "Rounds and requests in which results could not be signed; all are tried again.", s.Failed),
		}
	})
}

// registerGames registers the figures of GameLink, of all environments together.
func registerGames(m *telemetry.Metrics, servers map[tenant.Environment]*gamelink.Server) {
	m.Register("acclaim_gamelink_", func() []telemetry.Sample {
		var all gamelink.Stats
		for _, server := range servers {
			s := server.Stats()
			all.Connections, all.Unauthenticated = all.Connections+s.Connections, all.Unauthenticated+s.Unauthenticated
			all.Requests, all.Pushes, all.PollReads = all.Requests+s.Requests, all.Pushes+s.Pushes, all.PollReads+s.PollReads
			all.Slow, all.Refused, all.Displaced = all.Slow+s.Slow, all.Refused+s.Refused, all.Displaced+s.Displaced
		}
		return []telemetry.Sample{
			telemetry.Gauge("connections", "Connected games.", all.Connections),
			telemetry.Gauge("unauthenticated_connections", "Connected games that have not authenticated.", all.Unauthenticated),
			telemetry.Counter("requests_total", "Messages received from games.", all.Requests),
			telemetry.Counter("pushes_total", "Updates sent to games.", all.Pushes),
			telemetry.Counter("poll_reads_total", "Reads of polls because of events about them, each for all games that may see the same.", all.PollReads),
			telemetry.Counter("slow_connections_total", "Games cut off because they did not read or answer.", all.Slow),
			telemetry.Counter("displaced_connections_total", "Games that did not authenticate and made room for others.", all.Displaced),
			telemetry.Counter("refused_connections_total", "Games turned away because there were too many or the process is shutting down.", all.Refused),
		}
	})
}

// registerSinks registers the figures of the deliveries to sinks.
func registerSinks(m *telemetry.Metrics, stats func() sink.Stats) {
	m.Register("acclaim_sink_", func() []telemetry.Sample {
		s := stats()
		return []telemetry.Sample{
			telemetry.Gauge("configured", "Sinks that this process serves.", s.Sinks),
			telemetry.Gauge("queues", "Delivery queues in memory, one for each source of a sink.", s.Queues),
			telemetry.Gauge("queued_events", "Polls, documents and feeds with events to deliver.", s.Queued),
			telemetry.Counter("requests_total", "Requests sent to sinks.", s.Requests),
			telemetry.Counter("rate_limited_total", "Requests that a sink refused because there were too many.", s.RateLimited),
			telemetry.Counter("events_delivered_total", "Events delivered.", s.Delivered),
			telemetry.Counter("retries_total", "Events whose delivery failed and is retried.", s.Retries),
			telemetry.Counter("events_dropped_total", "Events dropped after exhausting retries.", s.Dropped),
			telemetry.Counter("delivery_failures_total", "Reads and writes of positions and events that failed and were retried.", s.Failures),
		}
	})
}
