package poll_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

var _ = Describe("Two Polls that declare one poll", func() {
	var (
		w             *world
		first, second *v1alpha1.Poll
	)
	same := func(s *v1alpha1.PollSpec) {
		id := "same"
		s.ID = &id
	}
	BeforeEach(func(ctx SpecContext) {
		w = newWorld(ctx)
		first, second = w.poll("first", same), w.poll("second", same)
		second.Spec.TotalVotesPerUser = 5
	})
	declare := func(ctx SpecContext) {
		GinkgoHelper()
		w.create(ctx, first)
		w.createYounger(ctx, second, first)
		w.settle(ctx, second)
		w.settle(ctx, first)
	}

	Context("in one Backend", func() {
		BeforeEach(func(ctx SpecContext) {
			w.create(ctx, w.backend("default"))
			declare(ctx)
		})

		It("let the older one win, whichever is looked at first", func(ctx SpecContext) {
			Expect(first).To(beReady())
			Expect(second).To(beBecause(v1alpha1.Configured, v1alpha1.ReasonConflict))
			Expect(w.config(ctx, first).TotalVotesPerUser).To(BeEquivalentTo(3))
			Expect(w.noted()).To(ConsistOf(HavePrefix("Warning Conflict")))
		})

		It("do not take the other's configuration along", func(ctx SpecContext) {
			w.delete(ctx, second)
			w.settle(ctx, second)
			Expect(w.gone(ctx, second)).To(BeTrue())
			Expect(w.wire.TakeCalls()).To(Equal([]string{"PATCH polls"}))
			Expect(w.config(ctx, first)).NotTo(BeNil())
		})

		It("let the younger one take over", func(ctx SpecContext) {
			w.delete(ctx, first)
			w.settle(ctx, first)
			w.settle(ctx, second)
			Expect(second).To(beReady())
			Expect(w.config(ctx, second).TotalVotesPerUser).To(BeEquivalentTo(5))
		})
	})

	It("conflict when their Extensions have the same client id", func(ctx SpecContext) {
		other := w.extension()
		other.Name = "other"
		w.create(ctx, w.backend("default"), other)
		second.Spec.ExtensionRef.Name = "other"
		declare(ctx)
		Expect(second).To(beBecause(v1alpha1.Configured, v1alpha1.ReasonConflict))
	})

	DescribeTable("are two when they differ in",
		func(ctx SpecContext, change func(*v1alpha1.PollSpec)) {
			change(&second.Spec)
			w.create(ctx, w.backend("default"), w.backend("other"))
			declare(ctx)
			Expect(first).To(beReady())
			Expect(second).To(beReady())
		},
		Entry("the channel", func(s *v1alpha1.PollSpec) { s.Channel = "2" }),
		Entry("the id", func(s *v1alpha1.PollSpec) { s.ID = nil }),
		Entry("the Backend", func(s *v1alpha1.PollSpec) { s.BackendRef = &v1alpha1.BackendReference{Name: "other"} }),
	)
})
