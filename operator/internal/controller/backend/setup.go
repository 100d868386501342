package backend

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/secrets"
)

// Each line below is something that the controller does. Applying takes patch,
// and create where there is nothing yet; get finds out whose a name is.
//
// +kubebuilder:rbac:groups=acclaim.dev,resources=backends,verbs=get;list;watch
// +kubebuilder:rbac:groups=acclaim.dev,resources=backends/status,verbs=patch
// +kubebuilder:rbac:groups=acclaim.dev,resources=backends/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=services;serviceaccounts,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses;networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Cached says what a manager's cache should hold of the kinds that Backends
// consist of: the operator's own objects, not all of the cluster's. HTTPRoutes
// are not among them, for a cache cannot be asked to hold what a cluster may not
// know.
func Cached() map[client.Object]cache.ByObject {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{desired.OperatorLabel: desired.Operator})}
	held := map[client.Object]cache.ByObject{&corev1.Pod{}: ours}
	for _, k := range kinds() {
		if k.name != desired.HTTPRouteKind {
			held[k.object] = ours
		}
	}
	return held
}

// Setup lets a manager run the reconciler. A cluster that has no HTTPRoutes when
// it is called is not watched for them.
func (r *Reconciler) Setup(manager ctrl.Manager) error {
	r.Client = secrets.New(r.Client, r.Live)
	b := ctrl.NewControllerManagedBy(manager).
		For(&v1alpha1.Backend{}). // its status, too: a pass may have compared with an older one
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(ofPod)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.ofSecret))
	for _, k := range kinds() {
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
		b = b.Owns(k.object)
	}
	return b.Complete(r)
}

// ofPod returns the Backend that a pod is of.
func ofPod(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[desired.BackendLabel]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
}

// ofSecret returns the Backends that read a Secret. A list from the cache does
// not fail in practice.
func (r *Reconciler) ofSecret(ctx context.Context, o client.Object) []reconcile.Request {
	var backends v1alpha1.BackendList
	if err := r.Client.List(ctx, &backends, client.InNamespace(o.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list Backends")
		return nil
	}
	var requests []reconcile.Request
	for i := range backends.Items {
		b := &backends.Items[i]
		if o.GetName() == b.Spec.MongoDB.Name || o.GetName() == desired.RegistrySecret(b.Name) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
		}
	}
	return requests
}
