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

	"github.com/acclaim-dev/acclaim/operator/internal/controller/poll"
)

var update = flag.Bool("update", false, "write the list of metrics to testdata")

// Alerts and dashboards depend on the names of metrics and of their labels. The
// chart's tests read the list in testdata.
func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	poll.NewMetrics(registry)
	registry.MustRegister(newCensuses(nil)...)
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
