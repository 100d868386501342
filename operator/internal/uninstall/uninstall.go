// Package uninstall takes the operator of a Helm release out of a cluster, so
// that nothing is left that waits for it. Helm itself would end the operator
// before the Polls that only the operator can let go of.
//
// It may not talk to the services: deleting a Poll is the operator's work, which
// runs until that is done.
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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/poll"
)

// Uninstaller takes one operator out.
type Uninstaller struct {
	Client client.Client
	Log    logr.Logger
	// Namespace and Release are those of the Helm release.
	Namespace, Release string
	// Lease names that of leader election.
	Lease string
	// Watched are the namespaces that the operator works in; none means all.
	Watched []string
	// Patience is how long each step waits: for the services to forget the release's
	// Polls, for the operator to end.
	Patience time.Duration
	// Interval is how often it looks.
	Interval time.Duration
}

// Run deletes the release's own Polls and waits until they are gone, stops the
// operator, and then frees all other Polls of its finalizer. These stay, and so
// do their votes. What cannot be deleted in time is freed as well.
func (u *Uninstaller) Run(ctx context.Context) error {
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
	return u.freePolls(ctx)
}

func (u *Uninstaller) deletePolls(ctx context.Context) error {
	mine := []client.ListOption{client.InNamespace(u.Namespace), client.MatchingLabels{
		"app.kubernetes.io/instance":   u.Release,
		"app.kubernetes.io/managed-by": "Helm",
	}}
	var polls v1alpha1.PollList
	if err := u.Client.List(ctx, &polls, mine...); err != nil {
		return err
	}
	for i := range polls.Items {
		if err := u.Client.Delete(ctx, &polls.Items[i]); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	err := u.eventually(ctx, func() error {
		if err := u.Client.List(ctx, &polls, mine...); err != nil {
			return err
		}
		if n := len(polls.Items); n > 0 {
			return fmt.Errorf("%w: %d Polls are not gone", errNotYet, n)
		}
		return nil
	})
	if errors.Is(err, errNotYet) {
		u.Log.Info("the services did not forget every Poll in time; the votes of those stay in the database", "error", err.Error())
		return nil
	}
	return err
}

func (u *Uninstaller) stopOperator(ctx context.Context) error {
	mine := []client.ListOption{client.InNamespace(u.Namespace), client.MatchingLabels{
		"app.kubernetes.io/instance":  u.Release,
		"app.kubernetes.io/component": "operator",
	}}
	return u.eventually(ctx, func() error {
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

// freePolls goes on until it finds nothing to do: an operator that is ending may
// hold a Poll once more.
func (u *Uninstaller) freePolls(ctx context.Context) error {
	namespaces := u.Watched
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	return u.eventually(ctx, func() error {
		freed := 0
		for _, namespace := range namespaces {
			var polls v1alpha1.PollList
			if err := u.Client.List(ctx, &polls, client.InNamespace(namespace)); err != nil {
				return err
			}
			for i := range polls.Items {
				p := &polls.Items[i]
				before := p.DeepCopy()
				if !controllerutil.RemoveFinalizer(p, poll.Finalizer) {
					continue
				}
				freed++
				if err := u.Client.Patch(ctx, p, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
					return err
				}
			}
		}
		if freed > 0 {
			return fmt.Errorf("%w: %d Polls were held", errNotYet, freed)
		}
		return nil
	})
}

// errNotYet says that there is something to wait for.
var errNotYet = errors.New("not yet")

// eventually repeats a step until it has nothing to wait for. Other errors end it.
func (u *Uninstaller) eventually(ctx context.Context, step func() error) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := step()
		if err != nil && !errors.Is(err, errNotYet) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(backoff.NewConstantBackOff(u.Interval)), backoff.WithMaxElapsedTime(u.Patience))
	return err
}
