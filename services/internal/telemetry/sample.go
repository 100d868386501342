package telemetry

import (
	"maps"

	"github.com/prometheus/client_golang/prometheus"
)

// Sample is the value of a metric at the time of a scrape. [Gauge] and [Counter] make
// samples.
type Sample struct {
	name, help string
	kind       prometheus.ValueType
	value      float64
	labels     prometheus.Labels
}

// Number is the type of a value.
type Number interface {
	~int | ~int64 | ~uint64 | ~float64
}

// Gauge returns a sample of a value that rises and falls.
func Gauge[N Number](name, help string, value N) Sample {
	return Sample{name, help, prometheus.GaugeValue, float64(value), nil}
}

// Counter returns a sample of a total that only rises.
func Counter[N Number](name, help string, value N) Sample {
	return Sample{name, help, prometheus.CounterValue, float64(value), nil}
}

// With returns the sample with one more label.
func (s Sample) With(label, value string) Sample {
	labels := prometheus.Labels{label: value}
	maps.Copy(labels, s.labels)
	s.labels = labels
	return s
}

// collector takes samples when Prometheus scrapes. Their names begin with prefix.
type collector struct {
	prefix string
	sample func() []Sample
}

// Describe implements [prometheus.Collector].
func (c collector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements [prometheus.Collector].
func (c collector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range c.sample() {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(c.prefix+s.name, s.help, nil, s.labels), s.kind, s.value)
	}
}
