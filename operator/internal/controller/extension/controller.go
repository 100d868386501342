// Package extension gives the services of every Backend the registry of the
// Extensions in its namespace, and tells each Extension how it fared.
//
// The Extensions of a namespace are reconciled together, because whether one may
// be in a registry depends on the others. Package registry decides that; this
// one reads, writes and reports. Extensions have no finalizer: the registry is
// written anew when one is gone, and goes with its Backend.
package extension

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
)

// Reconciler brings about what the Extensions of one namespace declare.
type Reconciler struct {
	// Client reads and writes resources.
	Client client.Client
	// Recorder takes Events.
	Recorder events.EventRecorder
	// Now tells the time.
	Now func() time.Time

	memory memory
}

// namespace is what there is in a namespace.
type namespace struct {
	extensions []v1alpha1.Extension
	backends   []v1alpha1.Backend
	secrets    registry.Secrets
}

// Reconcile makes the registries of the request's namespace true and reports to
// every Extension in it. The request's name is not used.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	n, err := r.load(ctx, request.Namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	registries := registry.New(n.extensions, n.secrets)
	served, refused, err := r.publish(ctx, n.backends, registries.Files)
	if err != nil {
		return ctrl.Result{}, err // trying again may get rid of it: there is nothing to report yet
	}
	reportErr := r.report(ctx, request.Namespace, n.extensions, registries.Findings, served)
	if err := errors.Join(refused, reportErr); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: r.next(registries.Findings)}, nil
}

// load reads a namespace. An error leaves the registries as they are: writing
// them without what could not be read would break those who are well.
func (r *Reconciler) load(ctx context.Context, name string) (namespace, error) {
	var extensions v1alpha1.ExtensionList
	if err := r.Client.List(ctx, &extensions, client.InNamespace(name)); err != nil {
		return namespace{}, err
	}
	var backends v1alpha1.BackendList
	if err := r.Client.List(ctx, &backends, client.InNamespace(name)); err != nil {
		return namespace{}, err
	}
	secrets, err := r.secrets(ctx, name, extensions.Items)
	return namespace{extensions: extensions.Items, backends: backends.Items, secrets: secrets}, err
}

// secrets reads the Secrets that Extensions name. One that is not there or may
// not be read is left out: that is the matter of its Extensions alone.
func (r *Reconciler) secrets(ctx context.Context, namespace string, extensions []v1alpha1.Extension) (registry.Secrets, error) {
	secrets, seen := registry.Secrets{}, map[string]bool{}
	for i := range extensions {
		for _, name := range secretsOf(&extensions[i]) {
			if seen[name] {
				continue
			}
			seen[name] = true
			var secret corev1.Secret
			err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &secret)
			switch {
			case err == nil:
				secrets[name] = secret.Data
			case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
				return nil, err
			}
		}
	}
	return secrets, nil
}

// next returns the time until the first key of some Extension becomes active, 0
// when there is none to wait for.
func (r *Reconciler) next(findings map[string]*registry.Finding) time.Duration {
	var wait time.Duration
	for _, finding := range findings {
		for _, at := range finding.ActiveFrom {
			if until := at.Sub(r.Now()); until > 0 && (wait == 0 || until < wait) {
				wait = until
			}
		}
	}
	return wait
}
