package extension

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/census"
)

// NewCensus returns a collector that counts the Extensions in a cache.
func NewCensus(cache client.Reader) prometheus.Collector {
	return &census.Census[v1alpha1.Extension]{
		From: cache,
		List: func() client.ObjectList { return &v1alpha1.ExtensionList{} },
		Metric: prometheus.GaugeOpts{
			Name: "acclaim_operator_extensions",
			Help: "Extensions by namespace, whether they are ready and why.",
		},
		Labels: []string{"ready", "reason"},
		Values: func(e *v1alpha1.Extension) []string {
			ready := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.Ready)
			if ready == nil {
				return []string{"Unknown", ""}
			}
			return []string{string(ready.Status), ready.Reason}
		},
	}
}
