package backend

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/job"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// restoration holds the progress of the restore that a new Backend declares.
type restoration struct {
	// done: it is in the database, or none is declared. New pods wait for it.
	done bool
	// job is the Job to create, nil for none.
	job *batchv1.Job
	// awaited and problem tell what it waits for and what a person should know of; one of
	// them is set until it is done.
	awaited, problem *status.Problem
}

// readRestoration reads what became of the Job that restores. The condition outlives the
// Job: a database is restored into once.
func (r *Reconciler) readRestoration(ctx context.Context, s *clusterState) (restoration, error) {
	b := s.backend
	if b.Spec.RestoreFrom == nil || meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.Restored) {
		return restoration{done: true}, nil
	}
	begun := restoration{awaited: status.NewProblem(v1alpha1.Reconciling, v1alpha1.ReasonRestoring,
		"Job %s-%s has not ended; the services start afterwards", b.Name, desired.RestoreTask)}
	key := client.ObjectKey{Namespace: b.Namespace, Name: b.Name + "-" + desired.RestoreTask}
	var stored batchv1.Job
	err := r.Client.Get(ctx, key, &stored)
	if apierrors.IsNotFound(err) {
		err = r.APIReader.Get(ctx, key, &stored) // the cache is late, or it is another's
	}
	switch {
	case apierrors.IsNotFound(err):
		if s.hasDatabase {
			begun.job = desired.Job(b, key.Name, desired.Restore(b), desired.Owner("Backend", b))
		}
		return begun, nil
	case err != nil:
		return restoration{}, err
	case !metav1.IsControlledBy(&stored, b):
		taken := newNameTaken("Job", key.Name)
		taken.Retry = apierrors.NewAlreadyExists(batchv1.Resource("jobs"), key.Name) // nothing reports when it goes
		return restoration{problem: taken}, nil
	}
	outcome, err := job.Read(ctx, r.APIReader, &stored)
	switch {
	case err != nil:
		return restoration{}, err
	case outcome.Ended == nil:
		return begun, nil
	case outcome.Succeeded:
		return restoration{done: true}, nil
	case outcome.ExitCode == desired.ExitNotEmpty:
		return restoration{problem: newProblem(v1alpha1.ReasonNotEmpty, "Nothing was restored, and no service starts: %s", outcome.Message)}, nil
	}
	return restoration{problem: newProblem(v1alpha1.ReasonRestoreFailed, "Job %s failed, and no service starts: %s", key.Name, outcome.Message)}, nil
}

// describe returns the condition of a Backend that declares a backup to restore.
func (r restoration) describe() metav1.Condition {
	why := status.FirstProblem(r.problem, r.awaited)
	return status.NewCondition(v1alpha1.Restored, v1alpha1.ReasonRestoreCompleted, why)
}

// createJob creates the Job that restores, if it is to be.
func (r *Reconciler) createJob(ctx context.Context, j *batchv1.Job) (*status.Problem, error) {
	if j == nil {
		return nil, nil
	}
	err := r.Client.Create(ctx, j)
	if !status.IsRefusal(err) {
		return nil, err
	}
	refusal := newProblem(v1alpha1.ReasonObjectRefused, "Job %s: %v", j.Name, err)
	refusal.Retry = err
	return refusal, nil
}
