package app

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/acclaim-dev/acclaim/api/tracing"
	"github.com/acclaim-dev/acclaim/services/internal/cluster/peer"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/feed/live"
	"github.com/acclaim-dev/acclaim/services/internal/feed/publish"
	"github.com/acclaim-dev/acclaim/services/internal/feed/sink"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/telemetry"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
)

var update = flag.Bool("update", false, "write the list of metrics to testdata")

// Alerts and dashboards depend on the names of metrics and of their labels. The chart's
// tests read the list in testdata.
func TestMetrics(t *testing.T) {
	m := telemetry.NewMetrics()
	m.Observe("/vote", "GET", 200, time.Millisecond, "")
	registerBuild(m, Build{})
	registerTracing(m, func() tracing.Stats { return tracing.Stats{} })
	registerBudgets(m, func() map[string]limit.Stats { return map[string]limit.Stats{"pages": {}} })
	registerLimits(m, func() map[limit.Bound]uint64 { return map[limit.Bound]uint64{{}: 1} })
	registerStreams(m, "voting", func() stream.Stats { return stream.Stats{} })
	registerPeers(m, func() (alive, unreachable int) { return 1, 0 }, func() (sent, received peer.Traffic) { return sent, received }, func() uint64 { return 0 })
	registerProxies(m, func() uint64 { return 0 }, func() int { return 0 })
	registerRetention(m, func() admin.RetentionStats { return admin.RetentionStats{} })
	registerDatabase(m, func() map[string]uint64 { return map[string]uint64{"insert": 1} }, func() int64 { return 0 })
	registerReachable(m, func() bool { return false })
	registerEvents(m, func() live.Stats { return live.Stats{} })
	registerResults(m, func() publish.Stats { return publish.Stats{} })
	registerGames(m, nil)
	registerSinks(m, func() sink.Stats { return sink.Stats{} })
	descriptions := make(chan *prometheus.Desc, 1000)
	m.Registry.Describe(descriptions)
	close(descriptions)
	described := regexp.MustCompile(`fqName: "(acclaim_\w+)".*constLabels: {([^}]*)}, variableLabels: {([\w,]*)}`)
	value := regexp.MustCompile(`="[^"]*"`)
	var lines []string
	for d := range descriptions {
		if match := described.FindStringSubmatch(d.String()); match != nil {
			labels := strings.FieldsFunc(value.ReplaceAllString(match[2], "")+","+match[3], func(r rune) bool { return r == ',' })
			lines = append(lines, fmt.Sprintf("%s{%s}\n", match[1], strings.Join(labels, ",")))
		}
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
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
		t.Errorf("%s (-want +got); if the change is intended, run with -update:\n%s", list, diff)
	}
}
