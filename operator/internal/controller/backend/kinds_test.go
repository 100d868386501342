package backend

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// The services write the mark of the log of results each second: that is no reason to reconcile.
func TestChangesOfTheMark(t *testing.T) {
	before := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}, OwnerReferences: []metav1.OwnerReference{{UID: "1"}}}}
	for name, test := range map[string]struct {
		change func(*corev1.ConfigMap)
		want   bool
	}{
		"data":   {func(c *corev1.ConfigMap) { c.Data, c.ResourceVersion = map[string]string{"checkpoint": "x"}, "2" }, false},
		"labels": {func(c *corev1.ConfigMap) { c.Labels = nil }, true},
		"owners": {func(c *corev1.ConfigMap) { c.OwnerReferences = nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			after := before.DeepCopy()
			test.change(after)
			for _, k := range objectKinds() {
				want := test.want || k.name != markKind
				if got := k.changes().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != want {
					t.Errorf("%s: %v", k.name, got)
				}
			}
		})
	}
}
