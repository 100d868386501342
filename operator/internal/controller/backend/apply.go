package backend

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// scalingOwner is the field owner of an autoscaled Deployment's number of pods
// until the autoscaler changes it. A field without an owner would be removed, and
// the default is one pod.
const scalingOwner = FieldOwner + "-autoscaling"

// execute does all writes but that of the status. A refused object does not keep
// the others back; the first refusal is returned.
func (r *Reconciler) execute(ctx context.Context, s *clusterState, p changePlan) (*status.Problem, error) {
	for _, d := range p.handOver {
		// Without force: a number that the autoscaler has changed meanwhile stays its own.
		replicas := appsv1ac.Deployment(d.Name, d.Namespace).WithSpec(appsv1ac.DeploymentSpec().WithReplicas(*d.Spec.Replicas))
		if err := r.Client.Apply(ctx, replicas, client.FieldOwner(scalingOwner)); err != nil {
			return nil, err
		}
	}
	first, err := r.createJob(ctx, p.restoration.job)
	if err != nil {
		return nil, err
	}
	for _, o := range p.apply {
		refusal, err := r.applyObject(ctx, s, o)
		if err != nil {
			return nil, err
		}
		first = status.FirstProblem(first, refusal)
	}
	for _, id := range p.remove {
		if err := r.removeObject(ctx, s, id); err != nil {
			return nil, err
		}
	}
	return first, nil
}

// applyObject applies one object, unless its name belongs to something else.
func (r *Reconciler) applyObject(ctx context.Context, s *clusterState, o desired.Object) (*status.Problem, error) {
	taken, err := r.checkOwner(ctx, s, o)
	if taken != nil || err != nil {
		return taken, err
	}
	err = r.Client.Apply(ctx, applyConfiguration(o), client.FieldOwner(FieldOwner), client.ForceOwnership)
	if !status.IsRefusal(err) {
		return nil, err
	}
	refusal := newProblem(v1alpha1.ReasonObjectRefused, "%s %s: %v", o.Kind, o.Name, err)
	refusal.Retry = err
	return refusal, nil
}

// applyConfiguration returns what the client applies.
func applyConfiguration(o desired.Object) runtime.ApplyConfiguration {
	if u, ok := o.Config.(*unstructured.Unstructured); ok {
		return client.ApplyConfigurationFromUnstructured(u)
	}
	return o.Config.(runtime.ApplyConfiguration)
}

// checkOwner returns a problem if an object's name belongs to something else. An
// object that is not known is read uncached: the cache has only objects with the
// operator's labels.
func (r *Reconciler) checkOwner(ctx context.Context, s *clusterState, o desired.Object) (*status.Problem, error) {
	have, known := s.have[objectID{o.Kind, o.Name}]
	if !known {
		var found metav1.PartialObjectMetadata
		found.SetGroupVersionKind(kindOf(o).groupVersionKind())
		err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: s.backend.Namespace, Name: o.Name}, &found)
		if err != nil {
			return nil, client.IgnoreNotFound(err)
		}
		have = &found
	}
	if desired.BelongsTo(have, s.backend) {
		return nil, nil
	}
	taken := newNameTaken(o.Kind, o.Name)
	taken.Retry = errors.New(taken.Message) // the cache does not show when the object goes
	return taken, nil
}

// removeObject deletes an object, but not one that has replaced it since.
func (r *Reconciler) removeObject(ctx context.Context, s *clusterState, id objectID) error {
	o := s.have[id]
	uid := o.GetUID()
	err := r.Client.Delete(ctx, o, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	status.RecordNormal(r.Recorder, s.backend, "Removed", fmt.Sprintf("%s %s is no longer declared", id.kind, id.name))
	return nil
}
