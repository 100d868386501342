package backend

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// report writes the status once if it changed, and an Event if Ready did. It waits
// for the Deployment controller to see a change: a new number of pods, set by an
// autoscaler, would otherwise make Ready change twice.
func (r *Reconciler) report(ctx context.Context, b *v1alpha1.Backend, p changePlan, refusal *status.Problem) error {
	if p.unobserved && refusal == nil {
		return nil
	}
	before := b.DeepCopy()
	setConditions(b, p, status.FirstProblem(p.problem, refusal))
	if equality.Semantic.DeepEqual(before.Status, b.Status) && r.untilLook(b) > 0 {
		return nil
	}
	b.Status.ObservedTime = &metav1.Time{Time: r.Now()}
	written, err := status.Patch(ctx, r.Client, before, b)
	if written {
		status.RecordReady(r.Recorder, b, before.Status.Conditions, b.Status.Conditions, "Everything that is declared runs")
	}
	return err
}

// lookInterval is the time between two writes of the time at which the operator looked, where
// there is nothing else to write.
const lookInterval = 5 * time.Minute

// untilLook returns the time until the next of these writes, not positive where it is due.
func (r *Reconciler) untilLook(b *v1alpha1.Backend) time.Duration {
	if b.Status.ObservedTime == nil {
		return 0
	}
	return b.Status.ObservedTime.Add(lookInterval).Sub(r.Now())
}

// setConditions describes the state. Ready is derived from the other conditions.
func setConditions(b *v1alpha1.Backend, p changePlan, problem *status.Problem) {
	available, reconciling, degraded := describeAvailability(p.rollouts), describeProgress(p), status.NewDegraded(problem)
	ready := metav1.Condition{Type: v1alpha1.Ready, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRolledOut}
	if b.Spec.Suspend {
		const message = "The Backend is suspended, as declared: it runs no pods"
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, v1alpha1.ReasonBackendSuspended, message
		available.Status, available.Reason, available.Message = ready.Status, ready.Reason, ready.Message
	}
	if b.Spec.RestoreFrom != nil {
		status.SetConditions(&b.Status.Conditions, b.Generation, p.restoration.describe())
	}
	for _, c := range []metav1.Condition{degraded, reconciling} {
		if c.Status == metav1.ConditionTrue {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, c.Reason, c.Message
			break
		}
	}
	if ready.Status != metav1.ConditionTrue && status.NeedsPerson(ready.Reason) {
		// kstatus reads the first of the two that is true.
		reconciling.Status, reconciling.Reason = metav1.ConditionFalse, ready.Reason
		status.SetConditions(&b.Status.Conditions, b.Generation, metav1.Condition{
			Type: v1alpha1.Stalled, Status: metav1.ConditionTrue, Reason: ready.Reason, Message: ready.Message,
		})
	} else {
		meta.RemoveStatusCondition(&b.Status.Conditions, v1alpha1.Stalled)
	}
	if p.addressed != nil {
		status.SetConditions(&b.Status.Conditions, b.Generation, *p.addressed)
	} else {
		meta.RemoveStatusCondition(&b.Status.Conditions, v1alpha1.Addressed)
	}
	status.SetConditions(&b.Status.Conditions, b.Generation, available, reconciling, degraded, ready)
	setPods(b, p.rollouts)
	b.Status.ObservedGeneration = b.Generation
}

// setPods counts pods, and names the host that leads to them. A rollout has more than it
// should for moments, which are not worth a write.
func setPods(b *v1alpha1.Backend, rollouts []rolloutState) {
	b.Status.Replicas, b.Status.ReadyReplicas, b.Status.Host = 0, 0, ""
	for _, s := range rollouts {
		b.Status.Replicas += s.pods
		b.Status.ReadyReplicas += min(s.ready, s.pods)
	}
	switch {
	case b.Spec.Ingress != nil:
		b.Status.Host = b.Spec.Ingress.Host
	case b.Spec.Route != nil:
		b.Status.Host = b.Spec.Route.Host
	}
}

func describeAvailability(rollouts []rolloutState) metav1.Condition {
	var none []string
	for _, s := range rollouts {
		if !s.serves {
			none = append(none, s.service)
		}
	}
	c := metav1.Condition{Type: v1alpha1.Available, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonServing}
	if len(rollouts) == 0 {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonNoServices, "Every service is disabled"
	}
	if len(none) > 0 {
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonNoReadyPods
		c.Message = "No pod is ready in " + strings.Join(none, ", ")
	}
	return c
}

// describeAddress reports what an ingress controller has published about the Ingress.
func describeAddress(s *clusterState) *metav1.Condition {
	if s.backend.Spec.Ingress == nil {
		return nil
	}
	var addresses []string
	if stored, exists := s.have[objectID{"Ingress", s.backend.Name}].(*networkingv1.Ingress); exists {
		for _, a := range stored.Status.LoadBalancer.Ingress {
			addresses = append(addresses, cmp.Or(a.Hostname, a.IP))
		}
	}
	if len(addresses) == 0 {
		return &metav1.Condition{
			Type: v1alpha1.Addressed, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonNoAddress,
			Message: "No ingress controller has published an address of the Ingress: none takes it, or the one that does publishes no addresses",
		}
	}
	return &metav1.Condition{
		Type: v1alpha1.Addressed, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAddressPublished, Message: status.NameSome(addresses),
	}
}

func describeProgress(p changePlan) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.Reconciling, Status: metav1.ConditionTrue}
	if p.awaited != nil {
		c.Reason, c.Message = p.awaited.Reason, p.awaited.Message
		return c
	}
	var parts, waiting []string
	for _, s := range p.rollouts {
		switch {
		case s.waits:
			waiting = append(waiting, s.service)
		case s.declared == 0 && !s.settled:
			parts = append(parts, s.service+" stops its pods")
		case s.replacing:
			parts = append(parts, s.service+" replaces its pods")
		case !s.settled:
			parts = append(parts, fmt.Sprintf("%s has %d of %d pods ready", s.service, min(s.ready, s.declared), s.declared))
		}
	}
	if len(waiting) > 0 {
		parts = append(parts, "new pods wait in "+strings.Join(waiting, ", "))
	}
	c.Reason, c.Message = v1alpha1.ReasonRollingOut, strings.Join(parts, "; ")
	if len(parts) == 0 {
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonRolledOut
	}
	return c
}
