// Package watchdog takes back what an operator said before it went away: without it, Ready
// would stay true for as long as no operator runs.
//
// It runs beside the operators, not in them, since what ends one usually ends them all. It may
// not change anything but the condition Ready, which an operator that is back sets again.
package watchdog

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// Watchdog watches one operator.
type Watchdog struct {
	Client client.Client
	// Namespace and Release are those of the operator's Helm release.
	Namespace, Release string
	// Lease is the name of the lease of leader election.
	Lease string
	// Now returns the time.
	Now func() time.Time
	// MaxAge is the age of the lease from which on the operator counts as away.
	MaxAge time.Duration
}

// Run looks once. Where no operator has renewed the lease for longer than MaxAge, it makes
// Ready unknown on every object that the operator holds and said was ready, but for paused
// ones, which an operator that is back would leave so. It looks in all namespaces, as the
// operator may hold objects in those that it has left.
func (w *Watchdog) Run(ctx context.Context) error {
	renewed, err := w.readRenewal(ctx)
	if err != nil || w.Now().Sub(renewed) <= w.MaxAge {
		return err
	}
	var failed []error
	for _, list := range []client.ObjectList{&v1alpha1.BackendList{}, &v1alpha1.ExtensionList{}, &v1alpha1.PollList{}} {
		failed = append(failed, w.takeBack(ctx, list, renewed))
	}
	return errors.Join(failed...)
}

// readRenewal returns when the lease was last renewed, zero without one.
func (w *Watchdog) readRenewal(ctx context.Context) (time.Time, error) {
	var lease coordinationv1.Lease
	err := w.Client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: w.Lease}, &lease)
	if client.IgnoreNotFound(err) != nil || lease.Spec.RenewTime == nil {
		return time.Time{}, client.IgnoreNotFound(err)
	}
	return lease.Spec.RenewTime.Time, nil
}

// takeBack makes Ready unknown on the objects of one kind.
func (w *Watchdog) takeBack(ctx context.Context, list client.ObjectList, renewed time.Time) error {
	if err := w.Client.List(ctx, list); err != nil {
		return err
	}
	message := "No operator " + w.Namespace + "/" + w.Release + " has a lease"
	if !renewed.IsZero() {
		message = fmt.Sprintf("The operator %s/%s was last there at %s", w.Namespace, w.Release, renewed.UTC().Format(time.RFC3339))
	}
	var failed []error
	_ = meta.EachListItem(list, func(item runtime.Object) error { // no item fails
		before := item.(client.Object)
		if !w.isConcerned(before) {
			return nil
		}
		after := before.DeepCopyObject().(client.Object)
		status.SetConditions(v1alpha1.ConditionsOf(after), before.GetGeneration(), metav1.Condition{
			Type: v1alpha1.Ready, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonOperatorAway, Message: message,
		})
		_, err := status.Patch(ctx, w.Client, before, after)
		if !apierrors.IsConflict(err) { // an operator is back
			failed = append(failed, err)
		}
		return nil
	})
	return errors.Join(failed...)
}

// isConcerned reports whether the operator holds an object, said that it was ready, and would
// say so again.
func (w *Watchdog) isConcerned(o client.Object) bool {
	annotations := o.GetAnnotations()
	return annotations[v1alpha1.OperatorAnnotation] == w.Namespace+"/"+w.Release &&
		annotations[v1alpha1.PausedAnnotation] != "true" &&
		meta.IsStatusConditionTrue(*v1alpha1.ConditionsOf(o), v1alpha1.Ready)
}
