package extension

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// Census counts Extensions by their status when it is asked.
type Census struct {
	extensions client.Reader
	count      *prometheus.Desc
}

// NewCensus returns a census of the Extensions in a cache.
func NewCensus(extensions client.Reader) *Census {
	return &Census{extensions: extensions, count: prometheus.NewDesc("acclaim_operator_extensions",
		"Extensions by whether they are ready and why.", []string{"ready", "reason"}, nil)}
}

// Describe names the metric.
func (c *Census) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- c.count }

// Collect counts. A cache that is not filled yet gives nothing.
func (c *Census) Collect(collected chan<- prometheus.Metric) {
	type group struct{ ready, reason string }
	var extensions v1alpha1.ExtensionList
	if err := c.extensions.List(context.Background(), &extensions, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	groups := map[group]float64{}
	for i := range extensions.Items {
		g := group{"Unknown", ""}
		if ready := meta.FindStatusCondition(extensions.Items[i].Status.Conditions, v1alpha1.Ready); ready != nil {
			g = group{string(ready.Status), ready.Reason}
		}
		groups[g]++
	}
	for g, n := range groups {
		collected <- prometheus.MustNewConstMetric(c.count, prometheus.GaugeValue, n, g.ready, g.reason)
	}
}
