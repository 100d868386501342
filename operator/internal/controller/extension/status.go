package extension

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
)

// report tells every Extension of a namespace how it fared. One that cannot be
// told leaves the others alone.
func (r *Reconciler) report(ctx context.Context, namespace string, extensions []v1alpha1.Extension, findings map[string]*registry.Finding, served map[registry.Environment]service) error {
	past, present := r.memory.of(namespace), statuses{}
	var failed []error
	for i := range extensions {
		before := &extensions[i]
		version := before.ResourceVersion
		if past.recall(before) {
			present[before.UID] = past[before.UID]
		}
		e := before.DeepCopy()
		r.setConditions(e, findings[e.Name], served)
		if equality.Semantic.DeepEqual(before.Status, e.Status) {
			continue
		}
		if err := r.Client.Status().Patch(ctx, e, client.MergeFrom(before)); err != nil {
			failed = append(failed, client.IgnoreNotFound(err))
			continue
		}
		present[e.UID] = present[e.UID].then(e, version)
		r.announce(before, e)
	}
	r.memory.keep(namespace, present)
	return errors.Join(failed...)
}

// setConditions says what is with the keys and with the registries. Ready is
// the first of the two that is not true.
func (r *Reconciler) setConditions(e *v1alpha1.Extension, finding *registry.Finding, served map[registry.Environment]service) {
	keys := condition(v1alpha1.KeysUsable, v1alpha1.ReasonUsable, r.keys(finding))
	registered := condition(v1alpha1.Registered, v1alpha1.ReasonRegistered, registration(finding, served))
	ready := registered
	if keys.Status != metav1.ConditionTrue {
		ready = keys
	}
	ready.Type = v1alpha1.Ready
	for _, c := range []metav1.Condition{keys, registered, ready} {
		c.ObservedGeneration = e.Generation
		meta.SetStatusCondition(&e.Status.Conditions, c)
	}
	e.Status.ObservedGeneration = e.Generation
}

// condition returns a condition that is true for the given reason, or false
// because of a problem.
func condition(of, reason string, problem *registry.Problem) metav1.Condition {
	if problem == nil {
		return metav1.Condition{Type: of, Status: metav1.ConditionTrue, Reason: reason}
	}
	return metav1.Condition{Type: of, Status: metav1.ConditionFalse, Reason: problem.Reason, Message: problem.Message}
}

// keys returns what is wrong with keys: the reason is that of the first, the
// message names all.
func (r *Reconciler) keys(finding *registry.Finding) *registry.Problem {
	problems := slices.Clone(finding.Keys)
	for _, environment := range slices.Sorted(maps.Keys(finding.ActiveFrom)) {
		if at := finding.ActiveFrom[environment]; at.After(r.Now()) {
			problems = append(problems, registry.Problem{
				Reason:  v1alpha1.ReasonNotActive,
				Message: fmt.Sprintf("no %s key is active before %s", environment, at.UTC().Format(time.RFC3339)),
			})
		}
	}
	if len(problems) == 0 {
		return nil
	}
	messages := make([]string, 0, len(problems))
	for _, p := range problems {
		messages = append(messages, p.Message)
	}
	return &registry.Problem{Reason: problems[0].Reason, Message: strings.Join(messages, "; ")}
}

// registration returns why an Extension is not in every registry that it has a
// key for.
func registration(finding *registry.Finding, served map[registry.Environment]service) *registry.Problem {
	if finding.Conflict != nil {
		return finding.Conflict
	}
	if len(finding.ActiveFrom) == 0 {
		return &registry.Problem{Reason: v1alpha1.ReasonNoUsableKey, Message: "No key can be used: see KeysUsable"}
	}
	somewhere := false
	for _, environment := range slices.Sorted(maps.Keys(finding.ActiveFrom)) {
		services, ok := served[environment]
		switch {
		case !ok:
			continue
		case finding.Full[environment]:
			return &registry.Problem{
				Reason:  v1alpha1.ReasonRegistryFull,
				Message: fmt.Sprintf("Older Extensions fill the %s registry, which holds %d bytes", environment, registry.MaxBytes),
			}
		case services.refused != "":
			return &registry.Problem{Reason: v1alpha1.ReasonRegistryNotWritten, Message: services.refused}
		}
		somewhere = true
	}
	if !somewhere {
		return &registry.Problem{Reason: v1alpha1.ReasonNoBackend, Message: "The namespace has no Backend for an environment that the Extension has a key for"}
	}
	return nil
}

// announce writes an Event when Ready turned or has another reason.
func (r *Reconciler) announce(before, after *v1alpha1.Extension) {
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.Ready)
	is := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.Ready)
	if was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return
	}
	if is.Status == metav1.ConditionTrue {
		r.Recorder.Eventf(after, nil, corev1.EventTypeNormal, is.Reason, "Reconcile", "The services are given the Extension")
		return
	}
	r.Recorder.Eventf(after, nil, corev1.EventTypeWarning, is.Reason, "Reconcile", "%s", is.Message)
}
