package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/acclaim-dev/acclaim/api/tracing"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/poll"
)

var update = flag.Bool("update", false, "write the list of metrics to testdata")

// Alerts and dashboards depend on the names of metrics and of their labels. The
// chart's tests read the list in testdata.
func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	poll.NewMetrics(registry)
	registry.MustRegister(newCensuses(nil)...)
	registry.MustRegister(newNamespaceGauge())
	registry.MustRegister(newSpanCounts(nil))
	descriptions := make(chan *prometheus.Desc, 100)
	registry.Describe(descriptions)
	close(descriptions)
	described := regexp.MustCompile(`fqName: "(\w+)".*variableLabels: {([\w,]*)}`)
	var lines []string
	for d := range descriptions {
		match := described.FindStringSubmatch(d.String())
		if match == nil {
			t.Fatalf("%v is not understood", d)
		}
		lines = append(lines, fmt.Sprintf("%s{%s}\n", match[1], match[2]))
	}
	slices.Sort(lines)
	const list = "testdata/metrics.txt"
	if *update {
		if err := os.WriteFile(list, []byte(strings.Join(lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), strings.Join(lines, "")); diff != "" {
		t.Errorf("%s (-want +got); if it is right, run with -update:\n%s", list, diff)
	}
}

// What became of spans is counted as in the services, so that one alert is for both.
func TestSpanCounts(t *testing.T) {
	counts := newSpanCounts(func() tracing.Stats {
		return tracing.Stats{Waiting: 1, Limit: 2, Exported: 3, Failed: 4, Dropped: 5}
	})
	want := `
# HELP acclaim_tracing_queue_limit The most spans that may wait.
# TYPE acclaim_tracing_queue_limit gauge
acclaim_tracing_queue_limit 2
# HELP acclaim_tracing_queued_spans Spans that wait for the collector.
# TYPE acclaim_tracing_queued_spans gauge
acclaim_tracing_queued_spans 1
# HELP acclaim_tracing_spans_total Spans that ended: exported, refused by the collector or dropped because the queue was full.
# TYPE acclaim_tracing_spans_total counter
acclaim_tracing_spans_total{outcome="dropped"} 5
acclaim_tracing_spans_total{outcome="exported"} 3
acclaim_tracing_spans_total{outcome="failed"} 4
`
	if err := testutil.CollectAndCompare(counts, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
