package poll_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

var _ = Describe("A Poll that is deleted", func() {
	var (
		w *world
		p *v1alpha1.Poll
	)
	BeforeEach(func(ctx SpecContext) {
		w = newWorld(ctx)
		p = w.poll("last")
		w.create(ctx, w.backend("default"), p)
		w.settle(ctx, p)
		w.noted()
	})

	DescribeTable("goes at once when nothing is left that could confirm it",
		func(ctx SpecContext, lost func(*world) []client.Object) {
			w.delete(ctx, lost(w)...)
			w.delete(ctx, p)
			w.settle(ctx, p)
			Expect(w.gone(ctx, p)).To(BeTrue())
			Expect(w.wire.TakeWrites()).To(Equal([]string{"PATCH polls"}), "no Backend is made for it")
			Expect(w.noted()).To(ConsistOf(HavePrefix("Warning LeftBehind")))
			Expect(w.config(ctx, p)).NotTo(BeNil())
		},
		Entry("without its Extension", func(w *world) []client.Object { return []client.Object{w.extension()} }),
		Entry("without the Secret", func(w *world) []client.Object { return []client.Object{w.secret()} }),
		Entry("without the Backend", func(w *world) []client.Object { return []client.Object{w.backend("default")} }),
		Entry("without any of them", func(w *world) []client.Object {
			return []client.Object{w.extension(), w.secret(), w.backend("default")}
		}),
	)

	Context("while its service does not answer", func() {
		BeforeEach(func(ctx SpecContext) {
			w.wire.SetFilter(toVoting(refuse))
			w.delete(ctx, p)
			_, err := w.reconcile(ctx, p)
			Expect(err).To(HaveOccurred(), "which makes the controller try again")
		})

		It("stays and reports the reason once", func(ctx SpecContext) {
			Expect(w.gone(ctx, p)).To(BeFalse())
			Expect(p).To(beBecause(v1alpha1.ServicesAvailable, v1alpha1.ReasonServiceUnreachable))
			_, err := w.reconcile(ctx, p)
			Expect(err).To(HaveOccurred())
			Expect(w.wire.TakeWrites()).To(Equal([]string{"DELETE /vote"}))
		})

		It("goes when the service is back", func(ctx SpecContext) {
			w.wire.SetFilter(nil)
			w.settle(ctx, p)
			Expect(w.gone(ctx, p)).To(BeTrue())
			Expect(w.config(ctx, p)).To(BeNil())
		})

		It("goes when it was waited for long enough", func(ctx SpecContext) {
			w.noted()
			w.clock.advance(6 * time.Minute)
			w.settle(ctx, p)
			Expect(w.gone(ctx, p)).To(BeTrue())
			Expect(w.noted()).To(ConsistOf(HavePrefix("Warning LeftBehind")))
		})

		It("is deleted when its policy changes to Retain", func(ctx SpecContext) {
			retain := []byte(`{"spec":{"deletionPolicy":"Retain"}}`) // as the documentation says
			Expect(w.api.Patch(ctx, p, client.RawPatch("application/merge-patch+json", retain))).To(Succeed())
			w.settle(ctx, p)
			Expect(w.gone(ctx, p)).To(BeTrue())
		})
	})

	It("is waited for in the same way while its key is refused", func(ctx SpecContext) {
		w.wire.SetFilter(toVoting(answer(403)))
		w.delete(ctx, p)
		_, err := w.reconcile(ctx, p)
		Expect(err).To(HaveOccurred())
		Expect(p).To(beBecause(v1alpha1.Configured, v1alpha1.ReasonNotAuthorized))
		w.clock.advance(6 * time.Minute)
		w.settle(ctx, p)
		Expect(w.gone(ctx, p)).To(BeTrue())
	})

	It("goes without a word when it never was in the service", func(ctx SpecContext) {
		never := w.poll("never", func(s *v1alpha1.PollSpec) { s.ExtensionRef.Name = "missing" })
		w.create(ctx, never)
		w.settle(ctx, never)
		w.noted()
		w.delete(ctx, never)
		w.settle(ctx, never)
		Expect(w.gone(ctx, never)).To(BeTrue())
		Expect(w.noted()).To(BeEmpty())
	})
})
