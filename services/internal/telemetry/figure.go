package telemetry

import (
	"maps"

	"github.com/prometheus/client_golang/prometheus"
)

// figure is a number as it is when it is asked for.
type figure struct {
	name, help string
	kind       prometheus.ValueType
	value      float64
	labels     prometheus.Labels
}

type number interface {
	~int | ~int64 | ~uint64 | ~float64
}

func gauge[N number](name, help string, value N) figure {
	return figure{name, help, prometheus.GaugeValue, float64(value), nil}
}

func counter[N number](name, help string, value N) figure {
	return figure{name, help, prometheus.CounterValue, float64(value), nil}
}

// of returns the figure with one more label.
func (f figure) of(label, value string) figure {
	labels := prometheus.Labels{label: value}
	maps.Copy(labels, f.labels)
	f.labels = labels
	return f
}

// figures reads some figures, whose names all begin alike, when it is asked.
type figures struct {
	prefix string
	read   func() []figure
}

// Describe implements [prometheus.Collector].
func (c figures) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements [prometheus.Collector].
func (c figures) Collect(ch chan<- prometheus.Metric) {
	for _, f := range c.read() {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(c.prefix+f.name, f.help, nil, f.labels), f.kind, f.value)
	}
}
