package backend

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
)

// scalingOwner has the number of pods of an autoscaled Deployment until the
// autoscaler changes it. A field that nobody owns any more is removed, and one
// pod is the default.
const scalingOwner = FieldOwner + "-autoscaling"

// carryOut does all writes but that of the status. An object that is refused
// does not keep the others back; the first refusal is returned.
func (r *Reconciler) carryOut(ctx context.Context, w *world, p plan) (*trouble, error) {
	for _, d := range p.handOver {
		number := appsv1ac.Deployment(d.Name, d.Namespace).WithSpec(appsv1ac.DeploymentSpec().WithReplicas(*d.Spec.Replicas))
		if err := r.Client.Apply(ctx, number, client.FieldOwner(scalingOwner), client.ForceOwnership); err != nil {
			return nil, err
		}
	}
	var first *trouble
	for _, o := range p.apply {
		refusal, err := r.apply(ctx, w, o)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = refusal
		}
	}
	for _, i := range p.remove {
		if err := r.remove(ctx, w, i); err != nil {
			return nil, err
		}
	}
	return first, nil
}

// apply makes one object what it should be, unless it is somebody else's.
func (r *Reconciler) apply(ctx context.Context, w *world, o desired.Object) (*trouble, error) {
	taken, err := r.taken(ctx, w, o)
	if taken != nil || err != nil {
		return taken, err
	}
	err = r.Client.Apply(ctx, configuration(o), client.FieldOwner(FieldOwner), client.ForceOwnership)
	if refused(err) {
		return &trouble{v1alpha1.ReasonObjectRefused, fmt.Sprintf("%s %s: %v", o.Kind, o.Name, err), err}, nil
	}
	return nil, err
}

// configuration returns what the client applies.
func configuration(o desired.Object) runtime.ApplyConfiguration {
	if u, ok := o.Config.(*unstructured.Unstructured); ok {
		return client.ApplyConfigurationFromUnstructured(u)
	}
	return o.Config.(runtime.ApplyConfiguration)
}

// taken says whether an object is somebody else's. One that is not known is
// looked for, since the cache has only those with the operator's labels.
func (r *Reconciler) taken(ctx context.Context, w *world, o desired.Object) (*trouble, error) {
	have, known := w.have[id{o.Kind, o.Name}]
	if !known {
		var found metav1.PartialObjectMetadata
		found.SetGroupVersionKind(kindOf(o).groupVersionKind())
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: w.backend.Namespace, Name: o.Name}, &found)
		if err != nil {
			return nil, client.IgnoreNotFound(err)
		}
		have = &found
	}
	// The operator's objects without an owner are left over from a Backend that was
	// deleted without them.
	orphan := metav1.GetControllerOf(have) == nil && have.GetLabels()[desired.OperatorLabel] == desired.Operator
	if orphan || metav1.IsControlledBy(have, w.backend) {
		return nil, nil
	}
	message := fmt.Sprintf("%s %s exists and does not belong to this Backend", o.Kind, o.Name)
	return &trouble{v1alpha1.ReasonNameTaken, message, errors.New(message)}, nil
}

// refused says that the API server understood a request and will not do it, as
// opposed to that it could not just now.
func refused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch status.Status().Code {
	case http.StatusConflict, http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return false
	}
	return true
}

// remove deletes an object and nothing that has taken its place since.
func (r *Reconciler) remove(ctx context.Context, w *world, i id) error {
	o := w.have[i]
	uid := o.GetUID()
	err := r.Client.Delete(ctx, o, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	r.Recorder.Eventf(w.backend, nil, corev1.EventTypeNormal, "Removed", "Reconcile", "%s %s is no longer declared", i.kind, i.name)
	return nil
}
