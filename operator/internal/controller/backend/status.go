package backend

import (
	"context"
	"fmt"
	"strings"

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
	if equality.Semantic.DeepEqual(before.Status, b.Status) {
		return nil
	}
	written, err := status.Patch(ctx, r.Client, before, b)
	if written {
		status.RecordReady(r.Recorder, b, before.Status.Conditions, b.Status.Conditions, "Everything that is declared runs")
	}
	return err
}

// setConditions describes the state. Ready is derived from the other conditions.
func setConditions(b *v1alpha1.Backend, p changePlan, problem *status.Problem) {
	available, reconciling, degraded := describeAvailability(p.rollouts), describeProgress(p), describeHealth(problem)
	ready := metav1.Condition{Type: v1alpha1.Ready, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRolledOut}
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
	status.SetConditions(&b.Status.Conditions, b.Generation, available, reconciling, degraded, ready)
	b.Status.ObservedGeneration = b.Generation
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

func describeHealth(problem *status.Problem) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.Degraded, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonHealthy}
	if problem != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, problem.Reason, problem.Message
	}
	return c
}
