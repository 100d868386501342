package poll

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// setConditions reports the problem, if there is one. Ready is derived from the
// other two conditions, or has a problem of its own.
func setConditions(p *v1alpha1.Poll, problem *status.Problem) {
	var service, config *status.Problem
	switch {
	case problem == nil:
	case problem.Condition == v1alpha1.ServicesAvailable:
		service = problem
	case problem.Condition == v1alpha1.Configured:
		config = problem
	}
	available := status.NewCondition(v1alpha1.ServicesAvailable, v1alpha1.ReasonServing, service)
	configured := status.NewCondition(v1alpha1.Configured, v1alpha1.ReasonInSync, config)
	if service != nil {
		configured.Status, configured.Reason = metav1.ConditionUnknown, v1alpha1.ReasonWaiting
	}
	ready := status.NewCondition(v1alpha1.Ready, v1alpha1.ReasonInSync, problem)
	status.SetConditions(&p.Status.Conditions, p.Generation, available, configured, ready)
	status.SetProgress(&p.Status.Conditions, p.Generation)
	p.Status.ObservedGeneration = p.Generation
}

// findOutage returns the problem of a Backend whose services are known not to answer
// without asking them.
func findOutage(b *v1alpha1.Backend) *status.Problem {
	ready := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.Ready)
	if meta.IsStatusConditionFalse(b.Status.Conditions, v1alpha1.Available) && ready != nil {
		return newBackendProblem(v1alpha1.ReasonBackendNotReady, "Backend %q: %s: %s", b.Name, ready.Reason, ready.Message)
	}
	return nil
}

// recordReady writes an Event if Ready changed. A Poll that is ready at once gets
// none: that is the normal case.
func (r *Reconciler) recordReady(before, after *v1alpha1.Poll) {
	first := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.Ready) == nil
	if first && !isUnready(after) {
		return
	}
	status.RecordReady(r.Recorder, after, before.Status.Conditions, after.Status.Conditions, "The service holds the declared configuration")
}
