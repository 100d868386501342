package backend

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/secrets"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
)

// Each of these lines is a right that the controller uses. Applying needs patch, and
// create for a new object; get finds the owner of a name. Kubernetes lets it grant the services a right
// to a ConfigMap because it has that right itself.
//
// +kubebuilder:rbac:groups=acclaim.dev,resources=backends,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=acclaim.dev,resources=backends/status,verbs=patch
// +kubebuilder:rbac:groups=acclaim.dev,resources=backends/finalizers,verbs=update
// +kubebuilder:rbac:groups=acclaim.dev,resources=polls,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=services;serviceaccounts,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles;rolebindings,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses;networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingressclasses,verbs=get
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// CacheOptions limits a manager's cache to the operator's own objects of the kinds
// that Backends consist of. HTTPRoutes are not among them: a cache cannot be
// limited for a kind that a cluster may not know.
func CacheOptions() map[client.Object]cache.ByObject {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{desired.OperatorLabel: desired.Operator})}
	held := map[client.Object]cache.ByObject{&corev1.Pod{}: ours}
	for _, k := range objectKinds() {
		if k.name != desired.HTTPRouteKind {
			held[k.object] = ours
		}
	}
	return held
}

// Setup registers the reconciler with a manager. HTTPRoutes are watched only if the
// cluster knows them when Setup is called.
func (r *Reconciler) Setup(manager ctrl.Manager) error {
	r.Client = secrets.New(r.Client, r.APIReader, secrets.Access{Sees: sharing.Consent{Watched: r.Watched}.Sees, ByName: r.SecretsByName})
	b := ctrl.NewControllerManagedBy(manager).
		For(&v1alpha1.Backend{}). // its status, too: a reconciliation may have compared with an older one
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(requestsForPod)).
		Owns(&batchv1.Job{}) // of a backup to restore
	if !r.SecretsByName {
		b = b.WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.requestsForSecret))
	}
	for _, k := range objectKinds() {
		if k.name == desired.HTTPRouteKind {
			gvk := k.groupVersionKind()
			_, err := manager.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
			if meta.IsNoMatchError(err) {
				continue
			}
			if err != nil {
				return err
			}
		}
		b = b.Owns(k.object, builder.WithPredicates(k.changes()))
	}
	return b.Complete(r)
}

// requestsForPod returns the Backend of a pod.
func requestsForPod(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[desired.BackendLabel]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
}

// requestsForSecret returns the Backends that read a Secret. A list from the cache does
// not fail in practice.
func (r *Reconciler) requestsForSecret(ctx context.Context, o client.Object) []reconcile.Request {
	var backends v1alpha1.BackendList
	if err := r.Client.List(ctx, &backends, client.InNamespace(o.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list Backends")
		return nil
	}
	var requests []reconcile.Request
	for i := range backends.Items {
		b := &backends.Items[i]
		names := []string{b.Spec.TLSSecretName}
		if i := b.Spec.Ingress; i != nil {
			names = append(names, i.TLSSecretName, i.GameTLSSecretName)
		}
		if slices.Contains(names, o.GetName()) || o.GetName() == b.Spec.MongoDB.Name || o.GetName() == desired.RegistrySecret(b.Name) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
		}
	}
	return requests
}
