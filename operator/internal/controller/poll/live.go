package poll

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// reportLive reads the statistics of a Poll that reports, once in each interval while it is
// active. With the final statistics the report is final, too.
func (r *Reconciler) reportLive(ctx context.Context, p *v1alpha1.Poll, t pollTarget) *status.Problem {
	at, now := timesOf(p), r.Now()
	if p.Spec.ReportInterval == nil || now.Before(at.start) {
		p.Status.Live = nil
		return nil
	}
	if final := p.Status.Statistics; final != nil {
		p.Status.Live = &v1alpha1.LiveStatistics{
			Time: final.EndsAt, Count: final.Count, Leader: findLeader(p.Spec.Options, final.Specific), Rate: formatRate(0),
		}
		return nil
	}
	if !isReporting(p, now) || now.Before(dueReport(p)) {
		return nil
	}
	numbers, err := t.service.ReadStatistics(ctx, t.poll)
	if err != nil {
		return r.classifyError(t, err)
	}
	live := &v1alpha1.LiveStatistics{
		Time: metav1.Time{Time: now}, Count: numbers.Count, Leader: findLeader(p.Spec.Options, numbers.Specific), Rate: formatRate(0),
	}
	if last := p.Status.Live; last != nil {
		live.Rate = formatRate(float64(live.Count-last.Count) / max(now.Sub(last.Time.Time), time.Second).Seconds())
	}
	p.Status.Live = live
	return nil
}

// isReporting reports whether a Poll reports its votes at a time.
func isReporting(p *v1alpha1.Poll, now time.Time) bool {
	t := timesOf(p)
	return p.Spec.ReportInterval != nil && !now.Before(t.start) && (t.end.IsZero() || now.Before(t.end))
}

// dueReport returns the time of the next report, zero for one that is due.
func dueReport(p *v1alpha1.Poll) time.Time {
	if p.Status.Live == nil {
		return time.Time{}
	}
	return p.Status.Live.Time.Add(p.Spec.ReportInterval.Duration)
}

// nextReport returns the time of the next report of a Poll, zero where none comes or one
// has just failed.
func (r *Reconciler) nextReport(p *v1alpha1.Poll) time.Time {
	if !isReporting(p, r.Now()) {
		return time.Time{}
	}
	return dueReport(p)
}

// findLeader returns the option with the most votes, or its value.
func findLeader(options []string, votes []int64) string {
	leader := -1
	for value, n := range votes {
		if n > 0 && (leader < 0 || n > votes[leader]) {
			leader = value
		}
	}
	switch {
	case leader < 0:
		return ""
	case leader < len(options):
		return options[leader]
	}
	return strconv.Itoa(leader)
}

// formatRate writes votes a second. Votes that a modifier or a reset takes away are none.
func formatRate(rate float64) string {
	return strconv.FormatFloat(max(rate, 0), 'f', 1, 64)
}

// setEnded sets the condition Ended from the rest of the status, once that is known.
func setEnded(p *v1alpha1.Poll) {
	if meta.FindStatusCondition(p.Status.Conditions, v1alpha1.Ready) == nil {
		return
	}
	ended := metav1.Condition{Type: v1alpha1.Ended, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonActive}
	switch {
	case p.Status.Statistics != nil:
		ended.Status, ended.Reason = metav1.ConditionTrue, v1alpha1.ReasonExpired
	case p.Status.PollStatus == string(contract.Pending):
		ended.Reason = v1alpha1.ReasonPending
	case p.Status.PollStatus == string(contract.Expired):
		ended.Reason = v1alpha1.ReasonSettling
	}
	status.SetConditions(&p.Status.Conditions, p.Generation, ended)
}

// recordPhase writes an Event when a poll opens, ends or opens again.
func (r *Reconciler) recordPhase(before, after *v1alpha1.Poll) {
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.Ended)
	is := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.Ended)
	if was == nil || was.Reason == is.Reason {
		return // a new Poll says by its status where it stands
	}
	switch is.Reason {
	case v1alpha1.ReasonActive:
		status.RecordNormal(r.Recorder, after, "Opened", "The poll is open for votes")
	case v1alpha1.ReasonExpired:
		final := after.Status.Statistics
		message := fmt.Sprintf("The poll has ended with %d votes", final.Count)
		if leader := findLeader(after.Spec.Options, final.Specific); leader != "" {
			message += fmt.Sprintf("; %q has the most", leader)
		}
		status.RecordNormal(r.Recorder, after, "Ended", message)
	}
}
