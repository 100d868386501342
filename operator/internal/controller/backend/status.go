package backend

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// report writes the status once, if it changed, and an Event if Ready did. What
// will be known with the next event is not guessed at: an autoscaler that adds
// pods would otherwise make Ready turn twice.
func (r *Reconciler) report(ctx context.Context, b *v1alpha1.Backend, p plan, refusal *trouble) error {
	if p.unknown && refusal == nil {
		return nil
	}
	before := b.DeepCopy()
	found := p.trouble
	if found == nil {
		found = refusal
	}
	setConditions(b, p, found)
	if equality.Semantic.DeepEqual(before.Status, b.Status) {
		return nil
	}
	if err := r.Client.Status().Patch(ctx, b, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.announce(before, b)
	return nil
}

// setConditions says how things stand. Ready is derived from the others.
func setConditions(b *v1alpha1.Backend, p plan, found *trouble) {
	available, reconciling, degraded := availability(p.standings), progress(p), health(found)
	ready := metav1.Condition{Type: v1alpha1.Ready, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRolledOut}
	for _, c := range []metav1.Condition{degraded, reconciling} {
		if c.Status == metav1.ConditionTrue {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, c.Reason, c.Message
			break
		}
	}
	for _, c := range []metav1.Condition{available, reconciling, degraded, ready} {
		c.ObservedGeneration = b.Generation
		meta.SetStatusCondition(&b.Status.Conditions, c)
	}
	b.Status.ObservedGeneration = b.Generation
}

func availability(standings []standing) metav1.Condition {
	var none []string
	for _, s := range standings {
		if !s.serves {
			none = append(none, s.service)
		}
	}
	c := metav1.Condition{Type: v1alpha1.Available, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonServing}
	if len(none) > 0 {
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonNoReadyPods
		c.Message = "No pod is ready of " + strings.Join(none, ", ")
	}
	return c
}

func progress(p plan) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.Reconciling, Status: metav1.ConditionTrue}
	if p.awaited != nil {
		c.Reason, c.Message = p.awaited.reason, p.awaited.message
		return c
	}
	var parts, waiting []string
	for _, s := range p.standings {
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

func health(found *trouble) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.Degraded, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonHealthy}
	if found != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, found.reason, found.message
	}
	return c
}

// announce writes an Event when Ready turned or has another reason.
func (r *Reconciler) announce(before, after *v1alpha1.Backend) {
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.Ready)
	is := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.Ready)
	if was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return
	}
	kind, message := corev1.EventTypeNormal, is.Message
	switch {
	case is.Status == metav1.ConditionTrue:
		message = "Everything that is declared runs"
	case meta.IsStatusConditionTrue(after.Status.Conditions, v1alpha1.Degraded):
		kind = corev1.EventTypeWarning
	}
	r.Recorder.Eventf(after, nil, kind, is.Reason, "Reconcile", "%s", message)
}
