package extension

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/holder"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
	"github.com/acclaim-dev/acclaim/operator/internal/secrets"
)

// secretNameField is the index of Extensions by the names of the Secrets that
// hold their keys.
const secretNameField = "spec.keys.secretRef.name"

// Each of these lines is a right that the controller uses:
//
// +kubebuilder:rbac:groups=acclaim.dev,resources=extensions,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=acclaim.dev,resources=extensions/status,verbs=patch
// +kubebuilder:rbac:groups=acclaim.dev,resources=backends,verbs=get;list;watch
// +kubebuilder:rbac:groups=acclaim.dev,resources=polls,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Setup registers the reconciler with a manager, which runs it for up to the given
// number of namespaces at once. Extensions wake it with every change, those of
// their status too: a reconciliation may have compared with an older one.
func (r *Reconciler) Setup(ctx context.Context, manager ctrl.Manager, workers int) error {
	err := manager.GetFieldIndexer().IndexField(ctx, &v1alpha1.Extension{}, secretNameField, func(o client.Object) []string {
		return registry.SecretNames(o.(*v1alpha1.Extension))
	})
	if err != nil {
		return err
	}
	err = manager.GetFieldIndexer().IndexField(ctx, &v1alpha1.Poll{}, extensionRefField, func(o client.Object) []string {
		return []string{o.(*v1alpha1.Poll).Spec.ExtensionRef.Name}
	})
	if err != nil {
		return err
	}
	r.Client = secrets.New(r.Client, manager.GetAPIReader())
	specChanged := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	wakeNamespace := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request { return namespaceRequest(o) })
	return ctrl.NewControllerManagedBy(manager).
		Named("extension").
		Watches(&v1alpha1.Extension{}, wakeNamespace).
		Watches(&v1alpha1.Backend{}, wakeNamespace, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, holder.NewPredicate()))).
		Watches(&v1alpha1.Poll{}, handler.EnqueueRequestsFromMapFunc(r.requestsForPoll), specChanged).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.requestsForSecret)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

func namespaceRequest(o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace()}}}
}

// requestsForSecret returns the namespace of a Secret that holds keys or has the
// name of a registry.
func (r *Reconciler) requestsForSecret(ctx context.Context, o client.Object) []reconcile.Request {
	if strings.HasSuffix(o.GetName(), desired.RegistrySecret("")) {
		return namespaceRequest(o)
	}
	var extensions v1alpha1.ExtensionList
	err := r.Client.List(ctx, &extensions, client.InNamespace(o.GetNamespace()), client.MatchingFields{secretNameField: o.GetName()}, client.Limit(1))
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list Extensions")
	}
	if len(extensions.Items) == 0 {
		return nil
	}
	return namespaceRequest(o)
}

// requestsForPoll returns the namespace of a Poll whose Extension loses keys: it
// may wait for the Poll.
func (r *Reconciler) requestsForPoll(ctx context.Context, o client.Object) []reconcile.Request {
	var e v1alpha1.Extension
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: o.(*v1alpha1.Poll).Spec.ExtensionRef.Name}, &e)
	if err != nil || e.DeletionTimestamp.IsZero() && !meta.IsStatusConditionFalse(e.Status.Conditions, v1alpha1.KeysUsable) {
		return nil // a cache fails only where the Extension does not exist
	}
	return namespaceRequest(o)
}
