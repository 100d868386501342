// Package extension writes the registry of a namespace's Extensions for the
// services of every Backend in it, asks their pods whether it has reached them, and
// reports the result to each Extension.
//
// The Extensions of a namespace are reconciled together, because whether one may
// be in a registry depends on the others. Package registry decides that; this
// package reads, writes and reports. A deleted Extension keeps its finalizer, and
// its entry, while Polls of it still have to be deleted from the services.
package extension

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/holder"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
	"github.com/acclaim-dev/acclaim/operator/internal/secrets"
)

// Reconciler writes what the Extensions of one namespace declare.
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
	// Instance tells the operator's Extensions and Backends from those of others.
	Instance *holder.Instance
	// Pods asks pods whether they accept the keys; nil: none are asked.
	Pods *PodAsker
}

// namespaceState is the state of a namespace that a reconciliation depends on.
type namespaceState struct {
	extensions []v1alpha1.Extension
	backends   []v1alpha1.Backend
	secrets    registry.SecretContents
	holds      map[string]pollHold  // by the name of an Extension
	paused     map[v1alpha1.ID]bool // the client ids of Extensions that are paused
}

// Reconcile writes the registries of the request's namespace and reports to
// every Extension in it. The name in the request is not used.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	state, err := r.gather(ctx, request.Namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	finalizerErr := r.updateFinalizers(ctx, &state)
	r.setPausedAside(&state)
	rendering := registry.Render(state.extensions, state.secrets)
	published, refused, err := r.publish(ctx, state, rendering.Files)
	if err := errors.Join(finalizerErr, err); err != nil {
		return ctrl.Result{}, err // another try may succeed: do not report it yet
	}
	unconfirmed, err := r.confirm(ctx, state, rendering)
	if err != nil {
		return ctrl.Result{}, err
	}
	reportErr := r.report(ctx, state, rendering.Findings, published, unconfirmed)
	if err := errors.Join(refused, reportErr); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: r.untilNext(state, rendering.Findings, unconfirmed)}, nil
}

// gather reads a namespace. An error leaves the registries as they are: without
// the Extensions that could not be read they would break working ones.
func (r *Reconciler) gather(ctx context.Context, namespace string) (namespaceState, error) {
	var extensions v1alpha1.ExtensionList
	if err := r.Client.List(ctx, &extensions, client.InNamespace(namespace)); err != nil {
		return namespaceState{}, err
	}
	var backends v1alpha1.BackendList
	if err := r.Client.List(ctx, &backends, client.InNamespace(namespace)); err != nil {
		return namespaceState{}, err
	}
	var names []string
	for i := range extensions.Items {
		names = append(names, registry.SecretNames(&extensions.Items[i])...)
	}
	contents, err := secrets.ReadAll(ctx, r.Client, namespace, names, isUnreadable)
	if err != nil {
		return namespaceState{}, err
	}
	s := namespaceState{extensions: extensions.Items, backends: backends.Items, secrets: contents}
	s.holds, err = r.findHolds(ctx, s)
	return s, err
}

// isUnreadable reports whether a Secret cannot be read for a reason that concerns
// its own Extensions alone.
func isUnreadable(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) }

// untilNext returns the time until the first key of some Extension becomes active,
// until keys that are going are kept no longer, or until pods are asked again; 0 without
// any of these.
func (r *Reconciler) untilNext(s namespaceState, findings map[string]*registry.Finding, unconfirmed []*confirmation) time.Duration {
	wait := r.untilAsked(unconfirmed)
	consider := func(at time.Time) {
		if until := at.Sub(r.Now()); until > 0 && (wait == 0 || until < wait) {
			wait = until
		}
	}
	for _, finding := range findings {
		for _, at := range finding.ActiveFrom {
			consider(at)
		}
	}
	for _, hold := range s.holds {
		consider(hold.until)
	}
	return wait
}
