// Package backups carries out what Backups and ScheduledBackups declare: it makes Jobs and
// CronJobs of package desired, which run the program's commands, and reports what became of
// them.
//
// It may not know what a backup holds, and removes none: what is kept is the program's
// affair.
package backups

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/holder"
	"github.com/acclaim-dev/acclaim/operator/internal/job"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// Access holds the clients of both reconcilers.
type Access struct {
	// Client reads and writes resources. Its cache may hold only Jobs and CronJobs with the
	// operator's label; see CacheOptions.
	Client client.Client
	// APIReader reads uncached, for objects that the filtered cache does not hold.
	APIReader client.Reader
	// Recorder writes Events.
	Recorder events.EventRecorder
	// Instance tells the operator's objects from those of others.
	Instance *holder.Instance
}

// claim reports whether the operator holds an object that is neither being deleted nor
// paused.
func (a Access) claim(ctx context.Context, o client.Object) (bool, error) {
	held, err := a.Instance.Claim(ctx, a.Client, a.Recorder, o, "")
	return err == nil && held && o.GetDeletionTimestamp().IsZero() && !a.Instance.IsPaused(a.Recorder, o), err
}

// findBackend returns the Backend of a name, and a problem without one.
func (a Access) findBackend(ctx context.Context, namespace, name string) (*v1alpha1.Backend, *status.Problem, error) {
	var b v1alpha1.Backend
	err := a.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &b)
	if apierrors.IsNotFound(err) {
		return nil, newProblem(v1alpha1.ReasonBackendNotFound, "Backend %q does not exist", name), nil
	}
	return &b, nil, err
}

func newProblem(reason, format string, args ...any) *status.Problem {
	return status.NewProblem(v1alpha1.Ready, reason, format, args...)
}

// newNameTaken returns the problem of a name that belongs to something else. The cache does
// not show when that goes.
func newNameTaken(kind, name string) *status.Problem {
	p := newProblem(v1alpha1.ReasonNameTaken, "%s %s exists and belongs to something else", kind, name)
	p.Retry = fmt.Errorf("%s", p.Message)
	return p
}

// newRefusal returns the problem of an object that the API server refuses, nil for other
// errors.
func newRefusal(kind, name string, err error) *status.Problem {
	if !status.IsRefusal(err) {
		return nil
	}
	p := newProblem(v1alpha1.ReasonObjectRefused, "%s %s: %v", kind, name, err)
	p.Retry = err
	return p
}

// Reconciler carries out one Backup.
type Reconciler struct{ Access }

// Reconcile takes one Backup as far as is possible now, and reports on it.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var b v1alpha1.Backup
	if err := r.Client.Get(ctx, request.NamespacedName, &b); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if isFinal(&b) {
		return ctrl.Result{}, nil
	}
	if mine, err := r.claim(ctx, &b); !mine || err != nil {
		return ctrl.Result{}, err
	}
	before := b.DeepCopy()
	problem, err := r.carryOut(ctx, &b)
	if err != nil {
		return ctrl.Result{}, err
	}
	b.Status.ObservedGeneration = b.Generation
	status.SetConditions(&b.Status.Conditions, b.Generation, status.NewCondition(v1alpha1.Ready, v1alpha1.ReasonBackupCompleted, problem))
	status.SetProgress(&b.Status.Conditions, b.Generation)
	if equality.Semantic.DeepEqual(before.Status, b.Status) {
		return ctrl.Result{}, problem.RetryError()
	}
	written, err := status.Patch(ctx, r.Client, before, &b)
	if written {
		status.RecordReady(r.Recorder, &b, before.Status.Conditions, b.Status.Conditions, "The backup is in "+b.Status.Destination)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, problem.RetryError()
}

// isFinal reports whether a Backup has ended: its Job is not made again when it is deleted.
func isFinal(b *v1alpha1.Backup) bool {
	return b.Status.Phase == v1alpha1.BackupCompleted || b.Status.Phase == v1alpha1.BackupFailed
}

// carryOut makes the Job of a Backup, or reads what became of it into the status. It
// returns why the Backup is not complete.
func (r *Reconciler) carryOut(ctx context.Context, b *v1alpha1.Backup) (*status.Problem, error) {
	b.Status.Phase = v1alpha1.BackupPending
	b.Status.Destination = desired.Destination(b.Spec.BackendRef.Name, b.Spec.Where)
	j, problem, err := r.ensureJob(ctx, b)
	if problem != nil || err != nil {
		return problem, err
	}
	outcome, err := job.Read(ctx, r.APIReader, j)
	if err != nil {
		return nil, err
	}
	b.Status.StartedAt, b.Status.StoppedAt = j.Status.StartTime, outcome.Ended
	switch {
	case outcome.Ended == nil:
		b.Status.Phase = v1alpha1.BackupRunning
		return newProblem(v1alpha1.ReasonBackupRunning, "Job %s has not ended", j.Name), nil
	case !outcome.Succeeded:
		b.Status.Phase, b.Status.Error = v1alpha1.BackupFailed, outcome.Message
		return newProblem(v1alpha1.ReasonBackupFailed, "Job %s failed: %s", j.Name, outcome.Message), nil
	}
	b.Status.Phase = v1alpha1.BackupCompleted
	return nil, nil
}

// ensureJob returns the Job of a Backup, and makes one where there is none: also where one was
// deleted before it had ended, since half of a backup does not count.
func (r *Reconciler) ensureJob(ctx context.Context, b *v1alpha1.Backup) (*batchv1.Job, *status.Problem, error) {
	var stored batchv1.Job
	key := client.ObjectKey{Namespace: b.Namespace, Name: b.Name + "-" + desired.BackupTask}
	err := r.Client.Get(ctx, key, &stored)
	if apierrors.IsNotFound(err) {
		backend, problem, err := r.findBackend(ctx, b.Namespace, b.Spec.BackendRef.Name)
		if problem != nil || err != nil {
			return nil, problem, err
		}
		made := desired.Job(backend, key.Name, desired.Backup(backend, b.Spec.Where, b.Spec.Pod, 0), desired.Owner("Backup", b))
		err = r.Client.Create(ctx, made)
		if !apierrors.IsAlreadyExists(err) {
			return made, newRefusal("Job", key.Name, err), ignoreRefusal(err)
		}
		err = r.APIReader.Get(ctx, key, &stored) // the cache is late, or it is another's
		if err != nil {
			return nil, nil, err
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if !metav1.IsControlledBy(&stored, b) {
		return nil, newNameTaken("Job", key.Name), nil
	}
	return &stored, nil, nil
}

// ignoreRefusal returns nil for an error that is reported in a condition.
func ignoreRefusal(err error) error {
	if status.IsRefusal(err) {
		return nil
	}
	return err
}

// latest returns the later of two times, nil where there is none.
func latest(a, b *metav1.Time) *metav1.Time {
	if a == nil || b != nil && a.Before(b) {
		return b
	}
	return a
}
