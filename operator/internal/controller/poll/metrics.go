package poll

import "github.com/prometheus/client_golang/prometheus"

// Metrics counts what the controller did.
type Metrics struct {
	errors, drift prometheus.Counter
}

// NewMetrics returns metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		errors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "acclaim_operator_configuration_errors_total",
			Help: "Requests to voting services that failed or were refused.",
		}),
		drift: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "acclaim_operator_drift_corrected_total",
			Help: "Configurations changed behind the operator's back and written back.",
		}),
	}
	registry.MustRegister(m.errors, m.drift)
	return m
}

func (m *Metrics) configurationError() { m.errors.Inc() }
func (m *Metrics) driftCorrected()     { m.drift.Inc() }
