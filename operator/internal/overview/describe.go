package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// readyTimeout limits the time for which an object is not ready, or waits for its deletion, before a
// person is needed. It is the deadline of a rollout.
const readyTimeout = 5 * time.Minute

// settleTime is the time in which an operator that runs looks at a new object.
const settleTime = time.Minute

// Reasons of nodes that no operator has given.
const (
	reasonNotObserved = "NotObserved"
	reasonDeleting    = "Deleting"
)

// judge returns the node of an object with conditions. Observed is the generation that they
// describe.
func (in *inventory) judge(kind string, o client.Object, observed int64, conditions []metav1.Condition) *Node {
	n := &Node{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), State: OK}
	ready := meta.FindStatusCondition(conditions, v1alpha1.Ready)
	switch {
	case o.GetAnnotations()[v1alpha1.PausedAnnotation] == "true":
		n.Facts = append(n.Facts, "paused")
	case ready == nil || observed < o.GetGeneration():
		state := Waiting
		if ready == nil && in.age(o.GetCreationTimestamp()) > settleTime {
			state = Wrong
		}
		n.raise(state, reasonNotObserved, fmt.Sprintf("no operator has reported on generation %d", o.GetGeneration()))
	}
	in.judgeReady(n, ready, meta.IsStatusConditionTrue(conditions, v1alpha1.Stalled))
	if meta.IsStatusConditionTrue(conditions, v1alpha1.Degraded) {
		degraded := meta.FindStatusCondition(conditions, v1alpha1.Degraded)
		n.raise(Wrong, degraded.Reason, degraded.Message)
	}
	in.judgeDeletion(n, o)
	if n.State != OK {
		n.Notes = append(n.Notes, in.describeEvents(kind, o)...)
	}
	return n
}

// judgeReady judges by the condition Ready, nil where there is none.
func (in *inventory) judgeReady(n *Node, ready *metav1.Condition, stalled bool) {
	switch {
	case ready == nil || ready.Status == metav1.ConditionTrue:
	case ready.Reason == v1alpha1.ReasonBackendSuspended: // as declared
		n.Facts = append(n.Facts, "suspended")
	case stalled, in.age(ready.LastTransitionTime) > readyTimeout:
		n.raise(Wrong, ready.Reason, ready.Message)
	default:
		n.raise(Waiting, ready.Reason, ready.Message)
	}
}

// judgeDeletion names what an object that is being deleted waits for.
func (in *inventory) judgeDeletion(n *Node, o client.Object) {
	deleted := o.GetDeletionTimestamp()
	if deleted == nil {
		return
	}
	text := fmt.Sprintf("deleted %s ago, held by the finalizers %s", in.ago(*deleted), strings.Join(o.GetFinalizers(), ", "))
	state := Waiting
	if in.age(*deleted) > readyTimeout {
		state = Wrong
	}
	n.raise(state, reasonDeleting, text)
	if n.Message != text {
		n.Notes = append(n.Notes, text)
	}
}

func (in *inventory) age(t metav1.Time) time.Duration { return in.now.Sub(t.Time) }

func (in *inventory) ago(t metav1.Time) string { return duration.HumanDuration(in.age(t)) }

func (in *inventory) describeExtension(e *v1alpha1.Extension) *Node {
	return in.judge(KindExtension, e, e.Status.ObservedGeneration, e.Status.Conditions)
}

func (in *inventory) describePoll(p *v1alpha1.Poll) *Node {
	n := in.judge(KindPoll, p, p.Status.ObservedGeneration, p.Status.Conditions)
	if p.Status.PollStatus != "" {
		n.Facts = append(n.Facts, p.Status.PollStatus)
	}
	switch {
	case p.Status.Live != nil:
		votes := fmt.Sprintf("%d votes %s ago", p.Status.Live.Count, in.ago(p.Status.Live.Time))
		if leader := p.Status.Live.Leader; leader != "" {
			votes += ", " + leader + " leads"
		}
		n.Facts = append(n.Facts, votes)
	case p.Status.Statistics != nil:
		n.Facts = append(n.Facts, fmt.Sprintf("ended with %d votes", p.Status.Statistics.Count))
	}
	return n
}

// mostEvents is the number of Events of an object that are shown, the last ones.
const mostEvents = 3

// describeEvents returns the last Events about an object.
func (in *inventory) describeEvents(kind string, o client.Object) (lines []string) {
	type seen struct {
		time metav1.Time
		text string
	}
	var all []seen
	for i := range in.events {
		e := &in.events[i]
		if e.Regarding.Kind != kind || e.Regarding.Name != o.GetName() || e.Regarding.Namespace != o.GetNamespace() {
			continue
		}
		last, count := e.DeprecatedLastTimestamp, max(e.DeprecatedCount, 1)
		if e.Series != nil {
			last, count = metav1.NewTime(e.Series.LastObservedTime.Time), e.Series.Count
		}
		last = cmp.Or(last, metav1.NewTime(e.EventTime.Time), e.CreationTimestamp)
		times := ""
		if count > 1 {
			times = fmt.Sprintf(", %d times", count)
		}
		all = append(all, seen{last, fmt.Sprintf("%s %s (%s ago%s): %s", e.Type, e.Reason, in.ago(last), times, e.Note)})
	}
	slices.SortStableFunc(all, func(a, b seen) int { return a.time.Compare(b.time.Time) })
	for _, s := range all[max(0, len(all)-mostEvents):] {
		lines = append(lines, s.text)
	}
	return lines
}
