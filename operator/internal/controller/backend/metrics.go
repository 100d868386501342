package backend

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/census"
)

// NewCensus returns a collector that counts the Backends in a cache.
func NewCensus(cache client.Reader) prometheus.Collector {
	return &census.Census[v1alpha1.Backend]{
		From: cache,
		List: func() client.ObjectList { return &v1alpha1.BackendList{} },
		Metric: prometheus.GaugeOpts{
			Name: "acclaim_operator_backends",
			Help: "Backends by namespace, environment and status: ready, reconciling, degraded or suspended.",
		},
		Labels: []string{"environment", "status"},
		Values: func(b *v1alpha1.Backend) []string { return []string{b.Spec.Environment, statusLabel(b)} },
	}
}

func statusLabel(b *v1alpha1.Backend) string {
	switch {
	case b.Spec.Suspend:
		return "suspended"
	case meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.Ready):
		return "ready"
	case meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.Degraded):
		return "degraded"
	}
	return "reconciling"
}
