package backend

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

const (
	// deletionGrace is the time after the deletion of a Backend in which its Polls may be
	// deleted, too, as by the same command.
	deletionGrace = 5 * time.Second
	// holdInterval is the time between two looks at the Polls that a Backend waits for. A
	// watch would look as often as one of thousands goes.
	holdInterval = time.Second
)

// finalize releases a Backend that is being deleted, unless it waits for Polls. The garbage
// collector deletes its objects once it is gone. Until then they stay as they are.
func (r *Reconciler) finalize(ctx context.Context, b *v1alpha1.Backend) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(b, v1alpha1.BackendFinalizer) {
		return ctrl.Result{}, nil
	}
	polls, err := r.findHold(ctx, b)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(polls) > 0 {
		return ctrl.Result{RequeueAfter: holdInterval}, r.reportWait(ctx, b, polls)
	}
	before := b.DeepCopy()
	controllerutil.RemoveFinalizer(b, v1alpha1.BackendFinalizer)
	err = r.Client.Patch(ctx, b, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// leave looks after a Backend that the operator held when it still watched the namespace. One
// that is being deleted is released. Another one reports that it is not watched.
func (r *Reconciler) leave(ctx context.Context, b *v1alpha1.Backend) (ctrl.Result, error) {
	if !r.Instance.Owns(b) {
		return ctrl.Result{}, nil
	}
	if !b.DeletionTimestamp.IsZero() {
		return r.finalize(ctx, b)
	}
	before := b.DeepCopy()
	status.SetNotWatched(&b.Status.Conditions, b.Generation, b.Namespace)
	if equality.Semantic.DeepEqual(before.Status, b.Status) {
		return ctrl.Result{}, nil
	}
	_, err := status.Patch(ctx, r.Client, before, b)
	return ctrl.Result{}, err
}

// findHold returns the names of the Polls that a deleted Backend waits for. It waits for none
// where that cannot help: where the garbage collector deletes its objects before it, where
// no pod is left to ask, as in a namespace that is being deleted, and where the operator does not
// watch the namespace.
func (r *Reconciler) findHold(ctx context.Context, b *v1alpha1.Backend) ([]string, error) {
	age := r.Now().Sub(b.DeletionTimestamp.Time)
	if age >= r.GiveUpAfter || !sharing.Sees(r.Watched, b.Namespace) || slices.Contains(b.Finalizers, metav1.FinalizerDeleteDependents) {
		return nil, nil
	}
	var s clusterState
	if err := r.listPods(ctx, &s, objectsOf(b)); err != nil || len(s.podsOf(desired.Voting)) == 0 {
		return nil, err
	}
	var all v1alpha1.PollList
	if err := r.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var names []string
	for i := range all.Items {
		p := &all.Items[i]
		going := !p.DeletionTimestamp.IsZero() || age < deletionGrace
		if going && isConfigured(p, b) {
			names = append(names, sharing.NameFrom(p, b.Namespace))
		}
	}
	slices.Sort(names)
	return names, nil
}

// isConfigured reports whether a Poll is in the services of a Backend and is to be deleted
// from them with the object.
func isConfigured(p *v1alpha1.Poll, b *v1alpha1.Backend) bool {
	return sharing.HolderOf(p) == client.ObjectKeyFromObject(b) &&
		p.Spec.DeletionPolicy != v1alpha1.DeletionRetain && controllerutil.ContainsFinalizer(p, v1alpha1.PollFinalizer)
}

// reportWait tells once what a deleted Backend waits for: the message stays the same while
// Polls go, since each change is a write.
func (r *Reconciler) reportWait(ctx context.Context, b *v1alpha1.Backend, polls []string) error {
	c := metav1.Condition{Type: v1alpha1.Ready, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonWaitingForPolls}
	if ready := meta.FindStatusCondition(b.Status.Conditions, c.Type); ready != nil && ready.Reason == c.Reason {
		return nil
	}
	c.Message = "Its services run on while Polls in them that are deleted, too, can be removed: " + status.NameSome(polls)
	before := b.DeepCopy()
	status.SetConditions(&b.Status.Conditions, b.Generation, c)
	status.SetProgress(&b.Status.Conditions, b.Generation)
	b.Status.ObservedGeneration = b.Generation
	written, err := status.Patch(ctx, r.Client, before, b)
	if written {
		status.RecordReady(r.Recorder, b, before.Status.Conditions, b.Status.Conditions, "")
	}
	return err
}
