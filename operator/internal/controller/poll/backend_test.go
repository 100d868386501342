package poll_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

var _ = Describe("The Backend of a Poll", func() {
	var (
		w *world
		p *v1alpha1.Poll
	)
	BeforeEach(func(ctx SpecContext) {
		w = newWorld(ctx)
		p = w.poll("colour")
	})
	naming := func(name string) func(*v1alpha1.Poll) {
		return func(p *v1alpha1.Poll) { p.Spec.BackendRef = &v1alpha1.BackendReference{Name: name} }
	}

	It("is created when the namespace has none", func(ctx SpecContext) {
		w.create(ctx, p)
		w.settle(ctx, p)
		Expect(w.wire.TakeWrites()).To(ContainElement("POST backends"))
		Expect(p).To(beReady())
		Expect(w.gone(ctx, w.backend("default"))).To(BeFalse())
	})

	It("is missed when the operator has no default", func(ctx SpecContext) {
		w.reconciler.DefaultBackend = nil
		w.create(ctx, p)
		w.settle(ctx, p)
		Expect(p).To(beBecause(v1alpha1.ServicesAvailable, v1alpha1.ReasonBackendNotFound))
		Expect(p).To(haveReason(v1alpha1.Configured, v1alpha1.ReasonWaiting))
	})

	It("is missed when the one that is named does not exist", func(ctx SpecContext) {
		naming("nowhere")(p)
		w.create(ctx, w.backend("default"), p)
		w.settle(ctx, p)
		Expect(p).To(beBecause(v1alpha1.ServicesAvailable, v1alpha1.ReasonBackendNotFound))
	})

	It("says that it is suspended, and serves again afterwards", func(ctx SpecContext) {
		suspended := w.backend("default")
		suspended.Spec.Suspend = true
		w.create(ctx, suspended, p)
		w.settle(ctx, p)
		Expect(p).To(beBecause(v1alpha1.ServicesAvailable, v1alpha1.ReasonBackendSuspended))
		suspended.Spec.Suspend = false
		Expect(w.api.Update(ctx, suspended)).To(Succeed())
		w.settle(ctx, p)
		Expect(p).To(beReady())
	})

	It("has to be named when several could be meant", func(ctx SpecContext) {
		w.create(ctx, w.backend("one"), w.backend("two"), p)
		w.settle(ctx, p)
		Expect(p).To(beBecause(v1alpha1.ServicesAvailable, v1alpha1.ReasonBackendAmbiguous))
		change(ctx, w, p, naming("two"))
		w.settle(ctx, p)
		Expect(p).To(beReady())
		Expect(p.Status.Backend).To(Equal("two"))
		p.Spec.BackendRef.Name = "one"
		Expect(w.api.Update(ctx, p)).To(MatchError(ContainSubstring("immutable once it is set")))
	})

	It("stays when others come", func(ctx SpecContext) {
		w.create(ctx, w.backend("one"), p)
		w.settle(ctx, p)
		w.create(ctx, w.backend("default"))
		w.settle(ctx, p)
		Expect(w.wire.TakeWrites()).To(BeEmpty())
		Expect(p.Status.Backend).To(Equal("one"))
	})

	It("gets the configuration when it takes the place of another", func(ctx SpecContext) {
		p.Spec.DriftPolicy = v1alpha1.DriftInitOnly
		w.create(ctx, w.backend("one"), p)
		w.settle(ctx, p)
		w.delete(ctx, w.backend("one"))
		w.create(ctx, w.backend("two"))
		w.settle(ctx, p)
		Expect(w.wire.TakeWrites()).To(Equal([]string{"POST /vote_config", "PATCH polls/status"}))
		Expect(p.Status.Backend).To(Equal("two"))
		Expect(w.noted()).To(ContainElement(ContainSubstring("votes in Backend one were left behind")))
	})

	It("says itself why its service does not answer", func(ctx SpecContext) {
		b := w.backend("default")
		w.create(ctx, b, p)
		meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{
			Type: v1alpha1.Ready, Status: metav1.ConditionFalse, Reason: "RollingOut", Message: "voting: 0 of 2 pods are ready",
		})
		Expect(w.api.Status().Update(ctx, b)).To(Succeed())
		w.wire.SetFilter(toVoting(refuse))
		_, err := w.reconcile(ctx, p)
		Expect(err).To(HaveOccurred())
		Expect(p).To(beBecause(v1alpha1.ServicesAvailable, v1alpha1.ReasonBackendNotReady))
		ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.Ready)
		Expect(ready.Message).To(Equal(`Backend "default": RollingOut: voting: 0 of 2 pods are ready`))

		w.wire.SetFilter(nil)
		w.settle(ctx, p)
		Expect(p).To(beReady(), "a service that answers is enough")
	})
})
