package poll_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

var _ = Describe("A configuration changed behind the operator's back", func() {
	var (
		w *world
		p *v1alpha1.Poll
	)
	declare := func(ctx SpecContext, policy v1alpha1.DriftPolicy) {
		GinkgoHelper()
		w = newWorld(ctx)
		p = w.poll("drift", func(s *v1alpha1.PollSpec) { s.DriftPolicy = policy })
		w.create(ctx, w.backend("default"), p)
		w.settle(ctx, p)
		w.noted()
	}

	Context("under the policy Enforce", func() {
		BeforeEach(func(ctx SpecContext) { declare(ctx, v1alpha1.DriftEnforce) })

		It("is written back, and nothing else happens", func(ctx SpecContext) {
			w.configure(ctx, p)
			w.settle(ctx, p)
			Expect(w.wire.TakeWrites()).To(Equal([]string{"POST /vote_config"}))
			Expect(w.config(ctx, p).TotalVotesPerUser).To(BeEquivalentTo(3))
			Expect(w.noted()).To(ConsistOf(HavePrefix("Normal DriftCorrected")))
			Expect(p).To(beReady())
		})

		It("is written back when all of it was removed", func(ctx SpecContext) {
			Expect(w.serviceOf(p).DeletePoll(ctx, p.PollID())).To(Succeed())
			w.settle(ctx, p)
			Expect(w.config(ctx, p)).NotTo(BeNil())
		})
	})

	Context("under the policy Observe", func() {
		BeforeEach(func(ctx SpecContext) { declare(ctx, v1alpha1.DriftObserve) })

		It("is reported once, until the Poll is edited", func(ctx SpecContext) {
			w.configure(ctx, p)
			w.settle(ctx, p)
			Expect(w.wire.TakeWrites()).To(Equal([]string{"PATCH polls/status"}))
			Expect(p).To(beBecause(v1alpha1.Configured, v1alpha1.ReasonDrifted))
			Expect(w.noted()).To(ConsistOf(HavePrefix("Warning Drifted")))
			w.settle(ctx, p)
			Expect(w.wire.TakeWrites()).To(BeEmpty())

			change(ctx, w, p, func(p *v1alpha1.Poll) { p.Spec.TotalVotesPerUser = 4 })
			w.settle(ctx, p)
			Expect(p).To(beReady())
			Expect(w.config(ctx, p).TotalVotesPerUser).To(BeEquivalentTo(4))
		})

		It("is reported until the configuration is restored", func(ctx SpecContext) {
			config := w.config(ctx, p)
			w.configure(ctx, p)
			w.settle(ctx, p)
			Expect(w.serviceOf(p).ConfigurePoll(ctx, p.PollID(), config.PollConfig)).To(Succeed())
			w.settle(ctx, p)
			Expect(p).To(beReady())
		})
	})

	Context("under the policy InitOnly", func() {
		BeforeEach(func(ctx SpecContext) { declare(ctx, v1alpha1.DriftInitOnly) })

		It("is not looked at", func(ctx SpecContext) {
			w.configure(ctx, p)
			w.settle(ctx, p)
			Expect(w.wire.TakeCalls()).To(BeEmpty())
			Expect(p).To(beReady())
			Expect(w.config(ctx, p).TotalVotesPerUser).To(BeEquivalentTo(9))
		})
	})

	// A reconciliation with a stale Poll, from before its first write.
	DescribeTable("is not overwritten as if nothing had been written", func(ctx SpecContext, policy v1alpha1.DriftPolicy, votes int) {
		declare(ctx, policy)
		late := p.DeepCopy()
		late.Status = v1alpha1.PollStatus{}
		change(ctx, w, p, func(p *v1alpha1.Poll) { p.Labels = map[string]string{"some": "edit"} })
		w.configure(ctx, p)
		current := w.reconciler.Client
		w.reconciler.Client = lateCache{current, late}
		_, err := w.reconcile(ctx, p)
		Expect(apierrors.IsConflict(err)).To(BeTrue(), "which makes the controller try again")
		Expect(w.wire.TakeWrites()).NotTo(ContainElement("POST /vote_config"))

		w.reconciler.Client = current
		w.settle(ctx, p)
		Expect(w.config(ctx, p).TotalVotesPerUser).To(BeEquivalentTo(votes))
	},
		Entry("under the policy Enforce", v1alpha1.DriftEnforce, 3),
		Entry("under the policy Observe", v1alpha1.DriftObserve, 9),
		Entry("under the policy InitOnly", v1alpha1.DriftInitOnly, 9),
	)
})
