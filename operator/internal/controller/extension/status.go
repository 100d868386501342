package extension

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// report writes the status of every Extension that changed, and an Event if Ready
// did. A failure does not keep the others back.
func (r *Reconciler) report(ctx context.Context, s namespaceState, refusals map[types.UID]*status.Problem, unconfirmed []*confirmation) error {
	published, err := r.readPublished(ctx, s)
	if err != nil {
		return err
	}
	var failed []error
	for i := range s.extensions {
		before := &s.extensions[i]
		if !r.Instance.Holds(before) {
			continue
		}
		after := before.DeepCopy()
		finding := s.findingOf(after)
		missing := status.FirstProblem(r.findRegistryProblem(s, after, refusals, published), findPodProblem(after, unconfirmed))
		r.setConditions(after, s.holds[client.ObjectKeyFromObject(after)], finding, missing)
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

// readPublished returns the published registries of the Backends of other namespaces,
// which other reconciliations write.
func (r *Reconciler) readPublished(ctx context.Context, s namespaceState) (map[types.UID][]byte, error) {
	published := map[types.UID][]byte{}
	for _, b := range s.backends {
		if b.Namespace == s.namespace {
			continue
		}
		var secret corev1.Secret
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: desired.RegistrySecret(b.Name)}, &secret)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if secret.Labels[desired.OperatorLabel] == desired.Operator {
			published[b.UID] = secret.Data[desired.RegistryKey]
		}
	}
	return published, nil
}

// findRegistryProblem returns the reason why an Extension is not in every registry
// for whose environment it has a key.
func (r *Reconciler) findRegistryProblem(s namespaceState, e *v1alpha1.Extension, refusals map[types.UID]*status.Problem, published map[types.UID][]byte) *status.Problem {
	problem := func(reason, format string, args ...any) *status.Problem {
		return status.NewProblem(v1alpha1.Registered, reason, format, args...)
	}
	finding := s.findingOf(e)
	if finding.Conflict != nil {
		return finding.Conflict
	}
	if finding.Excess {
		return problem(v1alpha1.ReasonTooManyExtensions, "Older Extensions of this namespace are as many as the Backend serves of it")
	}
	hasBackend := false
	for _, environment := range []registry.Environment{registry.Production, registry.Sandbox} {
		backends := s.backendsOf(e, environment)
		if ref := sharing.ReferenceOf(e, string(environment)); ref != nil && len(backends) == 0 {
			return r.findMissing(e, ref, environment)
		}
		if _, usable := finding.ActiveFrom[environment]; !usable || len(backends) == 0 {
			continue
		}
		hasBackend = true
		if finding.Full[environment] {
			return problem(v1alpha1.ReasonRegistryFull,
				"Older Extensions fill the %s registry, which holds %d bytes", environment, registry.MaxBytes)
		}
		if p := findUnwritten(e, backends, refusals, published); p != nil {
			return p
		}
	}
	if len(finding.ActiveFrom) == 0 {
		return problem(v1alpha1.ReasonNoUsableKey, "No key can be used: see KeysUsable")
	}
	if !hasBackend {
		return problem(v1alpha1.ReasonNoBackend, "The namespace has no Backend for an environment that the Extension has a key for")
	}
	return nil
}

// findUnwritten returns the problem of the first Backend whose registry was refused or, in
// another namespace, does not have the Extension yet.
func findUnwritten(e *v1alpha1.Extension, backends []*servedBackend, refusals map[types.UID]*status.Problem, published map[types.UID][]byte) *status.Problem {
	for _, b := range backends {
		if p := refusals[b.UID]; p != nil {
			return p
		}
		if b.Namespace != e.Namespace && !b.rendering.IsIn(published[b.UID], client.ObjectKeyFromObject(e), b.environment()) {
			return newWait("The registry of Backend %q has yet to be written", sharing.NameFrom(b.Backend, e.Namespace))
		}
	}
	return nil
}

// findMissing returns the problem of a reference that leads to no Backend. To another
// namespace it tells nothing else.
func (r *Reconciler) findMissing(e *v1alpha1.Extension, ref *v1alpha1.BackendReference, environment registry.Environment) *status.Problem {
	name := sharing.Resolve(ref, e.Namespace)
	reason := v1alpha1.ReasonNoBackend
	if name.Namespace != e.Namespace {
		reason = v1alpha1.ReasonRefNotPermitted
	}
	return status.NewProblem(v1alpha1.Registered, reason, "%s as one of the environment %s", r.consent().DescribeMissing(name, e.Namespace), environment)
}
