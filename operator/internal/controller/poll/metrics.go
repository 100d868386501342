package poll

import (
	"cmp"
	"context"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/census"
)

// Metrics counts failed requests and corrected drift.
type Metrics struct {
	errors *prometheus.CounterVec
	drift  prometheus.Counter
}

// NewMetrics returns metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "acclaim_operator_configuration_errors_total",
			Help: "Requests to voting services that failed or were refused, by the Poll's namespace and the reason that its condition gives.",
		}, []string{census.NamespaceLabel, "reason"}),
		drift: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "acclaim_operator_drift_corrected_total",
			Help: "Configurations changed behind the operator's back and written back.",
		}),
	}
	registry.MustRegister(m.errors, m.drift)
	return m
}

func (m *Metrics) countConfigurationError(namespace, reason string) {
	m.errors.WithLabelValues(namespace, reason).Inc()
}
func (m *Metrics) countDriftCorrection() { m.drift.Inc() }

// maxReported limits the Polls whose votes are metrics: each is a series in Prometheus.
const maxReported = 1000

// LiveVotes collects the votes of the Polls in a cache that report them.
type LiveVotes struct {
	cache                client.Reader
	votes, info, leftOut *prometheus.Desc
}

// NewLiveVotes returns a collector of the votes of the Polls in a cache.
func NewLiveVotes(cache client.Reader) *LiveVotes {
	return &LiveVotes{
		cache: cache,
		votes: prometheus.NewDesc("acclaim_operator_poll_votes",
			"Votes of a Poll with a reportInterval when they were last reported.", []string{census.NamespaceLabel, "name"}, nil),
		info: prometheus.NewDesc("acclaim_operator_poll_info",
			"1 for a Poll with a reportInterval, with its status in its schedule, the reason of its condition Ready and the option that led when its votes were last reported.",
			[]string{census.NamespaceLabel, "name", "status", "reason", "leader"}, nil),
		leftOut: prometheus.NewDesc("acclaim_operator_poll_votes_left_out",
			"Polls with a reportInterval beyond the first thousand by namespace and name, which acclaim_operator_poll_votes leaves out.", nil, nil),
	}
}

// Describe implements [prometheus.Collector].
func (l *LiveVotes) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- l.votes
	descriptions <- l.info
	descriptions <- l.leftOut
}

// Collect implements [prometheus.Collector].
func (l *LiveVotes) Collect(collected chan<- prometheus.Metric) {
	var polls v1alpha1.PollList
	if err := l.cache.List(context.Background(), &polls, client.UnsafeDisableDeepCopy); err != nil {
		return // the cache is not filled yet
	}
	reporting := slices.DeleteFunc(polls.Items, func(p v1alpha1.Poll) bool { return p.Status.Live == nil })
	slices.SortFunc(reporting, func(a, b v1alpha1.Poll) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	shown := reporting[:min(len(reporting), maxReported)]
	for i := range shown {
		p := &shown[i]
		collected <- prometheus.MustNewConstMetric(l.votes, prometheus.GaugeValue, float64(p.Status.Live.Count), p.Namespace, p.Name)
		collected <- prometheus.MustNewConstMetric(l.info, prometheus.GaugeValue, 1, p.Namespace, p.Name, p.Status.PollStatus, readyReason(p), p.Status.Live.Leader)
	}
	collected <- prometheus.MustNewConstMetric(l.leftOut, prometheus.GaugeValue, float64(len(reporting)-len(shown)))
}

// NewCensus returns a collector that counts the Polls in a cache.
func NewCensus(cache client.Reader) prometheus.Collector {
	return &census.Census[v1alpha1.Poll]{
		From: cache,
		List: func() client.ObjectList { return &v1alpha1.PollList{} },
		Metric: prometheus.GaugeOpts{
			Name: "acclaim_operator_polls",
			Help: "Polls by namespace, where they stand in their schedule and the reason of their condition Ready.",
		},
		Labels: []string{"status", "reason"},
		Values: func(p *v1alpha1.Poll) []string {
			return []string{p.Status.PollStatus, readyReason(p)}
		},
	}
}

// readyReason returns the reason of the condition Ready, "" before there is one.
func readyReason(p *v1alpha1.Poll) string {
	if ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.Ready); ready != nil {
		return ready.Reason
	}
	return ""
}
