package poll

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// settleDelay is the time from a poll's end until its final statistics are read:
// the clocks of the service's pods may differ, and the last accepted votes are
// still to be counted.
const settleDelay = 2 * time.Second

// pollTimes are the times at which a poll opens, expires, and has its final
// statistics, in whole seconds as the service has them; zero if not set.
type pollTimes struct{ start, end, settled time.Time }

func timesOf(p *v1alpha1.Poll) (t pollTimes) {
	if p.Spec.StartsAt != nil {
		t.start = time.Unix(unixSeconds(p.Spec.StartsAt), 0)
	}
	if p.Spec.EndsAt != nil {
		t.end = time.Unix(unixSeconds(p.Spec.EndsAt), 0)
		t.settled = t.end.Add(settleDelay)
	}
	return t
}

// updateSchedule sets the poll's status in its schedule and the time of the next
// transition.
func (r *Reconciler) updateSchedule(p *v1alpha1.Poll) {
	now, t := r.Now(), timesOf(p)
	p.Status.NextTransitionTime = nil
	for _, at := range []time.Time{t.end, t.start} {
		if now.Before(at) {
			p.Status.NextTransitionTime = &metav1.Time{Time: at}
		}
	}
	p.Status.PollStatus = string(scheduleOf(p).Status(now))
}

// nextResult returns the time of the next reconciliation without a change: the next
// transition of the schedule or, at low priority, the next comparison with the
// service.
func (r *Reconciler) nextResult(p *v1alpha1.Poll) ctrl.Result {
	low := handler.LowPriority
	result := ctrl.Result{RequeueAfter: r.DriftInterval, Priority: &low}
	t := timesOf(p)
	for _, at := range []time.Time{t.start, t.end, t.settled, r.nextReport(p)} {
		if until := at.Sub(r.Now()); until > 0 && until < result.RequeueAfter {
			result = ctrl.Result{RequeueAfter: until, Priority: new(int)}
		}
	}
	return result
}

// recordStatistics reads the final statistics of a poll, once for each end, when
// the service itself reports the poll as expired.
func (r *Reconciler) recordStatistics(ctx context.Context, p *v1alpha1.Poll, t pollTarget) *status.Problem {
	at := timesOf(p)
	if at.end.IsZero() || r.Now().Before(at.settled) {
		p.Status.Statistics = nil
		return nil
	}
	if p.Status.Statistics != nil && p.Status.Statistics.EndsAt.Time.Equal(at.end) {
		return nil
	}
	config, _, err := t.service.ReadPollConfig(ctx, t.poll)
	if err != nil {
		return r.classifyError(t, err)
	}
	if config.Status != contract.Expired {
		return nil // its clock is behind, or it has another end; the next comparison finds out
	}
	numbers, err := t.service.ReadStatistics(ctx, t.poll)
	if err != nil {
		return r.classifyError(t, err)
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
