package poll

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/util/workqueue"
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

// A Poll whose service fails is tried again after the first of these, then after
// twice as long each time, up to the second: short enough to notice soon that
// the service is back, and to give a deletion up about when it is due.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// Each line below is something that the controller does:
//
// +kubebuilder:rbac:groups=acclaim.dev,resources=polls,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=acclaim.dev,resources=polls/status,verbs=patch
// +kubebuilder:rbac:groups=acclaim.dev,resources=extensions,verbs=get;list;watch
// +kubebuilder:rbac:groups=acclaim.dev,resources=backends,verbs=get;list;watch;create
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Setup lets a manager run the reconciler, with the given number of Polls at
// once. What is around a Poll wakes it only when that can make a difference: of
// what was added or changed, it is the Polls that are not ready.
func (r *Reconciler) Setup(ctx context.Context, manager ctrl.Manager, workers int) error {
	if err := Index(ctx, manager.GetFieldIndexer()); err != nil {
		return err
	}
	r.Client = secrets.New(r.Client, manager.GetAPIReader())
	specChanged := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	return ctrl.NewControllerManagedBy(manager).
		For(&v1alpha1.Poll{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, turnedUnready()))).
		Watches(&v1alpha1.Poll{}, handler.EnqueueRequestsFromMapFunc(r.rivals), specChanged).
		Watches(&v1alpha1.Extension{}, r.wake(r.ofExtension), specChanged).
		Watches(&v1alpha1.Backend{}, r.wake(r.ofBackend), builder.WithPredicates(comesOrGoes())).
		WatchesMetadata(&corev1.Secret{}, r.wake(r.ofSecret), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		}).
		Complete(r)
}

// comesOrGoes lets pass that a Backend is there, is gone, or turned ready or not.
func comesOrGoes() predicate.Predicate {
	ready := func(o client.Object) bool {
		return meta.IsStatusConditionTrue(o.(*v1alpha1.Backend).Status.Conditions, v1alpha1.Ready)
	}
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return ready(e.ObjectOld) != ready(e.ObjectNew) }}
}

// turnedUnready lets pass that a Poll is not ready any more. What would have woken it
// came perhaps while it was ready still in the cache, and was passed over.
func turnedUnready() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return !unready(e.ObjectOld.(*v1alpha1.Poll)) && unready(e.ObjectNew.(*v1alpha1.Poll))
		},
	}
}

// find returns Polls that have to do with an object, not to be changed.
type find func(ctx context.Context, o client.Object) ([]v1alpha1.Poll, error)

// wake returns a handler that lets the Polls be looked at that are not ready, or
// all of them when the object is gone.
func (r *Reconciler) wake(related find) handler.EventHandler {
	add := func(ctx context.Context, o client.Object, queue workqueue.TypedRateLimitingInterface[reconcile.Request], match func(*v1alpha1.Poll) bool) {
		polls, err := related(ctx, o)
		if err != nil {
			// A list from the cache does not fail in practice; what it would leave out, the
			// next look at the service finds.
			ctrl.LoggerFrom(ctx).Error(err, "find the Polls of an object")
		}
		for i := range polls {
			if match(&polls[i]) {
				queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&polls[i])})
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(ctx, e.Object, queue, unready)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(ctx, e.ObjectNew, queue, unready)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(ctx, e.Object, queue, func(*v1alpha1.Poll) bool { return true })
		},
	}
}

func unready(p *v1alpha1.Poll) bool {
	return !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.Ready)
}

// rivals returns the other Polls that declare the same poll: when one comes,
// goes or is of another Backend, which of them is in force may change.
func (r *Reconciler) rivals(ctx context.Context, o client.Object) []reconcile.Request {
	p := o.(*v1alpha1.Poll)
	polls, err := r.alike(ctx, p)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "find the rivals of a Poll") // as in wake
	}
	var requests []reconcile.Request
	for i := range polls {
		if polls[i].UID != p.UID {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&polls[i])})
		}
	}
	return requests
}

func (r *Reconciler) ofExtension(ctx context.Context, o client.Object) ([]v1alpha1.Poll, error) {
	return r.polls(ctx, o.GetNamespace(), pollsByExtension, o.GetName())
}

// ofBackend returns the Polls that name a Backend, or none and may mean it.
func (r *Reconciler) ofBackend(ctx context.Context, o client.Object) ([]v1alpha1.Poll, error) {
	naming, err := r.polls(ctx, o.GetNamespace(), pollsByBackend, o.GetName())
	if err != nil {
		return nil, err
	}
	others, err := r.polls(ctx, o.GetNamespace(), pollsByBackend, "")
	return slices.Concat(naming, others), err
}

// ofSecret returns the Polls of the Extensions that have a key in a Secret.
func (r *Reconciler) ofSecret(ctx context.Context, o client.Object) ([]v1alpha1.Poll, error) {
	extensions, err := r.extensions(ctx, o.GetNamespace(), extensionsBySecret, o.GetName())
	var all []v1alpha1.Poll
	for i := range extensions {
		polls, err := r.ofExtension(ctx, &extensions[i])
		if err != nil {
			return nil, err
		}
		all = slices.Concat(all, polls)
	}
	return all, err
}
