// Package uninstall removes the operator of a Helm release from a cluster, so that
// nothing is left that waits for it. Helm itself would delete the operator before
// the Polls, Extensions and Backends, whose finalizers only the operator removes.
//
// It may not talk to the services: the operator deletes polls, and runs until that
// is done.
package uninstall

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// Uninstaller removes one operator.
type Uninstaller struct {
	Client client.Client
	Log    logr.Logger
	// Namespace and Release are those of the Helm release.
	Namespace, Release string
	// Lease is the name of the lease of leader election.
	Lease string
	// Timeout limits each step: the deletion of the release's Polls, the end of the
	// operator, the removal of finalizers.
	Timeout time.Duration
	// Interval is the time between two tries.
	Interval time.Duration
}

// Run deletes the release's own Polls and waits until they are gone, stops the
// operator, and then removes its finalizers and its name from all other objects that
// it holds. These stay, and so do votes. A Poll that is not deleted in time loses its
// finalizer as well. What another operator holds is not touched. Run fails before
// anything where an object of the release is protected.
func (u *Uninstaller) Run(ctx context.Context) error {
	if err := u.checkProtection(ctx); err != nil {
		return err
	}
	if err := u.deletePolls(ctx); err != nil {
		return err
	}
	if err := u.stopOperator(ctx); err != nil {
		return err
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: u.Namespace, Name: u.Lease}}
	if err := u.Client.Delete(ctx, lease); client.IgnoreNotFound(err) != nil {
		return err
	}
	return u.removeFinalizers(ctx)
}

// ofRelease selects the objects that the release created.
func (u *Uninstaller) ofRelease() []client.ListOption {
	return []client.ListOption{client.InNamespace(u.Namespace), client.MatchingLabels{
		"app.kubernetes.io/instance":   u.Release,
		"app.kubernetes.io/managed-by": "Helm",
	}}
}

// checkProtection returns an error where the API server would refuse to delete an object of
// the release: Helm would find out when the operator is gone.
func (u *Uninstaller) checkProtection(ctx context.Context) error {
	for kind, list := range map[string]client.ObjectList{
		"Backend": &v1alpha1.BackendList{}, "Extension": &v1alpha1.ExtensionList{}, "Poll": &v1alpha1.PollList{},
	} {
		if err := u.Client.List(ctx, list, u.ofRelease()...); err != nil {
			return err
		}
		err := meta.EachListItem(list, func(o runtime.Object) error {
			object := o.(client.Object)
			if object.GetAnnotations()[v1alpha1.ProtectedAnnotation] != "true" {
				return nil
			}
			return fmt.Errorf("%s %s is protected: remove its annotation %s first", kind, object.GetName(), v1alpha1.ProtectedAnnotation)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (u *Uninstaller) deletePolls(ctx context.Context) error {
	mine := u.ofRelease()
	var polls v1alpha1.PollList
	if err := u.Client.List(ctx, &polls, mine...); err != nil {
		return err
	}
	for i := range polls.Items {
		if err := u.Client.Delete(ctx, &polls.Items[i]); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	err := u.repeatUntilDone(ctx, func() error {
		if err := u.Client.List(ctx, &polls, mine...); err != nil {
			return err
		}
		if n := len(polls.Items); n > 0 {
			return fmt.Errorf("%w: %d Polls still exist", errNotYet, n)
		}
		return nil
	})
	if errors.Is(err, errNotYet) {
		u.Log.Info("some Polls were not deleted in time; their votes stay in the database", "error", err.Error())
		return nil
	}
	return err
}

func (u *Uninstaller) stopOperator(ctx context.Context) error {
	mine := []client.ListOption{client.InNamespace(u.Namespace), client.MatchingLabels{
		"app.kubernetes.io/instance":  u.Release,
		"app.kubernetes.io/component": "operator",
	}}
	return u.repeatUntilDone(ctx, func() error {
		var deployments appsv1.DeploymentList
		if err := u.Client.List(ctx, &deployments, mine...); err != nil {
			return err
		}
		var running int32
		for i := range deployments.Items {
			d := &deployments.Items[i]
			before := d.DeepCopy()
			d.Spec.Replicas = new(int32)
			if err := u.Client.Patch(ctx, d, client.MergeFrom(before)); err != nil {
				return err
			}
			running += d.Status.Replicas
		}
		if running > 0 {
			return fmt.Errorf("%w: %d operators still run", errNotYet, running)
		}
		return nil
	})
}

// removeFinalizers looks in all namespaces, also in those that the operator does not watch any
// more. It repeats until it finds none: an operator that is ending may add its finalizers once
// more.
func (u *Uninstaller) removeFinalizers(ctx context.Context) error {
	return u.repeatUntilDone(ctx, func() error {
		held, err := u.listHeld(ctx)
		if err != nil {
			return err
		}
		for _, o := range held {
			if err := u.free(ctx, o); err != nil {
				return err
			}
		}
		if n := len(held); n > 0 {
			return fmt.Errorf("%w: %d objects had the name of the operator", errNotYet, n)
		}
		return nil
	})
}

// listHeld returns the objects that have the operator's name.
func (u *Uninstaller) listHeld(ctx context.Context) ([]client.Object, error) {
	var held []client.Object
	for _, list := range []client.ObjectList{&v1alpha1.PollList{}, &v1alpha1.ExtensionList{}, &v1alpha1.BackendList{}} {
		if err := u.Client.List(ctx, list); err != nil {
			return nil, err
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			if o := item.(client.Object); o.GetAnnotations()[v1alpha1.OperatorAnnotation] == u.Namespace+"/"+u.Release {
				held = append(held, o)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return held, nil
}

// free removes the operator's finalizers and its name from an object. From then on
// its condition Ready is unknown.
func (u *Uninstaller) free(ctx context.Context, o client.Object) error {
	before := o.DeepCopyObject().(client.Object)
	conditions := v1alpha1.ConditionsOf(o)
	meta.RemoveStatusCondition(conditions, v1alpha1.Reconciling)
	meta.RemoveStatusCondition(conditions, v1alpha1.Stalled)
	status.SetConditions(conditions, o.GetGeneration(), metav1.Condition{
		Type: v1alpha1.Ready, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonOperatorRemoved,
		Message: "The operator " + u.Namespace + "/" + u.Release + " was uninstalled",
	})
	if err := u.Client.Status().Patch(ctx, o, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(err)
	}
	before = o.DeepCopyObject().(client.Object)
	for _, finalizer := range []string{v1alpha1.PollFinalizer, v1alpha1.ExtensionFinalizer} {
		controllerutil.RemoveFinalizer(o, finalizer)
	}
	annotations := o.GetAnnotations()
	delete(annotations, v1alpha1.OperatorAnnotation)
	o.SetAnnotations(annotations)
	return client.IgnoreNotFound(u.Client.Patch(ctx, o, client.MergeFrom(before)))
}

// errNotYet makes repeatUntilDone repeat a step.
var errNotYet = errors.New("not yet")

// repeatUntilDone repeats a step while it returns errNotYet. Other errors end it.
func (u *Uninstaller) repeatUntilDone(ctx context.Context, step func() error) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := step()
		if err != nil && !errors.Is(err, errNotYet) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(backoff.NewConstantBackOff(u.Interval)), backoff.WithMaxElapsedTime(u.Timeout))
	return err
}
