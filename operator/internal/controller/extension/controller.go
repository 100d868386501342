// Package extension writes the registries of a namespace's Backends, asks pods whether
// they have read them, and reports the result to each Extension of the namespace.
//
// The Extensions of a Backend are looked at together, because whether one may be in a
// registry depends on the others. Package registry decides that; this package reads,
// writes and reports. Where a Backend has Extensions of other namespaces, the
// reconciliation of its namespace writes the registry and that of theirs reads there
// whether they are in it, so that every object has one writer. A deleted Extension keeps its finalizer, and
// its entry, while Polls of it still have to be deleted from the services.
package extension

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/operator/internal/holder"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
)

// Reconciler writes what the Extensions and Backends of one namespace declare.
type Reconciler struct {
	// Client reads and writes resources.
	Client client.Client
	// Recorder writes Events.
	Recorder events.EventRecorder
	// Now returns the time.
	Now func() time.Time
	// GiveUpAfter limits how long keys that are going are kept for Polls that are not
	// being deleted.
	GiveUpAfter time.Duration
	// Watched are the namespaces that the operator watches; none means all. The Client has
	// Polls, Extensions and Backends of all namespaces.
	Watched []string
	// Labels permits reading the labels of namespaces although Watched limits the operator.
	Labels bool
	// SecretsByName is set where it may only get Secrets that its role names, and watches none.
	SecretsByName bool
	// Instance tells the operator's Extensions and Backends from those of others.
	Instance *holder.Instance
	// Renderer renders registries.
	Renderer *Renderer
	// Pods asks pods whether they accept the keys; nil: none are asked.
	Pods *PodAsker
}

// Reconcile writes the registries of the request's namespace and reports to
// every Extension in it. The name in the request is not used.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if !sharing.Sees(r.Watched, request.Namespace) {
		return r.leave(ctx, request.Namespace)
	}
	state, err := r.gather(ctx, request.Namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	finalizerErr := r.updateFinalizers(ctx, &state)
	r.setPausedAside(&state)
	r.Renderer.renderAll(&state)
	published, refused, err := r.publish(ctx, state)
	if err := errors.Join(finalizerErr, err); err != nil {
		return ctrl.Result{}, err // another try may succeed: do not report it yet
	}
	unconfirmed, err := r.confirm(ctx, state)
	if err != nil {
		return ctrl.Result{}, err
	}
	reportErr := r.report(ctx, state, published, unconfirmed)
	if err := errors.Join(refused, reportErr); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: r.untilNext(state, unconfirmed)}, nil
}

// untilNext returns the time until the first key of some Extension becomes active,
// until keys that are going are kept no longer, or until pods are asked again; 0 without
// any of these.
func (r *Reconciler) untilNext(s namespaceState, unconfirmed []*confirmation) time.Duration {
	wait := r.untilAsked(unconfirmed)
	consider := func(at time.Time) {
		if until := at.Sub(r.Now()); until > 0 && (wait == 0 || until < wait) {
			wait = until
		}
	}
	for i := range s.extensions {
		for _, at := range s.findingOf(&s.extensions[i]).ActiveFrom {
			consider(at)
		}
	}
	for _, hold := range s.holds {
		consider(hold.until)
	}
	return wait
}
