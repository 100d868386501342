package poll_test

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

var _ = Describe("A Poll claims only what was looked at", func() {
	var w *world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	// set stores a Backend's conditions as its controller does.
	set := func(ctx SpecContext, b *v1alpha1.Backend, value metav1.ConditionStatus, reason string) {
		GinkgoHelper()
		Expect(w.api.Get(ctx, client.ObjectKeyFromObject(b), b)).To(Succeed())
		for _, kind := range []string{v1alpha1.Available, v1alpha1.Ready} {
			meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: kind, Status: value, Reason: reason, Message: "why"})
		}
		Expect(w.api.Status().Update(ctx, b)).To(Succeed())
	}

	It("not to be seen before an operator has seen it", func(ctx SpecContext) {
		p := w.poll("unseen")
		w.create(ctx, p)
		Expect(p.Status.ObservedGeneration).To(BeEquivalentTo(-1))
		e := w.extension()
		Expect(w.api.Get(ctx, client.ObjectKeyFromObject(e), e)).To(Succeed())
		Expect(e.Status.ObservedGeneration).To(BeEquivalentTo(-1))
	})

	It("whether its Backend serves when its policy asks the service no more", func(ctx SpecContext) {
		p, b := w.poll("once", func(s *v1alpha1.PollSpec) { s.DriftPolicy = v1alpha1.DriftInitOnly }), w.backend("default")
		w.create(ctx, b, p)
		w.settle(ctx, p)
		Expect(p).To(beReady())
		set(ctx, b, metav1.ConditionFalse, v1alpha1.ReasonDatabaseUnreachable)
		w.settle(ctx, p)
		Expect(p).To(beBecause(v1alpha1.ServicesAvailable, v1alpha1.ReasonBackendNotReady))
		set(ctx, b, metav1.ConditionTrue, v1alpha1.ReasonRolledOut)
		w.settle(ctx, p)
		Expect(p).To(beReady())
	})

	It("that its Backend runs no voting service", func(ctx SpecContext) {
		p, b := w.poll("silent", func(s *v1alpha1.PollSpec) { s.DriftPolicy = v1alpha1.DriftInitOnly }), w.backend("default")
		w.create(ctx, b, p)
		w.settle(ctx, p)
		change(ctx, w, b, func(b *v1alpha1.Backend) { b.Spec.Services.Voting = &v1alpha1.Service{Disabled: true} })
		w.settle(ctx, p)
		Expect(p).To(beBecause(v1alpha1.ServicesAvailable, v1alpha1.ReasonServiceDisabled))
		Expect(meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.Stalled)).To(BeTrue())
	})

	It("as soon as its Backend has lost the pods of a service", func(ctx SpecContext) {
		w.reconciler.DriftInterval = 24 * time.Hour
		p, b := w.poll("woken"), w.backend("default")
		w.create(ctx, b, p)
		set(ctx, b, metav1.ConditionTrue, v1alpha1.ReasonRolledOut)
		w.run()
		w.eventually(ctx, p, beReady())
		w.wire.SetFilter(toVoting(refuse))
		set(ctx, b, metav1.ConditionFalse, v1alpha1.ReasonDatabaseUnreachable)
		w.eventually(ctx, p, haveReason(v1alpha1.Ready, v1alpha1.ReasonBackendNotReady))
	})

	It("that viewers can vote, not before all pods accept the Extension's key", func(ctx SpecContext) {
		w.reconciler.DriftInterval = 24 * time.Hour
		e, p := w.extension(), w.poll("first")
		Expect(w.api.Get(ctx, client.ObjectKeyFromObject(e), e)).To(Succeed())
		e.Status.Conditions = nil
		Expect(w.api.Status().Update(ctx, e)).To(Succeed())
		w.create(ctx, w.backend("default"), p)
		w.settle(ctx, p)
		Expect(p).To(haveReason(v1alpha1.Ready, v1alpha1.ReasonWaitingForExtension), "the Extension is not known to be registered")
		w.register(ctx, metav1.ConditionFalse, v1alpha1.ReasonWaitingForRegistry)
		w.settle(ctx, p)
		Expect(w.wire.TakeCalls()).NotTo(ContainElement(HavePrefix("PATCH")), "it waits for the same")
		Expect(p).To(haveReason(v1alpha1.Ready, v1alpha1.ReasonWaitingForExtension))
		Expect(p).To(haveReason(v1alpha1.Configured, v1alpha1.ReasonInSync))
		Expect(w.config(ctx, p)).NotTo(BeNil())
		Expect(w.noted()).To(ConsistOf(HavePrefix("Normal WaitingForExtension")))
		w.run()
		w.eventually(ctx, p, haveReason(v1alpha1.Ready, v1alpha1.ReasonWaitingForExtension))
		w.register(ctx, metav1.ConditionTrue, v1alpha1.ReasonRegistered)
		w.eventually(ctx, p, beReady())
	})

	It("that the services have yet to read the registry, while that is the normal course", func(ctx SpecContext) {
		e, p := w.extension(), w.poll("early")
		Expect(w.api.Get(ctx, client.ObjectKeyFromObject(e), e)).To(Succeed())
		e.Status.Conditions[0].LastTransitionTime = metav1.Time{Time: w.clock.standing()}
		Expect(w.api.Status().Update(ctx, e)).To(Succeed())
		w.create(ctx, w.backend("default"), p)
		w.wire.SetFilter(toVoting(answer(http.StatusUnauthorized)))
		_, err := w.reconcile(ctx, p)
		Expect(err).To(HaveOccurred(), "which makes the controller try again")
		Expect(p).To(beBecause(v1alpha1.Configured, v1alpha1.ReasonWaitingForRegistry))
		Expect(w.noted()).To(ConsistOf(HavePrefix("Normal WaitingForRegistry")))
		w.clock.advance(3 * time.Minute)
		_, err = w.reconcile(ctx, p)
		Expect(err).To(HaveOccurred())
		Expect(p).To(beBecause(v1alpha1.Configured, v1alpha1.ReasonNotAuthorized))
	})
})
