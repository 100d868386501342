package status

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// action is the action that every Event reports.
const action = "Reconcile"

// RecordNormal writes an Event about what the operator did.
func RecordNormal(recorder events.EventRecorder, about runtime.Object, reason, message string) {
	recorder.Eventf(about, nil, corev1.EventTypeNormal, reason, action, "%s", message)
}

// RecordWarning writes an Event about what needs a person's attention.
func RecordWarning(recorder events.EventRecorder, about runtime.Object, reason, message string) {
	recorder.Eventf(about, nil, corev1.EventTypeWarning, reason, action, "%s", message)
}

// findChange returns the condition of a type if it has another status or another reason than
// before, else nil.
func findChange(kind string, before, after []metav1.Condition) *metav1.Condition {
	was, is := meta.FindStatusCondition(before, kind), meta.FindStatusCondition(after, kind)
	if is != nil && was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return nil
	}
	return is
}

// RecordDegraded writes an Event if the condition Degraded has become true, or has another
// reason than before. It is for a kind whose Ready does not depend on Degraded.
func RecordDegraded(recorder events.EventRecorder, about runtime.Object, before, after []metav1.Condition) {
	if is := findChange(v1alpha1.Degraded, before, after); is != nil && is.Status == metav1.ConditionTrue {
		RecordWarning(recorder, about, is.Reason, is.Message)
	}
}

// RecordReady writes an Event if the condition Ready has another status or
// another reason than before. The message is the condition's own, or success when
// it is true. An Event about a resource that is not ready is a warning, unless
// that is the normal course of events.
func RecordReady(recorder events.EventRecorder, about runtime.Object, before, after []metav1.Condition, success string) {
	is := findChange(v1alpha1.Ready, before, after)
	if is == nil {
		return
	}
	switch {
	case is.Status == metav1.ConditionTrue:
		RecordNormal(recorder, about, is.Reason, success)
	case slices.Contains([]string{
		v1alpha1.ReasonRollingOut, v1alpha1.ReasonRegistryMissing, v1alpha1.ReasonWaitingForRegistry,
		v1alpha1.ReasonWaitingForExtension,
		v1alpha1.ReasonRestoring, v1alpha1.ReasonBackupRunning, v1alpha1.ReasonBackendSuspended,
	}, is.Reason):
		RecordNormal(recorder, about, is.Reason, is.Message)
	default:
		RecordWarning(recorder, about, is.Reason, is.Message)
	}
}
