package e2e_test

import (
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// disturbances happen to a running release, which must serve on.
func disturbances(w *world) {
	It("loses no vote to a killed voting pod", func(ctx SpecContext) {
		l := w.start(ctx, "kill")
		defer l.stop()
		l.counted(ctx, 100)
		pods, err := w.pods(ctx, service("voting"))
		Expect(err).NotTo(HaveOccurred())
		w.kill(ctx, &pods[0])
		w.serving(ctx, 2)
		l.counted(ctx, 200)
		l.finish(ctx, w, "a killed voting pod")
	}, SpecTimeout(5*time.Minute))

	It("loses no vote to a voting pod that is deleted", func(ctx SpecContext) {
		l := w.start(ctx, "delete")
		defer l.stop()
		l.counted(ctx, 100)
		pods, err := w.pods(ctx, service("voting"))
		Expect(err).NotTo(HaveOccurred())
		Expect(w.Delete(ctx, &pods[0])).To(Succeed())
		w.gone(ctx, &pods[0])
		w.serving(ctx, 2)
		l.counted(ctx, 100)
		l.finish(ctx, w, "a deleted voting pod")
		l.expectNoFailure()
	}, SpecTimeout(5*time.Minute))

	It("does without the operator for a while", func(ctx SpecContext) {
		l := w.start(ctx, "operator")
		defer l.stop()
		pods, err := w.pods(ctx, client.MatchingLabels{"app.kubernetes.io/component": "operator"})
		Expect(err).NotTo(HaveOccurred())
		for i := range pods {
			Expect(w.Delete(ctx, &pods[i])).To(Succeed())
		}
		for i := range pods {
			w.gone(ctx, &pods[i])
		}
		began := time.Now()
		Expect(w.Create(ctx, poll(w.named("after-restart")))).To(Succeed())
		w.pollReady(ctx, "after-restart")
		w.report.took("all operators gone to a new Poll in force", began)
		l.counted(ctx, 100)
		l.finish(ctx, w, "operators restarted")
		l.expectNoFailure()
	}, SpecTimeout(5*time.Minute))

	It("scales without a failed request", func(ctx SpecContext) {
		l := w.start(ctx, "scale")
		defer l.stop()
		for _, replicas := range []int{4, 2} {
			values := w.values()
			services := w.services()
			services["voting"].(object)["replicas"] = replicas
			values["production"].(object)["services"] = services
			Expect(w.upgrade(ctx, values)).To(Succeed())
			w.serving(ctx, replicas)
			l.counted(ctx, 200)
		}
		l.finish(ctx, w, "scaled up and down")
		l.expectNoFailure()
	}, SpecTimeout(5*time.Minute))

	It("goes on with the old version when an image is bad, and recovers", func(ctx SpecContext) {
		l := w.start(ctx, "bad-image")
		defer l.stop()
		image := os.Getenv("ACCLAIM_E2E_IMAGE")
		repository, _ := cutImage(image)
		missing := repository + ":missing"
		values := w.values()
		values["image"].(object)["tag"] = "missing"
		Expect(w.upgrade(ctx, values)).To(Succeed())
		b := &v1alpha1.Backend{ObjectMeta: w.named("default")}
		Eventually(ctx, func(g Gomega) {
			g.Expect(w.Get(ctx, client.ObjectKeyFromObject(b), b)).To(Succeed())
			degraded := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.Degraded)
			g.Expect(degraded).NotTo(BeNil())
			g.Expect(*degraded).To(And(HaveField("Reason", "ImagePullBackOff"), HaveField("Message", ContainSubstring(missing))))
			g.Expect(meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.Ready)).To(BeFalse())
		}).Should(Succeed())
		Expect(w.onlyPodsOf(ctx, "default", missing)).NotTo(Succeed())
		for _, later := range []string{"accumulation", "ranking", "state"} {
			pods, err := w.pods(ctx, service(later))
			Expect(err).NotTo(HaveOccurred())
			Expect(pods).To(HaveEach(HaveField("Spec.Containers", HaveEach(HaveField("Image", image)))), "the rollout did not stop")
		}
		l.counted(ctx, 100)
		Expect(w.upgrade(ctx, w.values())).To(Succeed())
		w.ready(ctx, "default", image)
		l.finish(ctx, w, "a bad image and its correction")
		l.expectNoFailure()
	}, SpecTimeout(8*time.Minute))
}
