package backend

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// Census counts Backends by how they are when it is asked.
type Census struct {
	backends client.Reader
	count    *prometheus.Desc
}

// NewCensus returns a census of the Backends in a cache.
func NewCensus(backends client.Reader) *Census {
	return &Census{backends: backends, count: prometheus.NewDesc("acclaim_operator_backends",
		"Backends by environment and status: ready, reconciling or degraded.", []string{"environment", "status"}, nil)}
}

// Describe names the metric.
func (c *Census) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- c.count }

// Collect counts. A cache that is not filled yet gives nothing.
func (c *Census) Collect(collected chan<- prometheus.Metric) {
	type group struct{ environment, status string }
	var backends v1alpha1.BackendList
	if err := c.backends.List(context.Background(), &backends, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	groups := map[group]float64{}
	for i := range backends.Items {
		groups[group{backends.Items[i].Spec.Environment, status(&backends.Items[i])}]++
	}
	for g, n := range groups {
		collected <- prometheus.MustNewConstMetric(c.count, prometheus.GaugeValue, n, g.environment, g.status)
	}
}

func status(b *v1alpha1.Backend) string {
	switch {
	case meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.Ready):
		return "ready"
	case meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.Degraded):
		return "degraded"
	}
	return "reconciling"
}
