package holder_test

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/holder"
)

// An operator tells of an object whose operator the cluster does not have, and holds it once it
// is being deleted. It leaves alone what one with a lease holds.
func TestAbsentHolder(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		holder        string
		deleted       bool
		held, unknown bool
	}{
		"of another cluster":               {"elsewhere/acclaim", false, false, true},
		"of another cluster, deleted":      {"elsewhere/acclaim", true, true, false},
		"of a release that was renamed":    {"here/before", false, false, true},
		"of another operator":              {"there/acclaim", false, false, false},
		"of another operator, deleted":     {"there/acclaim", true, false, false},
		"of an operator without a release": {"elsewhere", false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := &v1alpha1.Extension{ObjectMeta: metav1.ObjectMeta{
				Namespace: "quiz", Name: "e", Annotations: map[string]string{v1alpha1.OperatorAnnotation: test.holder},
				Finalizers: []string{v1alpha1.ExtensionFinalizer},
			}}
			if test.deleted {
				now := metav1.Now()
				e.DeletionTimestamp = &now
			}
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "there", Name: "lease"}}
			c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(e).WithObjects(e, lease).Build()
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(e), e); err != nil {
				t.Fatal(err)
			}
			instance := holder.NewInstance("here/acclaim").WithLeases(c, "lease")
			held, err := instance.Claim(t.Context(), c, events.NewFakeRecorder(1), e, v1alpha1.ExtensionFinalizer)
			if held != test.held || err != nil {
				t.Errorf("held: %v, %v", held, err)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(e), e); err != nil {
				t.Fatal(err)
			}
			ready := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.Ready)
			if unknown := ready != nil && ready.Status == metav1.ConditionUnknown && ready.Reason == v1alpha1.ReasonHeldByAnother; unknown != test.unknown {
				t.Errorf("conditions %v", e.Status.Conditions)
			}
		})
	}
}
