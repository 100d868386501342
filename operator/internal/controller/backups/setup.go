package backups

import (
	"context"
	"errors"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
)

// Each of these lines is a right that the controllers use. Applying needs patch, and create
// for a new object; get finds the owner of a name.
//
// +kubebuilder:rbac:groups=acclaim.dev,resources=backups;scheduledbackups,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=acclaim.dev,resources=backups/status;scheduledbackups/status,verbs=patch
// +kubebuilder:rbac:groups=acclaim.dev,resources=backups/finalizers;scheduledbackups/finalizers,verbs=update
// +kubebuilder:rbac:groups=acclaim.dev,resources=backends,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create
// +kubebuilder:rbac:groups=batch,resources=cronjobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// CacheOptions limits a manager's cache to the operator's own Jobs.
func CacheOptions() (client.Object, cache.ByObject) {
	return &batchv1.Job{}, cache.ByObject{Label: labels.SelectorFromSet(labels.Set{desired.OperatorLabel: desired.Operator})}
}

// Setup registers the reconcilers of both kinds with a manager.
func Setup(manager ctrl.Manager, access Access) error {
	return errors.Join(
		ctrl.NewControllerManagedBy(manager).
			For(&v1alpha1.Backup{}).
			Owns(&batchv1.Job{}).
			Watches(&v1alpha1.Backend{}, requestsOf(access.Client, func() client.ObjectList { return &v1alpha1.BackupList{} })).
			Complete(&Reconciler{access}),
		ctrl.NewControllerManagedBy(manager).
			For(&v1alpha1.ScheduledBackup{}).
			Owns(&batchv1.CronJob{}).
			Watches(&v1alpha1.Backend{}, requestsOf(access.Client, func() client.ObjectList { return &v1alpha1.ScheduledBackupList{} })).
			Complete(&ScheduleReconciler{access}),
	)
}

// requestsOf returns the requests for the Backups, or the ScheduledBackups, of a Backend.
func requestsOf(from client.Reader, newList func() client.ObjectList) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, backend client.Object) []reconcile.Request {
		list := newList()
		if err := from.List(ctx, list, client.InNamespace(backend.GetNamespace())); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "list backups")
			return nil
		}
		var requests []reconcile.Request
		add := func(o client.Object, ref v1alpha1.ObjectReference) {
			if ref.Name == backend.GetName() {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
			}
		}
		switch list := list.(type) {
		case *v1alpha1.BackupList:
			for i := range list.Items {
				if !isFinal(&list.Items[i]) {
					add(&list.Items[i], list.Items[i].Spec.BackendRef)
				}
			}
		case *v1alpha1.ScheduledBackupList:
			for i := range list.Items {
				add(&list.Items[i], list.Items[i].Spec.BackendRef)
			}
		}
		return requests
	})
}
