// Package task reports what became of the CronJobs that back a Backend's database up,
// verify it, and restore its backups in drills, so that an alert needs no other program that
// exports the state of CronJobs. It makes none: those of ScheduledBackups are made by package
// backups, others by people.
package task

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/operator/internal/census"
)

// The labels by which the CronJobs are found.
const (
	nameLabel = "app.kubernetes.io/name"
	name      = "acclaim"
	// taskLabel has what the CronJob does.
	taskLabel = "app.kubernetes.io/component"
)

// +kubebuilder:rbac:groups=batch,resources=cronjobs,verbs=list;watch

// CacheOptions limits a manager's cache to the CronJobs that are reported.
func CacheOptions() (client.Object, cache.ByObject) {
	isAcclaim, _ := labels.NewRequirement(nameLabel, selection.Equals, []string{name})                 // valid
	isTask, _ := labels.NewRequirement(taskLabel, selection.In, []string{"backup", "verify", "drill"}) // valid
	return &batchv1.CronJob{}, cache.ByObject{Label: labels.NewSelector().Add(*isAcclaim, *isTask)}
}

// Report collects metrics of the CronJobs in a cache.
type Report struct {
	from                client.Reader
	failed, lastSuccess *prometheus.Desc
}

// NewReport returns a collector of metrics of the CronJobs in a cache.
func NewReport(from client.Reader) *Report {
	names := []string{census.NamespaceLabel, "cronjob", "task"}
	return &Report{
		from: from,
		failed: prometheus.NewDesc("acclaim_operator_task_failed",
			"1 while no Job of a CronJob runs and the last one that was due has not succeeded, else 0.", names, nil),
		lastSuccess: prometheus.NewDesc("acclaim_operator_task_last_success_timestamp_seconds",
			"Unix time at which a Job of a CronJob last succeeded or, until the first does, at which the CronJob was created.", names, nil),
	}
}

// Describe implements [prometheus.Collector].
func (r *Report) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- r.failed
	descriptions <- r.lastSuccess
}

// Collect implements [prometheus.Collector]. A cache that is not filled yet gives no metric.
func (r *Report) Collect(collected chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), census.ListTimeout)
	defer cancel()
	var jobs batchv1.CronJobList
	if err := r.from.List(ctx, &jobs, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	for i := range jobs.Items {
		j := &jobs.Items[i]
		names := []string{j.Namespace, j.Namespace + "/" + j.Name, j.Labels[taskLabel]}
		failed := 0.0
		if HasFailed(&j.Status) {
			failed = 1
		}
		collected <- prometheus.MustNewConstMetric(r.failed, prometheus.GaugeValue, failed, names...)
		collected <- prometheus.MustNewConstMetric(r.lastSuccess, prometheus.GaugeValue, float64(lastSuccess(j).Unix()), names...)
	}
}

// HasFailed reports whether the last Job that was due has ended without success. Kubernetes
// changes the list of active Jobs and both times together.
func HasFailed(s *batchv1.CronJobStatus) bool {
	return len(s.Active) == 0 && s.LastScheduleTime != nil && (s.LastSuccessfulTime == nil || s.LastSuccessfulTime.Before(s.LastScheduleTime))
}

func lastSuccess(j *batchv1.CronJob) metav1.Time {
	if t := j.Status.LastSuccessfulTime; t != nil {
		return *t
	}
	return j.CreationTimestamp
}
