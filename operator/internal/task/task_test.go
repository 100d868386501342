package task_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/acclaim-dev/acclaim/operator/internal/task"
)

func newCronJob(name, component string, status batchv1.CronJobStatus) *batchv1.CronJob {
	return &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "live", Name: name, CreationTimestamp: at(100),
			Labels: map[string]string{"app.kubernetes.io/name": "acclaim", "app.kubernetes.io/component": component},
		},
		Status: status,
	}
}

func at(seconds int64) metav1.Time { return metav1.NewTime(time.Unix(seconds, 0)) }

func timeAt(seconds int64) *metav1.Time {
	t := at(seconds)
	return &t
}

func TestReport(t *testing.T) {
	running := []corev1.ObjectReference{{Name: "running"}}
	c := fake.NewClientBuilder().WithObjects(
		newCronJob("new", "backup", batchv1.CronJobStatus{}),
		newCronJob("succeeded", "backup", batchv1.CronJobStatus{LastScheduleTime: timeAt(200), LastSuccessfulTime: timeAt(203)}),
		newCronJob("runs", "verify", batchv1.CronJobStatus{LastScheduleTime: timeAt(300), LastSuccessfulTime: timeAt(203), Active: running}),
		newCronJob("failed", "verify", batchv1.CronJobStatus{LastScheduleTime: timeAt(300), LastSuccessfulTime: timeAt(203)}),
		newCronJob("never-succeeded", "backup", batchv1.CronJobStatus{LastScheduleTime: timeAt(300)}),
	).Build()
	want := `
		# HELP acclaim_operator_task_failed 1 while no Job of a CronJob runs and the last one that was due has not succeeded, else 0.
		# TYPE acclaim_operator_task_failed gauge
		acclaim_operator_task_failed{cronjob="live/failed",resource_namespace="live",task="verify"} 1
		acclaim_operator_task_failed{cronjob="live/never-succeeded",resource_namespace="live",task="backup"} 1
		acclaim_operator_task_failed{cronjob="live/new",resource_namespace="live",task="backup"} 0
		acclaim_operator_task_failed{cronjob="live/runs",resource_namespace="live",task="verify"} 0
		acclaim_operator_task_failed{cronjob="live/succeeded",resource_namespace="live",task="backup"} 0
		# HELP acclaim_operator_task_last_success_timestamp_seconds Unix time at which a Job of a CronJob last succeeded or, until the first does, at which the CronJob was created.
		# TYPE acclaim_operator_task_last_success_timestamp_seconds gauge
		acclaim_operator_task_last_success_timestamp_seconds{cronjob="live/failed",resource_namespace="live",task="verify"} 203
		acclaim_operator_task_last_success_timestamp_seconds{cronjob="live/never-succeeded",resource_namespace="live",task="backup"} 100
		acclaim_operator_task_last_success_timestamp_seconds{cronjob="live/new",resource_namespace="live",task="backup"} 100
		acclaim_operator_task_last_success_timestamp_seconds{cronjob="live/runs",resource_namespace="live",task="verify"} 203
		acclaim_operator_task_last_success_timestamp_seconds{cronjob="live/succeeded",resource_namespace="live",task="backup"} 203
	`
	if err := testutil.CollectAndCompare(task.NewReport(c), strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// The cache holds the CronJobs of backups, verification and drills, and no others.
func TestCacheOptions(t *testing.T) {
	_, options := task.CacheOptions()
	for component, want := range map[string]bool{"backup": true, "verify": true, "drill": true, "uninstall": false, "": false} {
		if got := options.Label.Matches(labels.Set(newCronJob("x", component, batchv1.CronJobStatus{}).Labels)); got != want {
			t.Errorf("a CronJob of the component %q is held: %v", component, got)
		}
	}
	other := newCronJob("x", "backup", batchv1.CronJobStatus{})
	other.Labels["app.kubernetes.io/name"] = "mongodb"
	if options.Label.Matches(labels.Set(other.Labels)) {
		t.Error("the backup of another program is held")
	}
}
