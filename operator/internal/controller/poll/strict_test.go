package poll_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

var _ = Describe("A strict Poll", func() {
	var (
		w *world
		p *v1alpha1.Poll
	)
	BeforeEach(func(ctx SpecContext) {
		w = newWorld(ctx)
		p = w.poll("strict")
		w.create(ctx, w.backend("default"), p)
	})
	ask := func(ctx SpecContext, prompt string, policy v1alpha1.ChangeQuestion) {
		GinkgoHelper()
		change(ctx, w, p, func(p *v1alpha1.Poll) { p.Spec.Prompt, p.Spec.ChangeQuestion = prompt, policy })
		w.settle(ctx, p)
	}
	prompt := func(ctx SpecContext) string {
		GinkgoHelper()
		stored, err := w.serviceOf(p).ReadPoll(ctx, p.PollID())
		Expect(err).NotTo(HaveOccurred())
		return stored.Prompt
	}
	votes := func(ctx SpecContext) int64 {
		GinkgoHelper()
		statistics, err := w.serviceOf(p).ReadStatistics(ctx, p.PollID())
		Expect(err).NotTo(HaveOccurred())
		return statistics.Count
	}

	It("is one that was created since there are strict polls", func(ctx SpecContext) {
		w.settle(ctx, p)
		Expect(p.Status.StrictByDefault).To(BeTrue())
		Expect(w.config(ctx, p).Strict).To(BeTrue())
	})

	It("is none that an earlier operator has reported on", func(ctx SpecContext) {
		p.Status = v1alpha1.PollStatus{ObservedGeneration: 1}
		Expect(w.api.Status().Update(ctx, p)).To(Succeed())
		w.settle(ctx, p)
		Expect(p).To(beReady())
		Expect(p.Status.StrictByDefault).To(BeFalse())
		Expect(w.config(ctx, p).Strict).To(BeFalse())
	})

	When("it has votes and its question changes", func() {
		BeforeEach(func(ctx SpecContext) {
			w.settle(ctx, p)
			w.vote(ctx, p, "U1", 1)
			w.noted()
		})

		It("refuses by default, names the field, and goes on when it changes back", func(ctx SpecContext) {
			ask(ctx, "Who?", "")
			Expect(p).To(beBecause(v1alpha1.Configured, v1alpha1.ReasonOtherQuestion))
			Expect(messageOf(p)).To(HavePrefix("spec.prompt: "))
			Expect([]any{prompt(ctx), votes(ctx)}).To(Equal([]any{"Which?", int64(1)}))

			change(ctx, w, p, func(p *v1alpha1.Poll) { p.Spec.Prompt, p.Spec.Options = "Which?", []string{"that", "this"} })
			w.settle(ctx, p)
			Expect(messageOf(p)).To(HavePrefix("spec.options: "))

			change(ctx, w, p, func(p *v1alpha1.Poll) { p.Spec.Options = []string{"this", "that", "neither"} })
			w.settle(ctx, p)
			Expect(p).To(beReady())
		})

		It("keeps the votes where it says so", func(ctx SpecContext) {
			ask(ctx, "Who?", v1alpha1.ChangeKeepVotes)
			Expect(p).To(beReady())
			Expect([]any{prompt(ctx), votes(ctx)}).To(Equal([]any{"Who?", int64(1)}))
		})

		It("deletes the votes where it says so", func(ctx SpecContext) {
			ask(ctx, "Who?", v1alpha1.ChangeReset)
			Expect(p).To(beReady())
			Expect([]any{prompt(ctx), votes(ctx)}).To(Equal([]any{"Who?", int64(0)}))
			Expect(w.noted()).To(ConsistOf(HavePrefix("Normal VotesDeleted")))
		})

		It("deletes no votes when it corrects drift", func(ctx SpecContext) {
			ask(ctx, "Which?", v1alpha1.ChangeReset)
			other := w.config(ctx, p).PollConfig
			other.Prompt, other.Options = "Who?", []string{"she", "he"}
			Expect(w.serviceOf(p).ConfigurePollKeepingVotes(ctx, p.PollID(), other)).To(Succeed())
			w.settle(ctx, p)
			Expect(p).To(haveReason(v1alpha1.Configured, v1alpha1.ReasonOtherQuestion))
			Expect(votes(ctx)).To(BeEquivalentTo(1))
		})
	})

	It("says nothing of a service that does not know strict polls", func(ctx SpecContext) {
		w.settle(ctx, p)
		w.noted()
		older := w.config(ctx, p).PollConfig
		older.Prompt, older.Strict = "Which?", false
		Expect(w.serviceOf(p).ConfigurePoll(ctx, p.PollID(), older)).To(Succeed())
		w.settle(ctx, p)
		Expect(p).To(beReady())
		Expect(w.noted()).To(BeEmpty())
		Expect(w.config(ctx, p).Strict).To(BeTrue())
	})
})

// messageOf returns the message of the condition Configured.
func messageOf(p *v1alpha1.Poll) string {
	for _, c := range p.Status.Conditions {
		if c.Type == v1alpha1.Configured {
			return c.Message
		}
	}
	return ""
}
