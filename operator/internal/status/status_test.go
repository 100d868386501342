package status_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

func TestIsRefusal(t *testing.T) {
	resource := schema.GroupResource{Resource: "secrets"}
	for _, test := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("no connection"), false},
		{apierrors.NewForbidden(resource, "a", nil), true},
		{apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "a", nil), true},
		{apierrors.NewBadRequest("a"), true},
		{fmt.Errorf("wrapped: %w", apierrors.NewForbidden(resource, "a", nil)), true},
		{apierrors.NewConflict(resource, "a", nil), false},
		{apierrors.NewTooManyRequests("a", 1), false},
		{apierrors.NewTimeoutError("a", 1), false},
		{apierrors.NewInternalError(errors.New("a")), false},
		{apierrors.NewServiceUnavailable("a"), false},
	} {
		if got := status.IsRefusal(test.err); got != test.want {
			t.Errorf("%v: %v, want %v", test.err, got, test.want)
		}
	}
	for code, want := range map[int]bool{0: false, 200: false, 400: true, 404: true, 408: false, 409: false, 422: true, 429: false, 500: false, 503: false} {
		if got := status.IsRefusalCode(code); got != want {
			t.Errorf("%d: %v, want %v", code, got, want)
		}
	}
}

func TestRecordReady(t *testing.T) {
	condition := func(kind string, value metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: value, Reason: reason, Message: "why"}
	}
	ready := condition(v1alpha1.Ready, metav1.ConditionTrue, "Good")
	unready := condition(v1alpha1.Ready, metav1.ConditionFalse, "Bad")
	type all = []metav1.Condition
	for _, test := range []struct {
		name          string
		before, after all
		want          string
	}{
		{"first", nil, all{ready}, "Normal Good done"},
		{"the same", all{ready}, all{ready}, ""},
		{"without Ready", all{ready}, nil, ""},
		{"not ready", all{ready}, all{unready}, "Warning Bad why"},
		{"at work", all{ready}, all{condition(v1alpha1.Ready, metav1.ConditionFalse, v1alpha1.ReasonRollingOut)}, "Normal RollingOut why"},
		{"another reason", all{condition(v1alpha1.Ready, metav1.ConditionFalse, "Worse")}, all{unready}, "Warning Bad why"},
	} {
		recorder := events.NewFakeRecorder(1)
		status.RecordReady(recorder, &v1alpha1.Poll{}, test.before, test.after, "done")
		var got string
		if len(recorder.Events) > 0 {
			got = <-recorder.Events
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// A copy that another write has made stale is a conflict, written or not.
func TestStale(t *testing.T) {
	stored := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}}
	c := fake.NewClientBuilder().WithObjects(stored).WithStatusSubresource(stored).Build()
	var fresh corev1.Pod
	load := func() {
		t.Helper()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(stored), &fresh); err != nil {
			t.Fatal(err)
		}
	}
	load()
	stale := fresh.DeepCopy()
	after := fresh.DeepCopy()
	after.Status.Message = "one"
	if written, err := status.Patch(t.Context(), c, &fresh, after); !written || err != nil {
		t.Errorf("a fresh copy: %v, %v", written, err)
	}
	late := stale.DeepCopy()
	late.Status.Message = "two"
	if written, err := status.Patch(t.Context(), c, stale, late); written || !apierrors.IsConflict(err) {
		t.Errorf("a stale copy: %v, %v", written, err)
	}
	if err := status.CheckFresh(t.Context(), c, stale); !apierrors.IsConflict(err) {
		t.Errorf("a stale copy: %v", err)
	}
	load()
	if err := status.CheckFresh(t.Context(), c, &fresh); err != nil {
		t.Errorf("a fresh copy: %v", err)
	}
	if err := c.Delete(t.Context(), fresh.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	late = fresh.DeepCopy()
	late.Status.Message = "three"
	if written, err := status.Patch(t.Context(), c, &fresh, late); written || err != nil {
		t.Errorf("a deleted object: %v, %v", written, err)
	}
}

// Stalled and Reconciling exclude each other, and keep their time while they last.
func TestSetProgress(t *testing.T) {
	for _, test := range []struct {
		ready  metav1.ConditionStatus
		reason string
		want   string
	}{
		{metav1.ConditionTrue, v1alpha1.ReasonInSync, ""},
		{metav1.ConditionFalse, v1alpha1.ReasonSecretNotFound, v1alpha1.Reconciling},
		{metav1.ConditionFalse, v1alpha1.ReasonConflict, v1alpha1.Stalled},
	} {
		conditions := []metav1.Condition{
			{Type: v1alpha1.Ready, Status: test.ready, Reason: test.reason},
			{Type: v1alpha1.Reconciling, Status: metav1.ConditionTrue},
			{Type: v1alpha1.Stalled, Status: metav1.ConditionTrue},
		}
		status.SetProgress(&conditions, 3)
		var got string
		for _, c := range conditions[1:] {
			got += c.Type
		}
		if got != test.want {
			t.Errorf("%s %s: %q, want %q", test.ready, test.reason, got, test.want)
		}
		if test.want != "" && !conditions[1].LastTransitionTime.IsZero() {
			t.Errorf("%s %s: the time of a condition that lasts has changed", test.ready, test.reason)
		}
	}
}
