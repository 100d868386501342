package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/acclaim-dev/acclaim/api/tracing"
)

// spanCounts is the collector of what became of the spans of the process, by the names that
// the services use.
type spanCounts struct {
	stats                 func() tracing.Stats
	queued, limit, counts *prometheus.Desc
}

func newSpanCounts(stats func() tracing.Stats) *spanCounts {
	return &spanCounts{
		stats:  stats,
		queued: prometheus.NewDesc("acclaim_tracing_queued_spans", "Spans that wait for the collector.", nil, nil),
		limit:  prometheus.NewDesc("acclaim_tracing_queue_limit", "The most spans that may wait.", nil, nil),
		counts: prometheus.NewDesc("acclaim_tracing_spans_total",
			"Spans that ended: exported, refused by the collector or dropped because the queue was full.", []string{"outcome"}, nil),
	}
}

// Describe implements [prometheus.Collector].
func (c *spanCounts) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.queued, c.limit, c.counts} {
		descriptions <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *spanCounts) Collect(metrics chan<- prometheus.Metric) {
	s := c.stats()
	metrics <- prometheus.MustNewConstMetric(c.queued, prometheus.GaugeValue, float64(s.Waiting))
	metrics <- prometheus.MustNewConstMetric(c.limit, prometheus.GaugeValue, float64(s.Limit))
	for outcome, n := range map[string]uint64{"exported": s.Exported, "failed": s.Failed, "dropped": s.Dropped} {
		metrics <- prometheus.MustNewConstMetric(c.counts, prometheus.CounterValue, float64(n), outcome)
	}
}
