package e2e_test

import (
	"context"
	"fmt"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// ready waits until a Backend is Ready with an image, and no pod of another is left.
func (w *world) ready(ctx context.Context, backend, image string) {
	Eventually(ctx, func() error {
		b := &v1alpha1.Backend{ObjectMeta: w.named(backend)}
		if err := w.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if b.Spec.Image != image {
			return fmt.Errorf("Backend %s has the image %s", backend, b.Spec.Image)
		}
		if err := isReady(b.Status.Conditions, b.Generation); err != nil {
			return fmt.Errorf("Backend %s: %w", backend, err)
		}
		return w.onlyPodsOf(ctx, backend, image)
	}).Should(Succeed())
}

// isReady says why an object is not.
func isReady(conditions []metav1.Condition, generation int64) error {
	condition := meta.FindStatusCondition(conditions, v1alpha1.Ready)
	if condition == nil || condition.ObservedGeneration != generation {
		return fmt.Errorf("was not looked at yet")
	}
	if condition.Status != metav1.ConditionTrue {
		return fmt.Errorf("%s: %s", condition.Reason, condition.Message)
	}
	return nil
}

func (w *world) onlyPodsOf(ctx context.Context, backend, image string) error {
	pods, err := w.pods(ctx, client.MatchingLabels{"app.kubernetes.io/instance": backend, "app.kubernetes.io/managed-by": "acclaim-operator"})
	if err != nil {
		return err
	}
	if len(pods) == 0 {
		return fmt.Errorf("Backend %s has no pods", backend)
	}
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil || pod.Spec.Containers[0].Image != image {
			return fmt.Errorf("pod %s of the image %s is still there", pod.Name, pod.Spec.Containers[0].Image)
		}
	}
	return nil
}

func (w *world) pods(ctx context.Context, labels client.MatchingLabels) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := w.List(ctx, &pods, client.InNamespace(w.namespace), labels)
	return pods.Items, err
}

// service selects the pods of a service of production.
func service(name string) client.MatchingLabels { return serviceOf("default", name) }

// serviceOf selects the pods of a service of a Backend.
func serviceOf(backend, name string) client.MatchingLabels {
	return client.MatchingLabels{"app.kubernetes.io/instance": backend, "app.kubernetes.io/component": name}
}

// serving waits until production has so many voting pods, all ready.
func (w *world) serving(ctx context.Context, replicas int) {
	ready := HaveField("Status.Conditions", ContainElement(And(
		HaveField("Type", corev1.PodReady), HaveField("Status", corev1.ConditionTrue))))
	Eventually(ctx, func() ([]corev1.Pod, error) { return w.pods(ctx, service("voting")) }).Should(And(HaveLen(replicas), HaveEach(ready)))
}

// edit changes an object as `kubectl edit` does.
func edit[T client.Object](ctx context.Context, w *world, o T, change func(T)) {
	Expect(w.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
	before := o.DeepCopyObject().(client.Object)
	change(o)
	Expect(w.Patch(ctx, o, client.MergeFrom(before))).To(Succeed())
}

// pollReady waits until a Poll as it is now is in force.
func (w *world) pollReady(ctx context.Context, name string) {
	Eventually(ctx, func() error {
		p := &v1alpha1.Poll{}
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, p); err != nil {
			return err
		}
		return isReady(p.Status.Conditions, p.Generation)
	}).Should(Succeed())
}

// gone waits until an object is no more.
func (w *world) gone(ctx context.Context, o client.Object) {
	Eventually(ctx, func() error {
		err := w.Get(ctx, client.ObjectKeyFromObject(o), o)
		if err == nil {
			return fmt.Errorf("%s is still there", o.GetName())
		}
		return client.IgnoreNotFound(err)
	}).Should(Succeed())
}
