package poll

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	"github.com/acclaim-dev/acclaim/operator/internal/holder"
	"github.com/acclaim-dev/acclaim/operator/internal/secrets"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
)

// The backoff of a Poll whose service fails doubles from the first to the second of
// these: short enough to notice soon that the service is back, and to give a
// deletion up about on time.
const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 30 * time.Second
)

// Each of these lines is a right that the controller uses:
//
// +kubebuilder:rbac:groups=acclaim.dev,resources=polls,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=acclaim.dev,resources=polls/status,verbs=patch
// +kubebuilder:rbac:groups=acclaim.dev,resources=extensions,verbs=get;list;watch
// +kubebuilder:rbac:groups=acclaim.dev,resources=backends,verbs=get;list;watch;create
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Setup registers the reconciler with a manager, which runs it for up to the given
// number of Polls at once. Related objects wake a Poll only if that can make a
// difference: when one is added or changed, they wake the Polls that are not
// ready. A Backend without ready pods wakes all of its Polls.
func (r *Reconciler) Setup(ctx context.Context, manager ctrl.Manager, workers int) error {
	if err := AddIndexes(ctx, manager.GetFieldIndexer()); err != nil {
		return err
	}
	r.Client = secrets.New(r.Client, manager.GetAPIReader(), secrets.Access{Sees: r.consent().Sees, ByName: r.SecretsByName})
	specChanged := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	b := ctrl.NewControllerManagedBy(manager).
		For(&v1alpha1.Poll{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, becameUnready(), holder.NewPredicate()))).
		Watches(&v1alpha1.Poll{}, handler.EnqueueRequestsFromMapFunc(r.requestsForDuplicates), specChanged).
		Watches(&v1alpha1.Extension{}, r.wakePolls(r.pollsOfExtension), builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, admissionChanged()))).
		Watches(&v1alpha1.Backend{}, r.wakePolls(r.pollsOfBackend), builder.WithPredicates(backendChanged())).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minBackoff, maxBackoff),
		})
	if !r.SecretsByName {
		b = b.WatchesMetadata(&corev1.Secret{}, r.wakePolls(r.pollsOfSecret), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{}))
	}
	if r.consent().ReadsLabels() {
		namespace := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
		b = b.WatchesMetadata(namespace, r.wakePolls(r.pollsElsewhere), builder.WithPredicates(predicate.LabelChangedPredicate{}))
	}
	return b.Complete(r)
}

// admissionChanged passes an Extension whose condition Registered has another reason.
func admissionChanged() predicate.Predicate {
	reason := func(o client.Object) string {
		if c := meta.FindStatusCondition(o.(*v1alpha1.Extension).Status.Conditions, v1alpha1.Registered); c != nil {
			return c.Reason
		}
		return ""
	}
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc:  func(e event.UpdateEvent) bool { return reason(e.ObjectOld) != reason(e.ObjectNew) },
	}
}

// backendChanged passes creations, deletions, and changes of the conditions Ready and
// Available and of the namespaces that a Backend allows.
func backendChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return changedConsent(e) || isTrue(e.ObjectOld, v1alpha1.Ready) != isTrue(e.ObjectNew, v1alpha1.Ready) ||
			isTrue(e.ObjectOld, v1alpha1.Available) != isTrue(e.ObjectNew, v1alpha1.Available)
	}}
}

// isTrue reports whether a Backend has a true condition of a type.
func isTrue(o client.Object, condition string) bool {
	return meta.IsStatusConditionTrue(o.(*v1alpha1.Backend).Status.Conditions, condition)
}

// lostService reports whether a Backend has lost the pods of a service.
func lostService(e event.UpdateEvent) bool {
	_, isBackend := e.ObjectNew.(*v1alpha1.Backend)
	return isBackend && isTrue(e.ObjectOld, v1alpha1.Available) && !isTrue(e.ObjectNew, v1alpha1.Available)
}

// changedConsent reports whether a Backend may allow other namespaces than before, or a
// namespace have become another one to Backends.
func changedConsent(e event.UpdateEvent) bool {
	before, isBackend := e.ObjectOld.(*v1alpha1.Backend)
	if isBackend {
		return !equality.Semantic.DeepEqual(before.Spec.AllowedNamespaces, e.ObjectNew.(*v1alpha1.Backend).Spec.AllowedNamespaces)
	}
	return e.ObjectOld.GetNamespace() == "" // the one kind of its own
}

// becameUnready passes a Poll that is no longer ready. What would have woken it may
// have come while the cached Poll was still ready.
func becameUnready() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return !isUnready(e.ObjectOld.(*v1alpha1.Poll)) && isUnready(e.ObjectNew.(*v1alpha1.Poll))
		},
	}
}

// findPolls returns the Polls that are related to an object. The caller must not
// change them.
type findPolls func(ctx context.Context, o client.Object) ([]v1alpha1.Poll, error)

// wakePolls returns a handler that reconciles the related Polls that are not ready,
// or all of them when the object is deleted, does not serve any more or decides about
// consent.
func (r *Reconciler) wakePolls(related findPolls) handler.EventHandler {
	add := func(ctx context.Context, o client.Object, queue workqueue.TypedRateLimitingInterface[reconcile.Request], match func(*v1alpha1.Poll) bool) {
		polls, err := related(ctx, o)
		if err != nil {
			// A list from the cache does not fail in practice; the next comparison with the
			// service covers what it would leave out.
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
			add(ctx, e.Object, queue, isUnready)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(ctx, e.ObjectNew, queue, func(p *v1alpha1.Poll) bool { return isUnready(p) || lostService(e) || changedConsent(e) })
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(ctx, e.Object, queue, func(*v1alpha1.Poll) bool { return true })
		},
	}
}

func isUnready(p *v1alpha1.Poll) bool {
	return !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.Ready)
}

// requestsForDuplicates returns the other Polls that declare the same poll: the
// one in force may change when one is created, deleted or moved to another Backend.
func (r *Reconciler) requestsForDuplicates(ctx context.Context, o client.Object) []reconcile.Request {
	p := o.(*v1alpha1.Poll)
	polls, err := r.listDuplicatesOf(ctx, p)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "find the Polls that declare the same poll") // as in wakePolls
	}
	var requests []reconcile.Request
	for i := range polls {
		if polls[i].UID != p.UID {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&polls[i])})
		}
	}
	return requests
}

func (r *Reconciler) pollsOfExtension(ctx context.Context, o client.Object) ([]v1alpha1.Poll, error) {
	return r.listPolls(ctx, o.GetNamespace(), pollsByExtension, o.GetName())
}

// pollsOfBackend returns the Polls that name a Backend, those whose Extension names it,
// and those that name none and may be served by it.
func (r *Reconciler) pollsOfBackend(ctx context.Context, o client.Object) ([]v1alpha1.Poll, error) {
	name := client.ObjectKeyFromObject(o).String()
	naming, err := r.listPolls(ctx, "", pollsByBackend, name)
	if err != nil {
		return nil, err
	}
	extensions, err := r.listExtensions(ctx, "", extensionsByBackend, name)
	if err != nil {
		return nil, err
	}
	for i := range extensions {
		polls, err := r.pollsOfExtension(ctx, &extensions[i])
		if err != nil {
			return nil, err
		}
		naming = slices.Concat(naming, polls)
	}
	others, err := r.listPolls(ctx, o.GetNamespace(), pollsByBackend, "")
	return slices.Concat(naming, others), err
}

// pollsElsewhere returns the Polls of a namespace whose Extensions name a Backend.
func (r *Reconciler) pollsElsewhere(ctx context.Context, o client.Object) (all []v1alpha1.Poll, err error) {
	var extensions v1alpha1.ExtensionList
	if err := r.Client.List(ctx, &extensions, client.InNamespace(o.GetName()), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	for i := range extensions.Items {
		if len(sharing.References(&extensions.Items[i])) == 0 {
			continue
		}
		polls, err := r.pollsOfExtension(ctx, &extensions.Items[i])
		if err != nil {
			return nil, err
		}
		all = slices.Concat(all, polls)
	}
	return all, nil
}

// pollsOfSecret returns the Polls of the Extensions that have a key in a Secret.
func (r *Reconciler) pollsOfSecret(ctx context.Context, o client.Object) ([]v1alpha1.Poll, error) {
	extensions, err := r.listExtensions(ctx, o.GetNamespace(), extensionsBySecret, o.GetName())
	var all []v1alpha1.Poll
	for i := range extensions {
		polls, err := r.pollsOfExtension(ctx, &extensions[i])
		if err != nil {
			return nil, err
		}
		all = slices.Concat(all, polls)
	}
	return all, err
}
