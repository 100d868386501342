package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const exposition = `# TYPE requests_total counter
requests_total{verb="PATCH",resource="polls",subresource="status",code="200"} 3
requests_total{verb="PATCH",resource="polls",subresource="status",code="409"} 1
requests_total{verb="PATCH",resource="polls",subresource="",code="200"} 2
requests_total{verb="LIST",resource="polls",subresource="",code="200"} 5
# TYPE duration_seconds histogram
duration_seconds_bucket{method="GET",le="+Inf"} 7
duration_seconds_sum{method="GET"} 1.5
duration_seconds_count{method="GET"} 7
`

func TestCount(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(exposition)) }))
	defer server.Close()
	families, err := scrapeMetrics(t.Context(), server.Client(), server.URL+"/")
	if err != nil {
		t.Fatal(err)
	}
	by := []string{"verb", "resource", "subresource"}
	all := countSeries(families["requests_total"], by, nil)
	for name, test := range map[string]struct{ want, got counts }{
		"all":     {counts{"PATCH polls status": 4, "PATCH polls": 2, "LIST polls": 5}, all},
		"some":    {counts{"PATCH polls status": 1}, countSeries(families["requests_total"], by, map[string]string{"code": "409"})},
		"writes":  {counts{"PATCH polls status": 4, "PATCH polls": 2}, all.filter(isWrite)},
		"since":   {counts{"PATCH polls status": 1}, all.since(counts{"PATCH polls status": 3, "PATCH polls": 2, "LIST polls": 5})},
		"timed":   {counts{"GET": 7}, countSeries(families["duration_seconds"], []string{"method"}, nil)},
		"unknown": {counts{}, countSeries(families["gone"], by, nil)},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if sum := all.sum(); sum != 11 {
		t.Errorf("the sum is %v", sum)
	}
}

func TestSpread(t *testing.T) {
	var sorted []time.Duration
	for i := range 101 {
		sorted = append(sorted, time.Duration(i)*time.Millisecond)
	}
	if got, want := formatSpread(sorted), "median 50ms, 99 of 100 99ms, at most 100ms"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
