package backups

import (
	"cmp"
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
	"github.com/acclaim-dev/acclaim/operator/internal/task"
)

// ScheduleReconciler carries out one ScheduledBackup.
type ScheduleReconciler struct{ Access }

// Reconcile makes the CronJobs of one ScheduledBackup what it declares, and reports on them.
func (r *ScheduleReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var s v1alpha1.ScheduledBackup
	if err := r.Client.Get(ctx, request.NamespacedName, &s); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if mine, err := r.claim(ctx, &s); !mine || err != nil {
		return ctrl.Result{}, err
	}
	before := s.DeepCopy()
	problem, err := r.carryOut(ctx, &s)
	if err != nil {
		return ctrl.Result{}, err
	}
	reason := v1alpha1.ReasonScheduled
	if s.Spec.Suspend {
		reason = v1alpha1.ReasonScheduleSuspended
	}
	s.Status.ObservedGeneration = s.Generation
	status.SetConditions(&s.Status.Conditions, s.Generation, status.NewCondition(v1alpha1.Ready, reason, problem))
	status.SetProgress(&s.Status.Conditions, s.Generation)
	if equality.Semantic.DeepEqual(before.Status, s.Status) {
		return ctrl.Result{}, problem.RetryError()
	}
	written, err := status.Patch(ctx, r.Client, before, &s)
	if written {
		status.RecordReady(r.Recorder, &s, before.Status.Conditions, s.Status.Conditions, "The schedules are as declared")
		status.RecordDegraded(r.Recorder, &s, before.Status.Conditions, s.Status.Conditions)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, problem.RetryError()
}

// carryOut applies the CronJobs, and reads what became of them into the status. CronJobs of
// a Backend that is gone stay as they are: so does its database, and with it what is due.
func (r *ScheduleReconciler) carryOut(ctx context.Context, s *v1alpha1.ScheduledBackup) (*status.Problem, error) {
	b, problem, err := r.findBackend(ctx, s.Namespace, s.Spec.BackendRef.Name)
	if problem != nil || err != nil {
		return problem, err
	}
	s.Status.Destination = ""
	if s.Spec.Where != nil {
		s.Status.Destination = desired.Destination(b.Name, *s.Spec.Where)
	}
	var refused, failed *status.Problem
	for _, p := range plan(b, s) {
		have, problem, err := r.ensureCronJob(ctx, s, p.name, p.want)
		if err != nil {
			return nil, err
		}
		// A CronJob that was made again has not run: what ran before still counts.
		*p.last = latest(*p.last, have.LastSuccessfulTime)
		refused = status.FirstProblem(refused, problem)
		failed = status.FirstProblem(failed, diagnose(have, p.reason, p.name))
	}
	status.SetConditions(&s.Status.Conditions, s.Generation, status.NewDegraded(failed))
	return refused, nil
}

// planned is a CronJob that a ScheduledBackup may declare.
type planned struct {
	name string
	// want is nil where it declares none.
	want *batchv1ac.CronJobApplyConfiguration
	// last holds when a Job last succeeded, reason that the last one failed.
	last   **metav1.Time
	reason string
}

// plan returns what becomes of the CronJobs of a ScheduledBackup.
func plan(b *v1alpha1.Backend, s *v1alpha1.ScheduledBackup) []planned {
	backup := planned{name: s.Name + "-" + desired.BackupTask, last: &s.Status.LastBackup, reason: v1alpha1.ReasonLastBackupFailed}
	verify := planned{name: s.Name + "-" + desired.VerifyTask, last: &s.Status.LastVerification, reason: v1alpha1.ReasonLastVerificationFailed}
	drill := planned{name: s.Name + "-" + desired.DrillTask, last: &s.Status.LastDrill, reason: v1alpha1.ReasonLastDrillFailed}
	cronJob := func(name string, t desired.Task, schedule, timeZone string) *batchv1ac.CronJobApplyConfiguration {
		return desired.CronJob(b, name, t, desired.Schedule{Cron: schedule, TimeZone: timeZone, Suspend: s.Spec.Suspend}, desired.Owner("ScheduledBackup", s))
	}
	if where := s.Spec.Where; where != nil {
		backup.want = cronJob(backup.name, desired.Backup(b, *where, s.Spec.Pod, s.Spec.Keep), s.Spec.Schedule, s.Spec.TimeZone)
		if d := s.Spec.Drill; d != nil {
			drill.want = cronJob(drill.name, desired.Drill(b, *where, s.Spec.Pod), d.Schedule, s.Spec.TimeZone)
		}
	}
	if v := s.Spec.Verify; v != nil {
		verify.want = cronJob(verify.name, desired.Verify(v.Pod), v.Schedule, cmp.Or(v.TimeZone, s.Spec.TimeZone))
	}
	return []planned{backup, verify, drill}
}

// diagnose finds a CronJob whose last Job has failed. The next one tries again, so that the
// ScheduledBackup stays ready.
func diagnose(s *batchv1.CronJobStatus, reason, name string) *status.Problem {
	if !task.HasFailed(s) {
		return nil
	}
	return status.NewProblem(v1alpha1.Degraded, reason, "The last Job of CronJob %s has failed; its log has the reason", name)
}

// ensureCronJob makes a CronJob what is wanted, or removes it where nothing is. It returns
// the status of the one that was there before.
func (r *ScheduleReconciler) ensureCronJob(ctx context.Context, s *v1alpha1.ScheduledBackup, name string, want *batchv1ac.CronJobApplyConfiguration) (*batchv1.CronJobStatus, *status.Problem, error) {
	var have batchv1.CronJob
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, &have)
	if client.IgnoreNotFound(err) != nil {
		return nil, nil, err
	}
	exists := err == nil
	if want == nil {
		return &batchv1.CronJobStatus{}, nil, r.removeCronJob(ctx, s, &have)
	}
	taken := exists && !metav1.IsControlledBy(&have, s)
	if !exists {
		taken, err = r.isTaken(ctx, s, name)
	}
	if taken || !exists && err != nil {
		return &batchv1.CronJobStatus{}, newNameTaken("CronJob", name), err
	}
	applied, err := batchv1ac.ExtractCronJob(&have, desired.Operator)
	if err != nil {
		return nil, nil, fmt.Errorf("read what was applied to CronJob %s: %w", name, err)
	}
	if exists && equality.Semantic.DeepEqual(want, applied) {
		return &have.Status, nil, nil
	}
	err = r.Client.Apply(ctx, want, client.FieldOwner(desired.Operator), client.ForceOwnership)
	return &have.Status, newRefusal("CronJob", name, err), ignoreRefusal(err)
}

// removeCronJob deletes a CronJob that is the ScheduledBackup's; it may be empty.
func (r *ScheduleReconciler) removeCronJob(ctx context.Context, s *v1alpha1.ScheduledBackup, have *batchv1.CronJob) error {
	if !metav1.IsControlledBy(have, s) || !have.DeletionTimestamp.IsZero() {
		return nil
	}
	err := r.Client.Delete(ctx, have, client.Preconditions{UID: &have.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	return client.IgnoreNotFound(err)
}

// isTaken reports whether a CronJob that the cache does not have exists, and is not the
// ScheduledBackup's.
func (r *ScheduleReconciler) isTaken(ctx context.Context, s *v1alpha1.ScheduledBackup, name string) (bool, error) {
	stored := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"}}
	err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, &stored)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return !metav1.IsControlledBy(&stored, s), err
}
