package extension

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// report writes the status of every Extension that changed, and an Event if Ready
// did. A failure does not keep the others back.
func (r *Reconciler) report(ctx context.Context, s namespaceState, findings map[string]*registry.Finding, published map[registry.Environment]publishResult, unconfirmed []*confirmation) error {
	var failed []error
	for i := range s.extensions {
		before := &s.extensions[i]
		if !r.Instance.Holds(before) {
			continue
		}
		after := before.DeepCopy()
		finding := findings[after.Name]
		missing := status.FirstProblem(findRegistryProblem(finding, published), findPodProblem(after, unconfirmed))
		r.setConditions(after, s.holds[after.Name], finding, missing)
		if equality.Semantic.DeepEqual(before.Status, after.Status) {
			continue
		}
		written, err := status.Patch(ctx, r.Client, before, after)
		if written {
			status.RecordReady(r.Recorder, after, before.Status.Conditions, after.Status.Conditions, "The services have the Extension")
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// setConditions describes the keys, and what is missing until the services have them. Ready is the first of the
// two that is not true, or tells what a deletion waits for.
func (r *Reconciler) setConditions(e *v1alpha1.Extension, hold pollHold, finding *registry.Finding, missing *status.Problem) {
	keys := status.NewCondition(v1alpha1.KeysUsable, v1alpha1.ReasonUsable, r.findKeyProblem(finding))
	registered := status.NewCondition(v1alpha1.Registered, v1alpha1.ReasonRegistered, missing)
	ready := registered
	if keys.Status != metav1.ConditionTrue {
		ready = keys
	}
	ready.Type = v1alpha1.Ready
	if !e.DeletionTimestamp.IsZero() && len(hold.polls) > 0 {
		ready = describeWait(e, hold)
	}
	status.SetConditions(&e.Status.Conditions, e.Generation, keys, registered, ready)
	status.SetProgress(&e.Status.Conditions, e.Generation)
	e.Status.ObservedGeneration = e.Generation
}

// findKeyProblem returns the problem with an Extension's keys: the reason is that
// of the first, the message names all.
func (r *Reconciler) findKeyProblem(finding *registry.Finding) *status.Problem {
	problems := slices.Clone(finding.Keys)
	for _, environment := range slices.Sorted(maps.Keys(finding.ActiveFrom)) {
		if at := finding.ActiveFrom[environment]; at.After(r.Now()) {
			problems = append(problems, *status.NewProblem(v1alpha1.KeysUsable, v1alpha1.ReasonNotActive,
				"no %s key is active before %s", environment, at.UTC().Format(time.RFC3339)))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	messages := make([]string, 0, len(problems))
	for _, p := range problems {
		messages = append(messages, p.Message)
	}
	return status.NewProblem(v1alpha1.KeysUsable, problems[0].Reason, "%s", strings.Join(messages, "; "))
}

// findRegistryProblem returns the reason why an Extension is not in every registry
// for whose environment it has a key.
func findRegistryProblem(finding *registry.Finding, published map[registry.Environment]publishResult) *status.Problem {
	problem := func(reason, format string, args ...any) *status.Problem {
		return status.NewProblem(v1alpha1.Registered, reason, format, args...)
	}
	if finding.Conflict != nil {
		return finding.Conflict
	}
	if len(finding.ActiveFrom) == 0 {
		return problem(v1alpha1.ReasonNoUsableKey, "No key can be used: see KeysUsable")
	}
	hasBackend := false
	for _, environment := range slices.Sorted(maps.Keys(finding.ActiveFrom)) {
		result, ok := published[environment]
		switch {
		case !ok:
			continue
		case finding.Full[environment]:
			return problem(v1alpha1.ReasonRegistryFull,
				"Older Extensions fill the %s registry, which holds %d bytes", environment, registry.MaxBytes)
		case result.refusal != "":
			return problem(v1alpha1.ReasonRegistryNotWritten, "%s", result.refusal)
		}
		hasBackend = true
	}
	if !hasBackend {
		return problem(v1alpha1.ReasonNoBackend, "The namespace has no Backend for an environment that the Extension has a key for")
	}
	return nil
}
