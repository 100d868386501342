// Package backend makes what Backend resources declare run: it applies the
// objects of package desired, rolls services out one after the other and says in
// conditions what keeps them from being ready.
//
//	gather (all reads) ─▶ decide (pure) ─▶ carry out (all writes) ─▶ report
//
// It may not know what the services do.
package backend

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// Reconciler brings about what one Backend declares.
type Reconciler struct {
	// Client reads and writes resources. It may read from a cache that holds only
	// objects with the operator's label; see Cached.
	Client client.Client
	// Live says whose a name is of which the cache knows nothing.
	Live client.Reader
	// Recorder takes Events.
	Recorder events.EventRecorder
	// Now tells the time.
	Now func() time.Time
}

// Reconcile makes one Backend true, as far as it can be at once, and reports on it.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var b v1alpha1.Backend
	if err := r.Client.Get(ctx, request.NamespacedName, &b); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !b.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil // its objects have it as their owner and go with it
	}
	w, err := r.gather(ctx, &b)
	if err != nil {
		return ctrl.Result{}, err
	}
	p, err := decide(w)
	if err != nil {
		return ctrl.Result{}, err
	}
	refusal, err := r.carryOut(ctx, w, p)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.report(ctx, &b, p, refusal); err != nil {
		return ctrl.Result{}, err
	}
	if err := errors.Join(p.trouble.retry(), refusal.retry()); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: patient(w)}, nil
}
