// Package census counts resources by their state whenever metrics are collected.
//
// It knows no kind of resource.
package census

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NamespaceLabel is the label with the namespace of the resources that a metric is about, by
// which an alert reaches their team. It is not called namespace: Prometheus gives that name to
// the namespace of the pod that it reads.
const NamespaceLabel = "resource_namespace"

// ListTimeout limits how long a collection waits for a cache that is not filled yet.
const ListTimeout = 5 * time.Second

// Census counts the resources of one kind in each namespace.
type Census[T any] struct {
	// From is the cache to read from.
	From client.Reader
	// List returns an empty list of the kind.
	List func() client.ObjectList
	// Metric names and describes the gauge.
	Metric prometheus.GaugeOpts
	// Labels are the names of the gauge's labels besides NamespaceLabel.
	Labels []string
	// Values returns the values of Labels for a resource.
	Values func(*T) []string
}

// Describe implements [prometheus.Collector].
func (c *Census[T]) Describe(descriptions chan<- *prometheus.Desc) {
	c.newGauge().Describe(descriptions)
}

// Collect implements [prometheus.Collector]. A cache that is not filled yet gives
// no metric.
func (c *Census[T]) Collect(collected chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), ListTimeout)
	defer cancel()
	list, gauge := c.List(), c.newGauge()
	if err := c.From.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	_ = meta.EachListItem(list, func(o runtime.Object) error { // no item fails
		values := append([]string{o.(client.Object).GetNamespace()}, c.Values(any(o).(*T))...)
		gauge.WithLabelValues(values...).Inc()
		return nil
	})
	gauge.Collect(collected)
}

func (c *Census[T]) newGauge() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(c.Metric, append([]string{NamespaceLabel}, c.Labels...))
}
