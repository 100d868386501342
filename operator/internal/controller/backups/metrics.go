package backups

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/census"
)

// Ages collects when each Backend that promises backups had its last, and what it promises.
type Ages struct {
	from                 client.Reader
	lastSuccess, promise *prometheus.Desc
}

// NewAges returns a collector of metrics of the Backends and backups in a cache.
func NewAges(from client.Reader) *Ages {
	names := []string{census.NamespaceLabel, "backend"}
	return &Ages{
		from: from,
		lastSuccess: prometheus.NewDesc("acclaim_operator_backup_last_success_timestamp_seconds",
			"Unix time of the last backup of a Backend with backupMaxAgeHours or, until there is one, at which its ScheduledBackup or else it was created.", names, nil),
		promise: prometheus.NewDesc("acclaim_operator_backup_max_age_seconds",
			"Age that the last backup of a Backend must not exceed: its backupMaxAgeHours.", names, nil),
	}
}

// Describe implements [prometheus.Collector].
func (a *Ages) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- a.lastSuccess
	descriptions <- a.promise
}

// Collect implements [prometheus.Collector]. A cache that is not filled yet gives no metric.
func (a *Ages) Collect(collected chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), census.ListTimeout)
	defer cancel()
	var backends v1alpha1.BackendList
	if err := a.from.List(ctx, &backends, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	last, err := a.findLast(ctx)
	if err != nil {
		return
	}
	for i := range backends.Items {
		b := &backends.Items[i]
		if b.Spec.BackupMaxAgeHours == nil {
			continue
		}
		at := &b.CreationTimestamp
		if found := last[client.ObjectKeyFromObject(b)]; found != nil {
			at = found
		}
		collected <- prometheus.MustNewConstMetric(a.lastSuccess, prometheus.GaugeValue, float64(at.Unix()), b.Namespace, b.Name)
		collected <- prometheus.MustNewConstMetric(a.promise, prometheus.GaugeValue, float64(*b.Spec.BackupMaxAgeHours)*3600, b.Namespace, b.Name)
	}
}

// findLast returns the times of the last backups by Backend. A schedule that has made none
// yet counts from its creation: a promise is not broken by declaring it.
func (a *Ages) findLast(ctx context.Context) (map[client.ObjectKey]*metav1.Time, error) {
	var single v1alpha1.BackupList
	if err := a.from.List(ctx, &single, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var scheduled v1alpha1.ScheduledBackupList
	if err := a.from.List(ctx, &scheduled, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	last := map[client.ObjectKey]*metav1.Time{}
	add := func(namespace string, ref v1alpha1.ObjectReference, at *metav1.Time) {
		key := client.ObjectKey{Namespace: namespace, Name: ref.Name}
		last[key] = latest(last[key], at)
	}
	for i := range single.Items {
		if b := &single.Items[i]; b.Status.Phase == v1alpha1.BackupCompleted {
			add(b.Namespace, b.Spec.BackendRef, b.Status.StoppedAt)
		}
	}
	for i := range scheduled.Items {
		switch s := &scheduled.Items[i]; {
		case s.Status.LastBackup != nil:
			add(s.Namespace, s.Spec.BackendRef, s.Status.LastBackup)
		case s.Spec.Where != nil && !s.Spec.Suspend:
			add(s.Namespace, s.Spec.BackendRef, &s.CreationTimestamp)
		}
	}
	return last, nil
}
