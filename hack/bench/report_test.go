package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestMedian(t *testing.T) {
	same := func(f float64) float64 { return f }
	tests := []struct {
		of   []float64
		want float64
	}{
		{[]float64{3}, 3},
		{[]float64{9, 1, 2}, 2},
		{[]float64{9, 1, 2, 4}, 3},
	}
	for _, test := range tests {
		if got := median(test.of, same); got != test.want {
			t.Errorf("median of %v is %v, want %v", test.of, got, test.want)
		}
	}
}

// samplesOf returns rounds of two seconds with the given numbers of requests,
// 10 µs of CPU each and one slow answer in fifty.
func samplesOf(t *testing.T, requests ...int64) []roundSample {
	t.Helper()
	var samples []roundSample
	for _, n := range requests {
		s := roundSample{requests: n, elapsed: 2 * time.Second, cpu: time.Duration(n) * 10 * time.Microsecond, latency: newHistogram()}
		for i := range n {
			micros := int64(100)
			if i%50 == 0 {
				micros = 2_000
			}
			if err := s.latency.RecordValue(micros); err != nil {
				t.Fatal(err)
			}
		}
		samples = append(samples, s)
	}
	return samples
}

func TestResult(t *testing.T) {
	c := benchCase{name: "c", label: "GET /c", connections: 2, target: 0.8}
	got := newResult(c, samplesOf(t, 900, 1_000, 5_000), samplesOf(t, 750, 100, 760))
	want := caseResult{Case: "c", Label: "GET /c", Connections: 2, Target: 0.8, Ratio: 0.75,
		Ceiling: figures{RequestsPerSecond: 500, P50Micros: 100, P99Micros: 2_000, CPUMicros: 10},
		Program: figures{RequestsPerSecond: 375, P50Micros: 100, P99Micros: 2_000, CPUMicros: 10}}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0.01, 0)); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	c.target = 0.75
	if !newResult(c, samplesOf(t, 1_000), samplesOf(t, 750)).Met {
		t.Error("a ratio at its target does not meet it")
	}
}

func testReport() report {
	return report{
		Machine: machineInfo{Go: "go1.26", Platform: "linux/amd64", Processors: 4, SyncMicros: 1_250},
		Cases: []caseResult{
			{Case: "a", Label: "GET /a", Connections: 64, Ratio: 0.9, Target: 0.8, Met: true, Bare: &figures{CPUMicros: 15},
				Ceiling: figures{CPUMicros: 20}, Program: figures{RequestsPerSecond: 9_000, P99Micros: 1_500, CPUMicros: 25}},
			{Case: "b", Label: "GET /b", Connections: 256, Ratio: 0.3, Target: 0.4},
		},
		Poll: &pollReport{Voters: 1_000_000, HeapPerVoter: 88.25, FirstRead: 1.5, Read: 1.25,
			Memory: &memoryReport{SmallPolls: 10_000, Streams: 10_001, Resident: 40 << 20, Heap: 60 << 20}},
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	if err := testReport().writeTable(&b); err != nil {
		t.Fatal(err)
	}
	want := `go1.26 linux/amd64, 4 processors, fsync 1.25 ms; medians; latency in ms, CPU in µs a request; every count is exact

    load  conns  ceiling/s  program/s  ratio  target          p50   p99  ceiling p50   p99   CPU  ceiling  ratio  bare
  GET /a     64          0       9000   0.90    0.80    met  0.00  1.50         0.00  0.00  25.0     20.0   1.25  15.0
  GET /b    256          0          0   0.30    0.40  below  0.00  0.00         0.00  0.00   0.0      0.0      -     -

A single-vote poll of 1000000 voters:
  resident    88.2 bytes a voter by the live heap, - by the program's own account
  cold start  first read 1.500 s after a restart: reading 1.250 s, rebuilding - s (ready after 0.000 s)
  memory      10001 polls, 10000 of them small, in 40 MiB by the program's own account, of a budget of 512; live heap 60 MiB, process - MiB
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestJSONIsTheReport(t *testing.T) {
	var b strings.Builder
	if err := testReport().writeJSON(&b); err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(testReport(), got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}
