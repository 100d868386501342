package status

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// NewCondition returns a condition that is true for a reason or, with a problem,
// false because of it.
func NewCondition(kind, reason string, problem *Problem) metav1.Condition {
	if problem == nil {
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason}
	}
	return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: problem.Reason, Message: problem.Message}
}

// NewDegraded returns the condition Degraded: true because of a problem, or false.
func NewDegraded(problem *Problem) metav1.Condition {
	if problem == nil {
		return metav1.Condition{Type: v1alpha1.Degraded, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonHealthy}
	}
	return metav1.Condition{Type: v1alpha1.Degraded, Status: metav1.ConditionTrue, Reason: problem.Reason, Message: problem.Message}
}

// SetConditions replaces conditions by newer ones, which describe the given
// generation of the spec.
func SetConditions(stored *[]metav1.Condition, generation int64, newer ...metav1.Condition) {
	for _, c := range newer {
		c.ObservedGeneration = generation
		meta.SetStatusCondition(stored, c)
	}
}

// SetProgress adds Reconciling or Stalled, with the reason of Ready, while that is not
// true. kstatus takes an object with Stalled for failed.
func SetProgress(stored *[]metav1.Condition, generation int64) {
	ready := meta.FindStatusCondition(*stored, v1alpha1.Ready)
	for kind, applies := range map[string]bool{
		v1alpha1.Reconciling: ready.Status != metav1.ConditionTrue && !NeedsPerson(ready.Reason),
		v1alpha1.Stalled:     ready.Status != metav1.ConditionTrue && NeedsPerson(ready.Reason),
	} {
		if !applies {
			meta.RemoveStatusCondition(stored, kind)
			continue
		}
		SetConditions(stored, generation, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: ready.Reason, Message: ready.Message})
	}
}

// SetNotWatched makes Ready unknown, because the operator does not watch the namespace of an
// object that it held before.
func SetNotWatched(stored *[]metav1.Condition, generation int64, namespace string) {
	meta.RemoveStatusCondition(stored, v1alpha1.Reconciling)
	meta.RemoveStatusCondition(stored, v1alpha1.Stalled)
	SetConditions(stored, generation, metav1.Condition{
		Type: v1alpha1.Ready, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonNotWatched,
		Message: fmt.Sprintf("The operator does not watch the namespace %q: it is not among those it is to watch, or the operator has no rights in it", namespace),
	})
}

// NameSome returns the first of several names and the number of the others, for a message.
func NameSome(names []string) string {
	const most = 3
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// NeedsPerson reports whether a reason is one that only a person can remove. A missing
// object is none: it may be on its way.
func NeedsPerson(reason string) bool {
	return slices.Contains([]string{
		v1alpha1.ReasonInvalidKey, v1alpha1.ReasonWeakKey, v1alpha1.ReasonPublicKey, v1alpha1.ReasonSharedKey, v1alpha1.ReasonConflict,
		v1alpha1.ReasonRegistryFull, v1alpha1.ReasonTooManyExtensions, v1alpha1.ReasonRegistryNotWritten,
		v1alpha1.ReasonBackendAmbiguous, v1alpha1.ReasonServiceDisabled,
		v1alpha1.ReasonInvalidConfiguration, v1alpha1.ReasonDrifted, v1alpha1.ReasonOtherQuestion,
		v1alpha1.ReasonNameTaken, v1alpha1.ReasonObjectRefused, v1alpha1.ReasonNoServices, v1alpha1.ReasonSelectorNotUsable,
		v1alpha1.ReasonImagePullBackOff, v1alpha1.ReasonPodsRefused, v1alpha1.ReasonProgressDeadlineExceeded,
		v1alpha1.ReasonBackupFailed, v1alpha1.ReasonBackendSuspended, v1alpha1.ReasonNotEmpty, v1alpha1.ReasonRestoreFailed,
	}, reason)
}
