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
	// Watched are the namespaces that the operator watches; none means all.
	Watched []string
	// Instance tells the operator's Backends from those of others.
	Instance *holder.Instance
}

// Reconcile takes one Backend as far as is possible now, and reports on it.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var b v1alpha1.Backend
	if err := r.Client.Get(ctx, request.NamespacedName, &b); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
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
	state, err := r.gather(ctx, &b)
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
	if err := r.report(ctx, &b, p, refusal); err != nil {
		return ctrl.Result{}, err
	}
	if err := errors.Join(p.problem.RetryError(), refusal.RetryError()); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: untilReadinessDue(state)}, nil
}
