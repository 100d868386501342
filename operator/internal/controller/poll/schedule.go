package poll

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// settle is how long after its end a poll's numbers are read: the clocks of the
// service's pods may differ, and what they accepted last is still to be counted.
const settle = 2 * time.Second

// The statuses of a poll in the contract.
const (
	pending = "pending"
	active  = "active"
	expired = "expired"
)

// turns are when a poll opens, when it expires and when its final numbers may be
// read, to the second as the service has them; zero where nothing is set.
type turns struct{ start, end, settled time.Time }

func turnsOf(p *v1alpha1.Poll) (t turns) {
	if p.Spec.StartsAt != nil {
		t.start = time.Unix(seconds(p.Spec.StartsAt), 0)
	}
	if p.Spec.EndsAt != nil {
		t.end = time.Unix(seconds(p.Spec.EndsAt), 0)
		t.settled = t.end.Add(settle)
	}
	return t
}

// schedule says where the poll stands in its schedule and when that will change.
func (r *Reconciler) schedule(p *v1alpha1.Poll) {
	now, t := r.Now(), turnsOf(p)
	p.Status.NextTransitionTime = nil
	switch {
	case now.Before(t.start):
		p.Status.PollStatus = pending
		p.Status.NextTransitionTime = &metav1.Time{Time: t.start}
	case t.end.IsZero():
		p.Status.PollStatus = active
	case now.Before(t.end):
		p.Status.PollStatus = active
		p.Status.NextTransitionTime = &metav1.Time{Time: t.end}
	default:
		p.Status.PollStatus = expired
	}
}

// next says when something is to be done though nothing changed: at the next
// turn of the schedule or, after everything that is more urgent, the next look
// at the service.
func (r *Reconciler) next(p *v1alpha1.Poll) ctrl.Result {
	low := handler.LowPriority
	result := ctrl.Result{RequeueAfter: r.DriftInterval, Priority: &low}
	t := turnsOf(p)
	for _, at := range []time.Time{t.start, t.end, t.settled} {
		if until := at.Sub(r.Now()); until > 0 && until < result.RequeueAfter {
			result = ctrl.Result{RequeueAfter: until, Priority: new(int)}
		}
	}
	return result
}

// conclude reads the final numbers of a poll, once for each end: when the service
// says itself that the poll is expired.
func (r *Reconciler) conclude(ctx context.Context, p *v1alpha1.Poll, t target) *problem {
	at := turnsOf(p)
	if at.end.IsZero() || r.Now().Before(at.settled) {
		p.Status.Statistics = nil
		return nil
	}
	if p.Status.Statistics != nil && p.Status.Statistics.EndsAt.Time.Equal(at.end) {
		return nil
	}
	config, _, err := t.service.Config(ctx, t.poll)
	if err != nil {
		return r.refused(t, err)
	}
	if config.Status != expired {
		return nil // its clock is behind, or it has another end; the next look may find it so
	}
	numbers, err := t.service.Statistics(ctx, t.poll)
	if err != nil {
		return r.refused(t, err)
	}
	p.Status.Statistics = &v1alpha1.PollStatistics{
		EndsAt:   metav1.Time{Time: at.end},
		Count:    numbers.Count,
		Sum:      numbers.Sum.String(),
		Mean:     numbers.Mean.String(),
		Stddev:   numbers.Stddev.String(),
		Specific: numbers.Specific,
	}
	return nil
}
