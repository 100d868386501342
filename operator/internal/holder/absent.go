package holder

import (
	"context"
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// WithLeases makes the operator look for the lease of an operator that an object names: each
// has one of the given name in its own namespace. leases reads without a cache.
func (i *Instance) WithLeases(leases client.Reader, name string) *Instance {
	i.leases, i.lease = leases, name
	return i
}

// meetForeign reports on an object of another operator, and whether this one holds it in
// that one's place.
func (i *Instance) meetForeign(ctx context.Context, c client.Client, recorder events.EventRecorder, o client.Object) (held bool, err error) {
	absent, err := i.isAbsent(ctx, o.GetAnnotations()[v1alpha1.OperatorAnnotation])
	if err != nil {
		return false, err
	}
	if absent && !o.GetDeletionTimestamp().IsZero() {
		return true, nil
	}
	i.report(recorder, o)
	if !absent {
		return false, nil
	}
	return false, i.reportAbsent(ctx, c, o)
}

// isAbsent reports whether the cluster has no operator of a name. An operator leads by the
// lease in its namespace before it writes its name anywhere, and is the only one there that
// does. Without the right to look, none is absent.
func (i *Instance) isAbsent(ctx context.Context, name string) (bool, error) {
	if i.leases == nil {
		return false, nil
	}
	namespace, _, _ := strings.Cut(name, "/")
	if mine, _, _ := strings.Cut(i.name, "/"); namespace == mine {
		return true, nil
	}
	err := i.leases.Get(ctx, client.ObjectKey{Namespace: namespace, Name: i.lease}, &coordinationv1.Lease{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if apierrors.IsForbidden(err) {
		return false, nil
	}
	return false, err
}

// reportAbsent makes the condition Ready of an object unknown.
func (i *Instance) reportAbsent(ctx context.Context, c client.Client, o client.Object) error {
	after := o.DeepCopyObject().(client.Object)
	conditions := v1alpha1.ConditionsOf(after)
	meta.RemoveStatusCondition(conditions, v1alpha1.Reconciling)
	meta.RemoveStatusCondition(conditions, v1alpha1.Stalled)
	status.SetConditions(conditions, o.GetGeneration(), metav1.Condition{
		Type: v1alpha1.Ready, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonHeldByAnother,
		Message: fmt.Sprintf("Its annotation %s names %s, and this cluster has no such operator: remove the annotation, and the operator %s takes over",
			v1alpha1.OperatorAnnotation, o.GetAnnotations()[v1alpha1.OperatorAnnotation], i.name),
	})
	if equality.Semantic.DeepEqual(o, after) {
		return nil
	}
	_, err := status.Patch(ctx, c, o, after)
	return err
}
