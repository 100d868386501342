package poll

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/census"
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

// NewCensus counts the Polls in a cache.
func NewCensus(cache client.Reader) prometheus.Collector {
	return &census.Census[v1alpha1.Poll]{
		From: cache,
		List: func() client.ObjectList { return &v1alpha1.PollList{} },
		Metric: prometheus.GaugeOpts{
			Name: "acclaim_operator_polls",
			Help: "Polls by where they stand in their schedule and the reason of their condition Ready.",
		},
		Labels: []string{"status", "reason"},
		Values: func(p *v1alpha1.Poll) []string {
			var reason string
			if ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.Ready); ready != nil {
				reason = ready.Reason
			}
			return []string{p.Status.PollStatus, reason}
		},
	}
}
