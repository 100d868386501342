package poll

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// Metrics counts what the controller did.
type Metrics struct {
	errors *prometheus.CounterVec
	drift  prometheus.Counter
}

// NewMetrics returns metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "acclaim_operator_configuration_errors_total",
			Help: "Requests to voting services that failed or were refused, by the reason that the Poll's condition gives.",
		}, []string{"reason"}),
		drift: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "acclaim_operator_drift_corrected_total",
			Help: "Configurations changed behind the operator's back and written back.",
		}),
	}
	registry.MustRegister(m.errors, m.drift)
	return m
}

func (m *Metrics) configurationError(reason string) { m.errors.WithLabelValues(reason).Inc() }
func (m *Metrics) driftCorrected()                  { m.drift.Inc() }

// Census counts Polls by their status when it is asked.
type Census struct {
	polls client.Reader
	count *prometheus.Desc
}

// NewCensus returns a census of the Polls in a cache.
func NewCensus(polls client.Reader) *Census {
	return &Census{polls: polls, count: prometheus.NewDesc("acclaim_operator_polls",
		"Polls by where they stand in their schedule and the reason of their condition Ready.", []string{"status", "reason"}, nil)}
}

// Describe names the metric.
func (c *Census) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- c.count }

// Collect counts. A cache that is not filled yet gives nothing.
func (c *Census) Collect(collected chan<- prometheus.Metric) {
	type group struct{ status, reason string }
	var polls v1alpha1.PollList
	if err := c.polls.List(context.Background(), &polls, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	groups := map[group]float64{}
	for i := range polls.Items {
		status := &polls.Items[i].Status
		g := group{status: status.PollStatus}
		if ready := meta.FindStatusCondition(status.Conditions, v1alpha1.Ready); ready != nil {
			g.reason = ready.Reason
		}
		groups[g]++
	}
	for g, n := range groups {
		collected <- prometheus.MustNewConstMetric(c.count, prometheus.GaugeValue, n, g.status, g.reason)
	}
}
