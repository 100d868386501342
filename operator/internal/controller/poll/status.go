package poll

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// settle is how long after its end a poll's numbers are read: the service's
// clock may be behind, and what it accepted last is still to be counted.
const settle = 2 * time.Second

// The statuses of a poll in the contract.
const (
	pending = "pending"
	active  = "active"
	expired = "expired"
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

// schedule says where the poll stands in its schedule.
func (r *Reconciler) schedule(p *v1alpha1.Poll) {
	now := r.Now().Unix()
	switch {
	case now < seconds(p.Spec.StartsAt):
		p.Status.PollStatus = pending
	case p.Spec.EndsAt != nil && now >= p.Spec.EndsAt.Unix():
		p.Status.PollStatus = expired
	default:
		p.Status.PollStatus = active
	}
}

// next returns the time until something is to be done though nothing changed:
// the next turn of the schedule, or the next look at the service.
func (r *Reconciler) next(p *v1alpha1.Poll) time.Duration {
	wait := r.DriftInterval
	for _, at := range []*metav1.Time{p.Spec.StartsAt, p.Spec.EndsAt, settled(p)} {
		if at == nil {
			continue
		}
		if until := at.Sub(r.Now()); until > 0 {
			wait = min(wait, until)
		}
	}
	return wait
}

// settled returns when the poll's final numbers may be read.
func settled(p *v1alpha1.Poll) *metav1.Time {
	if p.Spec.EndsAt == nil {
		return nil
	}
	return &metav1.Time{Time: p.Spec.EndsAt.Add(settle)}
}

// conclude reads the final numbers of a poll that has expired, once for each end.
func (r *Reconciler) conclude(ctx context.Context, p *v1alpha1.Poll, t target) *problem {
	end := p.Spec.EndsAt
	if end == nil || r.Now().Before(settled(p).Time) {
		p.Status.Statistics = nil
		return nil
	}
	if p.Status.Statistics != nil && p.Status.Statistics.EndsAt.Equal(end) {
		return nil
	}
	numbers, err := t.service.Statistics(ctx, t.poll)
	if err != nil {
		return r.refused(err)
	}
	p.Status.Statistics = &v1alpha1.PollStatistics{
		EndsAt:   *end,
		Count:    numbers.Count,
		Sum:      numbers.Sum.String(),
		Mean:     numbers.Mean.String(),
		Stddev:   numbers.Stddev.String(),
		Specific: numbers.Specific,
	}
	return nil
}

// announce writes an Event when Ready turned or has another reason.
func (r *Reconciler) announce(before, after *v1alpha1.Poll) {
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.Ready)
	is := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.Ready)
	if is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return
	}
	if is.Status == metav1.ConditionTrue {
		r.note(after, is.Reason, "The service holds the declared configuration")
		return
	}
	r.warn(after, is.Reason, is.Message)
}

func (r *Reconciler) note(p *v1alpha1.Poll, reason, message string) {
	r.Recorder.Eventf(p, nil, corev1.EventTypeNormal, reason, "Reconcile", "%s", message)
}

func (r *Reconciler) warn(p *v1alpha1.Poll, reason, message string) {
	r.Recorder.Eventf(p, nil, corev1.EventTypeWarning, reason, "Reconcile", "%s", message)
}
