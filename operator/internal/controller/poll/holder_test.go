package poll_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/holder"
)

var _ = Describe("Of two operators", func() {
	It("one holds a Poll and the other leaves it alone, until it is handed over", func(ctx SpecContext) {
		w := newWorld(ctx)
		mine := w.reconciler
		mine.Instance = holder.NewInstance("team-a/acclaim")
		other := *mine
		other.Instance = holder.NewInstance("team-b/acclaim")
		p := w.poll("held")
		w.create(ctx, w.backend("default"), p)
		w.settle(ctx, p)
		Expect(w.wire.TakeWrites()).To(Equal([]string{"PATCH polls", "POST /vote_config", "PATCH polls/status"}), "one patch for both marks")
		Expect(p.Annotations).To(HaveKeyWithValue(v1alpha1.OperatorAnnotation, "team-a/acclaim"))
		Expect(p).To(beReady())
		w.noted()

		By("leaving it alone, deleted or not, with one Event")
		w.reconciler = &other
		w.settle(ctx, p)
		w.settle(ctx, p)
		w.delete(ctx, p)
		w.settle(ctx, p)
		Expect(w.wire.TakeWrites()).To(BeEmpty())
		Expect(w.gone(ctx, p)).To(BeFalse())
		Expect(w.noted()).To(ConsistOf(HavePrefix("Normal HeldByAnother")))

		By("taking it over")
		change(ctx, w, p, func(p *v1alpha1.Poll) { p.Annotations[v1alpha1.OperatorAnnotation] = "team-b/acclaim" })
		w.settle(ctx, p)
		Expect(w.gone(ctx, p)).To(BeTrue())
		Expect(w.config(ctx, p)).To(BeNil())
	})

	It("the slower one fails to claim a Poll", func(ctx SpecContext) {
		w := newWorld(ctx)
		p := w.poll("raced")
		w.create(ctx, p)
		w.fresh(ctx)
		change(ctx, w, p, func(p *v1alpha1.Poll) {
			p.Annotations = map[string]string{v1alpha1.OperatorAnnotation: "team-a/acclaim"}
		})
		stale := p.DeepCopy()
		stale.Annotations, stale.ResourceVersion = nil, "1"
		held, err := holder.NewInstance("team-b/acclaim").Claim(ctx, w.reconciler.Client, w.events, stale, v1alpha1.PollFinalizer)
		Expect(held).To(BeTrue(), "as far as it knows")
		Expect(err).To(HaveOccurred())
		Expect(w.api.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		Expect(p.Finalizers).To(BeEmpty())
	})

	It("the running one follows a Poll that is handed over to it", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.reconciler.Instance = holder.NewInstance("team-b/acclaim")
		p := w.poll("handed-over")
		p.Annotations = map[string]string{v1alpha1.OperatorAnnotation: "team-a/acclaim"}
		w.create(ctx, w.backend("default"), p)
		Expect(w.reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(p)})).To(BeZero())
		w.run()
		change(ctx, w, p, func(p *v1alpha1.Poll) { p.Annotations[v1alpha1.OperatorAnnotation] = "team-b/acclaim" })
		w.eventually(ctx, p, beReady())
	})
})

var _ = Describe("A paused Poll", func() {
	It("is left as it is until it goes on or is deleted", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.reconciler.Instance = holder.NewInstance("team-a/acclaim")
		p := w.poll("paused")
		w.create(ctx, w.backend("default"), p)
		w.settle(ctx, p)
		w.wire.TakeWrites()
		w.noted()
		change(ctx, w, p, func(p *v1alpha1.Poll) {
			p.Annotations[v1alpha1.PausedAnnotation] = "true"
			p.Spec.Options = []string{"changed"}
		})
		w.settle(ctx, p)
		w.settle(ctx, p)
		Expect(w.wire.TakeWrites()).To(BeEmpty())
		Expect(w.noted()).To(ConsistOf(HavePrefix("Normal Paused")))
		change(ctx, w, p, func(p *v1alpha1.Poll) { delete(p.Annotations, v1alpha1.PausedAnnotation) })
		w.settle(ctx, p)
		Expect(w.wire.TakeWrites()).To(ContainElement("POST /vote_config"))
		Expect(p).To(beReady())

		change(ctx, w, p, func(p *v1alpha1.Poll) { p.Annotations[v1alpha1.PausedAnnotation] = "true" })
		w.delete(ctx, p)
		w.settle(ctx, p)
		Expect(w.gone(ctx, p)).To(BeTrue())
		Expect(w.config(ctx, p)).To(BeNil())
	})
})
