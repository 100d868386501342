package poll

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// remove takes the poll out of the service and lets the object go. It waits for
// a service that may still answer, but not for ever, and not at all when nothing
// is left that could confirm.
func (r *Reconciler) remove(ctx context.Context, p *v1alpha1.Poll) error {
	if !controllerutil.ContainsFinalizer(p, Finalizer) {
		return nil
	}
	problem, err := r.clean(ctx, p)
	if err != nil {
		return err
	}
	if problem != nil && problem.retry != nil && r.Now().Sub(p.DeletionTimestamp.Time) < r.GiveUpAfter {
		before := p.DeepCopy()
		setConditions(p, problem)
		return errors.Join(r.report(ctx, before, p), problem.retry)
	}
	if problem != nil && problem.reason != v1alpha1.ReasonConflict && p.Status.AppliedHash != "" {
		r.warn(p, "LeftBehind", "The configuration was left behind: "+problem.message)
	}
	return r.release(ctx, p)
}

// clean removes the poll from the service unless it is to stay.
func (r *Reconciler) clean(ctx context.Context, p *v1alpha1.Poll) (*problem, error) {
	if p.Spec.DeletionPolicy == v1alpha1.DeletionRetain {
		return nil, nil
	}
	t, problem, err := r.target(ctx, p)
	if problem != nil || err != nil {
		return problem, err
	}
	if err := t.service.Delete(ctx, t.poll); err != nil {
		return r.refused(t, err), nil
	}
	return nil, nil
}

// release lets the object go.
func (r *Reconciler) release(ctx context.Context, p *v1alpha1.Poll) error {
	before := p.DeepCopy()
	controllerutil.RemoveFinalizer(p, Finalizer)
	err := r.Client.Patch(ctx, p, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	return client.IgnoreNotFound(err)
}
