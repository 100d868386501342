package backend_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

var _ = Describe("A suspended Backend", func() {
	It("runs no pods and keeps the rest, and comes back as it was declared", func(ctx context.Context) {
		w := newWorld(ctx, func(s *v1alpha1.BackendSpec) {
			s.Services.Voting = &v1alpha1.Service{Autoscaling: &v1alpha1.Autoscaling{MinReplicas: 3, MaxReplicas: 9}}
			s.Services.Ranking = &v1alpha1.Service{Replicas: new(int32(1))}
		})
		w.rollOut(ctx)
		w.settle(ctx)
		before := w.objects(ctx)

		w.change(ctx, func(s *v1alpha1.BackendSpec) { s.Suspend = true })
		Expect(w.reconcile(ctx)).To(Succeed())
		for service := range w.images(ctx) {
			Expect(*w.deployment(ctx, service).Spec.Replicas).To(BeZero(), service)
		}
		var scalers autoscalingv2.HorizontalPodAutoscalerList
		Expect(w.List(ctx, &scalers, client.InNamespace(w.backend.Namespace))).To(Succeed())
		Expect(scalers.Items).To(BeEmpty(), "no autoscaler starts pods")

		By("saying so while pods stop, and when none is left")
		w.play(ctx, "voting", 0, 1)
		Expect(w.reconcile(ctx)).To(Succeed())
		Expect(w.condition(v1alpha1.Reconciling)).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Message", ContainSubstring("voting stops its pods"))))
		w.playAll(ctx)
		w.settle(ctx)
		for _, c := range []string{v1alpha1.Ready, v1alpha1.Available} {
			Expect(w.condition(c)).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonBackendSuspended)), c)
		}
		Expect(w.condition(v1alpha1.Degraded)).To(HaveField("Status", metav1.ConditionFalse))

		By("resuming")
		w.change(ctx, func(s *v1alpha1.BackendSpec) { s.Suspend = false })
		w.rollOut(ctx)
		w.settle(ctx)
		Expect(*w.deployment(ctx, "voting").Spec.Replicas).To(Equal(int32(3)), "an autoscaler does not start the first pod")
		Expect(*w.deployment(ctx, "ranking").Spec.Replicas).To(Equal(int32(1)))
		Expect(w.objects(ctx)).To(Equal(before))
	})
})
