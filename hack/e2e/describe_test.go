package e2e_test

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// describe returns the state of everything in the namespace, for the report of a
// failed spec: the cluster may be gone when an engineer reads it.
func (w *world) describe(ctx context.Context) string {
	if w.namespace == "" {
		return "there is none"
	}
	var text strings.Builder
	conditions := func(kind, name string, conditions []metav1.Condition) {
		for _, c := range conditions {
			_, _ = fmt.Fprintf(&text, "%s %s: %s=%s %s %s\n", kind, name, c.Type, c.Status, c.Reason, c.Message)
		}
	}
	here := client.InNamespace(w.namespace)
	var (
		backends   v1alpha1.BackendList
		extensions v1alpha1.ExtensionList
		polls      v1alpha1.PollList
		pods       corev1.PodList
		events     corev1.EventList
	)
	for _, list := range []client.ObjectList{&backends, &extensions, &polls, &pods, &events} {
		if err := w.List(ctx, list, here); err != nil {
			return err.Error()
		}
	}
	for _, b := range backends.Items {
		conditions("Backend", b.Name, b.Status.Conditions)
	}
	for _, e := range extensions.Items {
		conditions("Extension", e.Name, e.Status.Conditions)
	}
	for _, p := range polls.Items {
		conditions("Poll", p.Name, p.Status.Conditions)
	}
	for _, p := range pods.Items {
		_, _ = fmt.Fprintf(&text, "Pod %s: %s %+v\n", p.Name, p.Status.Phase, p.Status.ContainerStatuses)
	}
	for _, e := range events.Items {
		if e.Type != corev1.EventTypeNormal {
			_, _ = fmt.Fprintf(&text, "Event of %s %s: %s %s\n", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
		}
	}
	return text.String()
}
