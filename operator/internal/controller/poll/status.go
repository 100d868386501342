package poll

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// setConditions says what is and, when there is one, what the problem is. Ready
// is derived from the other two.
func setConditions(p *v1alpha1.Poll, found *problem) {
	available := metav1.Condition{Type: v1alpha1.ServicesAvailable, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonServing}
	configured := metav1.Condition{Type: v1alpha1.Configured, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonInSync}
	ready := metav1.Condition{Type: v1alpha1.Ready, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonInSync}
	if found != nil {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, found.reason, found.message
		broken := &configured
		if found.condition == v1alpha1.ServicesAvailable {
			broken = &available
			configured.Status, configured.Reason = metav1.ConditionUnknown, v1alpha1.ReasonWaiting
		}
		broken.Status, broken.Reason, broken.Message = metav1.ConditionFalse, found.reason, found.message
	}
	for _, condition := range []metav1.Condition{available, configured, ready} {
		condition.ObservedGeneration = p.Generation
		meta.SetStatusCondition(&p.Status.Conditions, condition)
	}
	p.Status.ObservedGeneration = p.Generation
}

// announce writes an Event when Ready turned or has another reason. That a Poll
// was ready at once is what everybody expects and no news.
func (r *Reconciler) announce(before, after *v1alpha1.Poll) {
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.Ready)
	is := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.Ready)
	switch {
	case is == nil, was != nil && was.Status == is.Status && was.Reason == is.Reason:
	case is.Status != metav1.ConditionTrue:
		r.warn(after, is.Reason, is.Message)
	case was != nil:
		r.note(after, is.Reason, "The service holds the declared configuration")
	}
}

func (r *Reconciler) note(p *v1alpha1.Poll, reason, message string) {
	r.Recorder.Eventf(p, nil, corev1.EventTypeNormal, reason, "Reconcile", "%s", message)
}

func (r *Reconciler) warn(p *v1alpha1.Poll, reason, message string) {
	r.Recorder.Eventf(p, nil, corev1.EventTypeWarning, reason, "Reconcile", "%s", message)
}
