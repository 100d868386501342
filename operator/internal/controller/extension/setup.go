package extension

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/holder"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
	"github.com/acclaim-dev/acclaim/operator/internal/secrets"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
)

// secretNameField is the index of Extensions by the names of the Secrets that
// hold their keys.
const secretNameField = "spec.keys.secretRef.name"

// backendNamespaceField is the index of Extensions by the namespaces of the Backends
// that they name.
const backendNamespaceField = "spec.backendRef.namespace"

// Each of these lines is a right that the controller uses:
//
// +kubebuilder:rbac:groups=acclaim.dev,resources=extensions,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=acclaim.dev,resources=extensions/status,verbs=patch
// +kubebuilder:rbac:groups=acclaim.dev,resources=backends,verbs=get;list;watch
// +kubebuilder:rbac:groups=acclaim.dev,resources=polls,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
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
	err = manager.GetFieldIndexer().IndexField(ctx, &v1alpha1.Extension{}, backendNamespaceField, func(o client.Object) (namespaces []string) {
		for _, name := range sharing.References(o.(*v1alpha1.Extension)) {
			namespaces = append(namespaces, name.Namespace)
		}
		return namespaces
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
	r.Client = secrets.New(r.Client, manager.GetAPIReader(), secrets.Access{Sees: r.consent().Sees, ByName: r.SecretsByName})
	specChanged := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	b := ctrl.NewControllerManagedBy(manager).
		Named("extension").
		Watches(&v1alpha1.Extension{}, handler.EnqueueRequestsFromMapFunc(requestsForExtension)).
		Watches(&v1alpha1.Extension{}, handler.EnqueueRequestsFromMapFunc(r.requestsForPeers), specChanged).
		Watches(&v1alpha1.Backend{}, handler.EnqueueRequestsFromMapFunc(requestsForHost), builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, holder.NewPredicate(), becameAvailable()))).
		Watches(&v1alpha1.Backend{}, handler.EnqueueRequestsFromMapFunc(r.requestsForBackend), builder.WithPredicates(predicate.Or(consentChanged(), becameAvailable()))).
		Watches(&v1alpha1.Poll{}, handler.EnqueueRequestsFromMapFunc(r.requestsForPoll), specChanged).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers})
	if !r.SecretsByName {
		b = b.WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.requestsForSecret))
	}
	if r.consent().ReadsLabels() {
		namespace := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
		b = b.WatchesMetadata(namespace, handler.EnqueueRequestsFromMapFunc(r.requestsForNamespace), builder.WithPredicates(predicate.LabelChangedPredicate{}))
	}
	return b.Complete(r)
}

// consentChanged passes creations and deletions, and changes of the namespaces that a
// Backend allows. Most else in a Backend concerns its own namespace alone: waking each that
// names it would render its registry as often.
func consentChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*v1alpha1.Backend), e.ObjectNew.(*v1alpha1.Backend)
		return before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
			!equality.Semantic.DeepEqual(before.Spec.AllowedNamespaces, after.Spec.AllowedNamespaces)
	}}
}

// becameAvailable passes a Backend that begins to serve: its first pods can be asked for the
// keys of Extensions, which Polls wait for.
func becameAvailable() predicate.Predicate {
	available := func(o client.Object) bool {
		return meta.IsStatusConditionTrue(o.(*v1alpha1.Backend).Status.Conditions, v1alpha1.Available)
	}
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc:  func(e event.UpdateEvent) bool { return !available(e.ObjectOld) && available(e.ObjectNew) },
	}
}

// requestsForHost returns the namespace of a Backend.
func requestsForHost(_ context.Context, o client.Object) []reconcile.Request {
	return namespaceRequests(o.GetNamespace())
}

func namespaceRequests(namespaces ...string) (requests []reconcile.Request) {
	slices.Sort(namespaces)
	for _, namespace := range slices.Compact(namespaces) {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace}})
	}
	return requests
}

// requestsForExtension returns the namespace of an Extension and those of the Backends
// that it names.
func requestsForExtension(_ context.Context, o client.Object) []reconcile.Request {
	e := o.(*v1alpha1.Extension)
	namespaces := []string{e.Namespace}
	for _, name := range sharing.References(e) {
		namespaces = append(namespaces, name.Namespace)
	}
	return namespaceRequests(namespaces...)
}

// requestsForPeers returns the namespaces of Extensions that may be for the same Backends
// as this one: an id or a place may have become free without a change of a registry.
func (r *Reconciler) requestsForPeers(ctx context.Context, o client.Object) []reconcile.Request {
	e := o.(*v1alpha1.Extension)
	namespaces := r.namespacesNaming(ctx, e.Namespace)
	for _, name := range sharing.References(e) {
		namespaces = append(namespaces, r.namespacesNaming(ctx, name.Namespace)...)
	}
	return namespaceRequests(namespaces...)
}

// requestsForBackend returns the namespace of a Backend and those of the Extensions that
// may name it, whether it allows them or not.
func (r *Reconciler) requestsForBackend(ctx context.Context, o client.Object) []reconcile.Request {
	return namespaceRequests(append(r.namespacesNaming(ctx, o.GetNamespace()), o.GetNamespace())...)
}

// namespacesNaming returns the namespaces with an Extension that names a Backend of a
// namespace.
func (r *Reconciler) namespacesNaming(ctx context.Context, namespace string) (namespaces []string) {
	var naming v1alpha1.ExtensionList
	if err := r.Client.List(ctx, &naming, client.MatchingFields{backendNamespaceField: namespace}, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list Extensions")
	}
	for i := range naming.Items {
		namespaces = append(namespaces, naming.Items[i].Namespace)
	}
	return namespaces
}

// requestsForNamespace returns a namespace whose labels changed and those of the Backends
// that its Extensions name.
func (r *Reconciler) requestsForNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	var extensions v1alpha1.ExtensionList
	if err := r.Client.List(ctx, &extensions, client.InNamespace(o.GetName()), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list Extensions")
	}
	var requests []reconcile.Request
	for i := range extensions.Items {
		if e := &extensions.Items[i]; len(sharing.References(e)) > 0 {
			requests = append(requests, requestsForExtension(ctx, e)...)
		}
	}
	return requests
}

// requestsForSecret returns the namespaces that a Secret which holds keys, or has the
// name of a registry, is of interest to.
func (r *Reconciler) requestsForSecret(ctx context.Context, o client.Object) []reconcile.Request {
	if strings.HasSuffix(o.GetName(), desired.RegistrySecret("")) {
		return r.requestsForBackend(ctx, o)
	}
	var extensions v1alpha1.ExtensionList
	err := r.Client.List(ctx, &extensions, client.InNamespace(o.GetNamespace()), client.MatchingFields{secretNameField: o.GetName()})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list Extensions")
	}
	var requests []reconcile.Request
	for i := range extensions.Items {
		requests = append(requests, requestsForExtension(ctx, &extensions.Items[i])...)
	}
	return requests
}

// requestsForPoll returns the namespaces of a Poll whose Extension loses keys and of its
// Backends: these may wait for the Poll.
func (r *Reconciler) requestsForPoll(ctx context.Context, o client.Object) []reconcile.Request {
	var e v1alpha1.Extension
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: o.(*v1alpha1.Poll).Spec.ExtensionRef.Name}, &e)
	if err != nil || !losesKeys(&e) {
		return nil // a cache fails only where the Extension does not exist
	}
	return requestsForExtension(ctx, &e)
}

// losesKeys reports whether a registry may keep the entry of an Extension for Polls only.
func losesKeys(e *v1alpha1.Extension) bool {
	registered := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.Registered)
	dropped := registered != nil && (registered.Reason == v1alpha1.ReasonRefNotPermitted || registered.Reason == v1alpha1.ReasonTooManyExtensions)
	return dropped || !e.DeletionTimestamp.IsZero() || meta.IsStatusConditionFalse(e.Status.Conditions, v1alpha1.KeysUsable)
}
