// Package census counts resources by how they are, whenever metrics are asked
// for.
//
// It may not know what a kind is or how one is told from another.
package census

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Census says how the resources of a kind are counted.
type Census[T any] struct {
	// From has the resources: a cache.
	From client.Reader
	// List returns an empty list of them.
	List func() client.ObjectList
	// Metric is the gauge.
	Metric prometheus.GaugeOpts
	// Labels are the names of its labels.
	Labels []string
	// Values returns those of the labels under which a resource counts.
	Values func(*T) []string
}

// Describe names the metric.
func (c *Census[T]) Describe(descriptions chan<- *prometheus.Desc) { c.gauge().Describe(descriptions) }

// Collect counts. A cache that is not filled yet gives nothing.
func (c *Census[T]) Collect(collected chan<- prometheus.Metric) {
	list, gauge := c.List(), c.gauge()
	if err := c.From.List(context.Background(), list, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	_ = meta.EachListItem(list, func(o runtime.Object) error { // no item fails
		gauge.WithLabelValues(c.Values(any(o).(*T))...).Inc()
		return nil
	})
	gauge.Collect(collected)
}

func (c *Census[T]) gauge() *prometheus.GaugeVec { return prometheus.NewGaugeVec(c.Metric, c.Labels) }
