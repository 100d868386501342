package extension

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/secrets"
)

// secretField is the field by which Extensions are listed: the names of the
// Secrets that hold their keys.
const secretField = "spec.keys.secretRef.name"

// Each line below is something that the controller does:
//
// +kubebuilder:rbac:groups=acclaim.dev,resources=extensions,verbs=get;list;watch
// +kubebuilder:rbac:groups=acclaim.dev,resources=extensions/status,verbs=patch
// +kubebuilder:rbac:groups=acclaim.dev,resources=backends,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Setup lets a manager run the reconciler, with the given number of namespaces
// at once.
func (r *Reconciler) Setup(ctx context.Context, manager ctrl.Manager, workers int) error {
	err := manager.GetFieldIndexer().IndexField(ctx, &v1alpha1.Extension{}, secretField, func(o client.Object) []string {
		return secretsOf(o.(*v1alpha1.Extension))
	})
	if err != nil {
		return err
	}
	r.Client = secrets.New(r.Client, manager.GetAPIReader())
	specChanged := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	all := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request { return namespaceOf(o) })
	return ctrl.NewControllerManagedBy(manager).
		Named("extension").
		Watches(&v1alpha1.Extension{}, all, specChanged).
		Watches(&v1alpha1.Backend{}, all, specChanged).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.ofSecret)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

func namespaceOf(o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace()}}}
}

// ofSecret returns the namespace of a Secret that holds keys or a registry, or
// stands in the way of one.
func (r *Reconciler) ofSecret(ctx context.Context, o client.Object) []reconcile.Request {
	if strings.HasSuffix(o.GetName(), desired.RegistrySecret("")) {
		return namespaceOf(o)
	}
	var extensions v1alpha1.ExtensionList
	err := r.Client.List(ctx, &extensions, client.InNamespace(o.GetNamespace()), client.MatchingFields{secretField: o.GetName()}, client.Limit(1))
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list Extensions")
	}
	if len(extensions.Items) == 0 {
		return nil
	}
	return namespaceOf(o)
}

// secretsOf returns the names of the Secrets that hold an Extension's keys and
// those of its sinks.
func secretsOf(e *v1alpha1.Extension) []string {
	keys := keysOf(&e.Spec.Environment)
	if e.Spec.Sandbox != nil {
		keys = slices.Concat(keys, keysOf(e.Spec.Sandbox))
	}
	var names []string
	for _, k := range keys {
		names = append(names, k.SecretRef.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func keysOf(e *v1alpha1.Environment) []v1alpha1.Key {
	keys := e.Keys
	for _, s := range e.Sinks {
		if s.Webhook != nil {
			keys = slices.Concat(keys, s.Webhook.Keys)
		}
	}
	return keys
}
