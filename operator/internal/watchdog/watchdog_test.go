package watchdog_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/watchdog"
)

func named(namespace, name, holder string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{v1alpha1.OperatorAnnotation: holder}}
}

func withReady(o client.Object, value metav1.ConditionStatus) client.Object {
	meta.SetStatusCondition(v1alpha1.ConditionsOf(o), metav1.Condition{Type: v1alpha1.Ready, Status: value, Reason: "Any"})
	return o
}

// The watchdog takes back what the operator that is away said of what it holds, and nothing
// else.
func TestRun(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Unix(1_000_000, 0)
	leaseAt := func(ago time.Duration) []client.Object {
		renewed := metav1.NewMicroTime(now.Add(-ago))
		return []client.Object{&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "live", Name: "lease"}, Spec: coordinationv1.LeaseSpec{RenewTime: &renewed},
		}}
	}
	away := []string{"backend", "extension", "poll", "left"}
	for name, test := range map[string]struct {
		lease []client.Object
		want  []string
	}{
		"an operator runs":      {leaseAt(2 * time.Minute), nil},
		"none renews the lease": {leaseAt(2*time.Minute + time.Second), away},
		"there is no lease":     {nil, away},
	} {
		t.Run(name, func(t *testing.T) {
			paused := &v1alpha1.Poll{ObjectMeta: named("quiz", "paused", "live/acclaim")}
			paused.Annotations[v1alpha1.PausedAnnotation] = "true"
			objects := []client.Object{
				withReady(&v1alpha1.Backend{ObjectMeta: named("quiz", "backend", "live/acclaim")}, metav1.ConditionTrue),
				withReady(&v1alpha1.Extension{ObjectMeta: named("quiz", "extension", "live/acclaim")}, metav1.ConditionTrue),
				withReady(&v1alpha1.Poll{ObjectMeta: named("quiz", "poll", "live/acclaim")}, metav1.ConditionTrue),
				withReady(&v1alpha1.Poll{ObjectMeta: named("other", "left", "live/acclaim")}, metav1.ConditionTrue),
				withReady(paused, metav1.ConditionTrue),
				withReady(&v1alpha1.Poll{ObjectMeta: named("quiz", "unready", "live/acclaim")}, metav1.ConditionFalse),
				withReady(&v1alpha1.Poll{ObjectMeta: named("quiz", "foreign", "other/acclaim")}, metav1.ConditionTrue),
				&v1alpha1.Poll{ObjectMeta: named("quiz", "new", "live/acclaim")},
			}
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, test.lease...)...).
				WithStatusSubresource(&v1alpha1.Poll{}, &v1alpha1.Extension{}, &v1alpha1.Backend{}).Build()
			w := watchdog.Watchdog{
				Client: c, Namespace: "live", Release: "acclaim", Lease: "lease",
				Now: func() time.Time { return now }, MaxAge: 2 * time.Minute,
			}
			if err := w.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range objects {
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
					t.Fatal(err)
				}
				ready := meta.FindStatusCondition(*v1alpha1.ConditionsOf(o), v1alpha1.Ready)
				if ready != nil && ready.Status == metav1.ConditionUnknown && ready.Reason == v1alpha1.ReasonOperatorAway {
					got = append(got, o.GetName())
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("taken back (-want +got):\n%s", diff)
			}
		})
	}
}
