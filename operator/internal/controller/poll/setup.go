package poll

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/secrets"
)

// Each line below is something that the controller does:
//
// +kubebuilder:rbac:groups=acclaim.dev,resources=polls,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=acclaim.dev,resources=polls/status,verbs=patch
// +kubebuilder:rbac:groups=acclaim.dev,resources=extensions,verbs=get;list;watch
// +kubebuilder:rbac:groups=acclaim.dev,resources=backends,verbs=get;list;watch;create
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Setup lets a manager run the reconciler, with the given number of Polls at once.
func (r *Reconciler) Setup(ctx context.Context, manager ctrl.Manager, workers int) error {
	err := manager.GetFieldIndexer().IndexField(ctx, &v1alpha1.Poll{}, ExtensionField, func(o client.Object) []string {
		return []string{o.(*v1alpha1.Poll).Spec.ExtensionRef.Name}
	})
	if err != nil {
		return err
	}
	r.Client = secrets.New(r.Client, manager.GetAPIReader())
	specChanged := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	return ctrl.NewControllerManagedBy(manager).
		For(&v1alpha1.Poll{}, specChanged).
		Watches(&v1alpha1.Poll{}, handler.EnqueueRequestsFromMapFunc(r.rivals), builder.WithPredicates(onlyDeletions())).
		Watches(&v1alpha1.Extension{}, handler.EnqueueRequestsFromMapFunc(r.ofExtension), specChanged).
		Watches(&v1alpha1.Backend{}, handler.EnqueueRequestsFromMapFunc(r.inNamespace)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.ofSecret)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

// onlyDeletions lets pass that an object is gone.
func onlyDeletions() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// rivals returns the Polls that may take the place of one that is gone.
func (r *Reconciler) rivals(ctx context.Context, o client.Object) []reconcile.Request {
	gone := o.(*v1alpha1.Poll)
	return r.list(ctx, func(p *v1alpha1.Poll) bool { return samePoll(gone, p) },
		client.InNamespace(gone.Namespace), client.MatchingFields{ExtensionField: gone.Spec.ExtensionRef.Name})
}

func (r *Reconciler) ofExtension(ctx context.Context, o client.Object) []reconcile.Request {
	return r.list(ctx, all, client.InNamespace(o.GetNamespace()), client.MatchingFields{ExtensionField: o.GetName()})
}

func (r *Reconciler) inNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	return r.list(ctx, all, client.InNamespace(o.GetNamespace()))
}

// ofSecret returns the Polls of the Extensions that have a key in a Secret.
func (r *Reconciler) ofSecret(ctx context.Context, o client.Object) []reconcile.Request {
	var extensions v1alpha1.ExtensionList
	if err := r.Client.List(ctx, &extensions, client.InNamespace(o.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list Extensions")
		return nil
	}
	var requests []reconcile.Request
	for i := range extensions.Items {
		if e := &extensions.Items[i]; hasKeyIn(e, o.GetName()) {
			requests = append(requests, r.ofExtension(ctx, e)...)
		}
	}
	return requests
}

func hasKeyIn(e *v1alpha1.Extension, secret string) bool {
	keys := e.Spec.Keys
	if e.Spec.Sandbox != nil {
		keys = slices.Concat(keys, e.Spec.Sandbox.Keys)
	}
	return slices.ContainsFunc(keys, func(k v1alpha1.Key) bool { return k.SecretRef.Name == secret })
}

func all(*v1alpha1.Poll) bool { return true }

// list returns the Polls that match. A list from the cache does not fail in
// practice; what it would leave out, the next look at the service finds.
func (r *Reconciler) list(ctx context.Context, match func(*v1alpha1.Poll) bool, options ...client.ListOption) []reconcile.Request {
	var polls v1alpha1.PollList
	if err := r.Client.List(ctx, &polls, options...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list Polls")
		return nil
	}
	var requests []reconcile.Request
	for i := range polls.Items {
		if match(&polls.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&polls.Items[i])})
		}
	}
	return requests
}
