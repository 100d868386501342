// Package backend rolls out the services that Backend resources declare: it applies
// the objects of package desired, rolls the services out one after the other and
// reports in conditions what keeps them from being ready.
//
//	gather (all reads) ─▶ decide (pure) ─▶ execute (all writes) ─▶ report
//
// It may not know what the services do. A deleted Backend keeps its finalizer, and so its
// objects, while Polls that are deleted with it still have to be deleted from its services.
package backend

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/holder"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
)

// Reconciler rolls out what one Backend declares.
type Reconciler struct {
	// Client reads and writes resources. Its cache may hold only objects with the
	// operator's label; see CacheOptions.
	Client client.Client
	// APIReader reads uncached, for objects that the filtered cache does not hold.
	APIReader client.Reader
	// Recorder writes Events.
	Recorder events.EventRecorder
	// Now returns the time.
	Now func() time.Time
	// GiveUpAfter limits how long the services of a deleted Backend are kept for Polls.
	GiveUpAfter time.Duration
	// Watched are the namespaces that the operator watches; none means all. The Client has
	// Polls, Extensions and Backends of all namespaces.
	Watched []string
	// Resolver finds out whether the hosts of a database exist; nil: they are not looked up.
	Resolver Resolver
	// Labels permits reading the labels of namespaces although Watched limits the operator.
	Labels bool
	// SecretsByName is set where it may only get Secrets that its role names, and watches none.
	SecretsByName bool
	// Instance tells the operator's Backends from those of others.
	Instance *holder.Instance
}

// Reconcile takes one Backend as far as is possible now, and reports on it.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var b v1alpha1.Backend
	if err := r.Client.Get(ctx, request.NamespacedName, &b); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !sharing.Sees(r.Watched, b.Namespace) {
		return r.leave(ctx, &b)
	}
	if held, err := r.Instance.Claim(ctx, r.Client, r.Recorder, &b, v1alpha1.BackendFinalizer); !held || err != nil {
		return ctrl.Result{}, err
	}
	if !b.DeletionTimestamp.IsZero() {
		return r.finalize(ctx, &b)
	}
	if r.Instance.IsPaused(r.Recorder, &b) {
		return ctrl.Result{}, nil
	}
	return r.rollOut(ctx, &b)
}

// rollOut takes a Backend that the operator holds as far as is possible now, and reports on it.
func (r *Reconciler) rollOut(ctx context.Context, b *v1alpha1.Backend) (ctrl.Result, error) {
	state, err := r.gather(ctx, b)
	if err != nil {
		return ctrl.Result{}, err
	}
	p, err := decide(state)
	if err != nil {
		return ctrl.Result{}, err
	}
	refusal, err := r.execute(ctx, state, p)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.report(ctx, b, p, refusal); err != nil {
		return ctrl.Result{}, err
	}
	if err := errors.Join(p.problem.RetryError(), refusal.RetryError()); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: r.untilNext(b, state)}, nil
}

// untilNext returns the time until the operator looks again, or until a pod is due before that.
func (r *Reconciler) untilNext(b *v1alpha1.Backend, state *clusterState) time.Duration {
	next := max(r.untilLook(b), time.Second)
	if due := untilPodsDue(state); due > 0 {
		next = min(next, due)
	}
	return next
}
