// Package holder tells the operators of a cluster apart. An operator writes its name
// into the objects that it looks after, and leaves alone those that have the name of
// another one.
//
// It knows no kind of resource.
package holder

import (
	"context"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// reportedObjects is the number of foreign objects whose Event is remembered, least
// recently seen out first.
const reportedObjects = 4096

// Instance is an operator. A nil Instance has no name and holds every object.
type Instance struct {
	name     string
	reported *lru.Cache[types.UID, string] // the holder that an Event named
	leases   client.Reader                 // nil: every other operator counts as present
	lease    string                        // the name of each operator's lease
}

// NewInstance returns the operator of a name, NAMESPACE/RELEASE.
func NewInstance(name string) *Instance {
	reported, err := lru.New[types.UID, string](reportedObjects)
	if err != nil {
		panic(err) // the size is positive
	}
	return &Instance{name: name, reported: reported}
}

// Holds reports whether the operator looks after an object: it has the operator's
// name, or none.
func (i *Instance) Holds(o client.Object) bool {
	holder := o.GetAnnotations()[v1alpha1.OperatorAnnotation]
	return i == nil || holder == "" || holder == i.name
}

// Owns reports whether an object has the operator's name.
func (i *Instance) Owns(o client.Object) bool {
	return i != nil && o.GetAnnotations()[v1alpha1.OperatorAnnotation] == i.name
}

// Mark writes the operator's name into an object that is about to be stored.
func (i *Instance) Mark(o client.Object) (changed bool) {
	annotations := o.GetAnnotations()
	if i == nil || annotations[v1alpha1.OperatorAnnotation] == i.name {
		return false
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.OperatorAnnotation] = i.name
	o.SetAnnotations(annotations)
	return true
}

// Claim reports whether the operator holds an object. It writes its name and the
// finalizer, if one is given, into an object without a holder, in one patch that a
// faster operator makes fail. About another's object it writes one Event and, where the
// cluster has no such operator, a condition. Such an object it holds once it is being
// deleted: nothing else would remove the finalizer.
func (i *Instance) Claim(ctx context.Context, c client.Client, recorder events.EventRecorder, o client.Object, finalizer string) (bool, error) {
	if !i.Holds(o) {
		return i.meetForeign(ctx, c, recorder, o)
	}
	if !o.GetDeletionTimestamp().IsZero() {
		return true, nil
	}
	before := o.DeepCopyObject().(client.Object)
	changed := i.Mark(o)
	if finalizer != "" {
		changed = controllerutil.AddFinalizer(o, finalizer) || changed
	}
	if !changed {
		return true, nil
	}
	return true, c.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// IsPaused reports whether an object is paused, with one Event for each pause.
func (i *Instance) IsPaused(recorder events.EventRecorder, o client.Object) bool {
	paused := o.GetAnnotations()[v1alpha1.PausedAnnotation] == "true"
	if i == nil {
		return paused
	}
	known, _ := i.reported.Get(o.GetUID())
	switch {
	case paused && known != v1alpha1.PausedAnnotation:
		i.reported.Add(o.GetUID(), v1alpha1.PausedAnnotation)
		status.RecordNormal(recorder, o, "Paused", "The operator leaves it as it is while its annotation "+v1alpha1.PausedAnnotation+" is true")
	case !paused && known == v1alpha1.PausedAnnotation:
		i.reported.Remove(o.GetUID())
	}
	return paused
}

// report writes an Event about an object of another operator, once for each holder.
func (i *Instance) report(recorder events.EventRecorder, o client.Object) {
	holder := o.GetAnnotations()[v1alpha1.OperatorAnnotation]
	if known, _ := i.reported.Get(o.GetUID()); known == holder {
		return
	}
	i.reported.Add(o.GetUID(), holder)
	status.RecordNormal(recorder, o, v1alpha1.ReasonHeldByAnother,
		fmt.Sprintf("The operator %s leaves it alone: its annotation %s names %s", i.name, v1alpha1.OperatorAnnotation, holder))
}

// NewPredicate returns a predicate that passes an object that was handed over, paused or
// resumed. It does not pass one that had no holder: the operator that claims it looks after
// it at once, and would do so again for its own claim.
func NewPredicate() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()
			holder := before[v1alpha1.OperatorAnnotation]
			return holder != "" && holder != after[v1alpha1.OperatorAnnotation] ||
				before[v1alpha1.PausedAnnotation] != after[v1alpha1.PausedAnnotation]
		},
	}
}
