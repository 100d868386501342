package telemetry_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/acclaim-dev/acclaim/services/internal/telemetry"
)

func TestLoggerWritesJSONOfItsLevel(t *testing.T) {
	var out bytes.Buffer
	logger := telemetry.NewLogger(&out, slog.LevelWarn)
	logger.Info("left out")
	logger.Warn("kept", "n", 1)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%v in %s", err, &out)
	}
	if line["msg"] != "kept" || line["level"] != "WARN" || line["n"] != 1.0 {
		t.Errorf("line is %s", &out)
	}
}

// scrape returns the text that Prometheus reads.
func scrape(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{}).
		ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	return w.Body.String()
}

func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no %s in the metrics", line)
		}
	}
}

// A client cannot create time series by inventing methods.
func TestRequestsAreObserved(t *testing.T) {
	m := telemetry.NewMetrics()
	for _, method := range []string{"GET", "GET", "BREW", "X-1", "X-2"} {
		m.Observe("/vote", method, 200, 3*time.Millisecond, "")
	}
	text := scrape(t, m)
	wantLines(t, text,
		`acclaim_http_request_duration_seconds_count{method="GET",route="/vote",status="200"} 2`,
		`acclaim_http_request_duration_seconds_count{method="other",route="/vote",status="200"} 3`,
		`acclaim_http_request_duration_seconds_bucket{method="GET",route="/vote",status="200",le="0.0025"} 0`,
		`acclaim_http_request_duration_seconds_bucket{method="GET",route="/vote",status="200",le="0.005"} 2`)
	if n := strings.Count(text, "acclaim_http_request_duration_seconds_count{"); n != 2 {
		t.Errorf("%d series, want 2", n)
	}
}

// Several collectors share a prefix, metrics of several instances are separate, and
// samples are taken at each scrape.
func TestRegister(t *testing.T) {
	commits := 7
	for _, want := range []string{"7", "8"} {
		m := telemetry.NewMetrics()
		m.Register("acclaim_stream_", func() []telemetry.Sample {
			return []telemetry.Sample{telemetry.Counter("commits_total", "Commits.", commits).With("domain", "voting")}
		})
		m.Register("acclaim_stream_", func() []telemetry.Sample {
			return []telemetry.Sample{
				telemetry.Counter("commits_total", "Commits.", 0).With("domain", "ranking"),
				telemetry.Gauge("load", "Load.", 1.5).With("domain", "ranking").With("phase", "read"),
			}
		})
		wantLines(t, scrape(t, m),
			`acclaim_stream_commits_total{domain="voting"} `+want,
			`acclaim_stream_commits_total{domain="ranking"} 0`,
			`acclaim_stream_load{domain="ranking",phase="read"} 1.5`)
		commits++
	}
}

// The trace of a sampled request is an exemplar of the bucket that its time is in, for
// scrapers that accept OpenMetrics.
func TestExemplar(t *testing.T) {
	m := telemetry.NewMetrics()
	m.Observe("/vote", "POST", 200, 3*time.Millisecond, "4bf92f3577b34da6a3ce929d0e0e4736")
	m.Observe("/vote", "POST", 200, 7*time.Millisecond, "")
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil)
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	w := httptest.NewRecorder()
	promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(w, r)
	var with []string
	for line := range strings.Lines(w.Body.String()) {
		if bucket, exemplar, ok := strings.Cut(line, " # "); ok {
			with = append(with, bucket+" # "+strings.SplitAfter(exemplar, "}")[0])
		}
	}
	want := `acclaim_http_request_duration_seconds_bucket{method="POST",route="/vote",status="200",le="0.005"} 1 # {trace_id="4bf92f3577b34da6a3ce929d0e0e4736"}`
	if len(with) != 1 || with[0] != want {
		t.Errorf("lines with exemplars are %q, want %q", with, want)
	}
}
