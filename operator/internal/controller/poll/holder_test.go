package poll_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// The copy of an object, as of a backup of another cluster, has the finalizer and the
// annotation of an operator that is not there.
var _ = Describe("A Poll of an operator that the cluster does not have", func() {
	It("says so, can be handed over, and can be deleted", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.reconciler.Instance = holder.NewInstance("here/acclaim").WithLeases(w.api, "operator.acclaim.dev")
		copied := func(name, holder string) *v1alpha1.Poll {
			p := w.poll(name)
			p.Annotations = map[string]string{v1alpha1.OperatorAnnotation: holder}
			p.Finalizers = []string{v1alpha1.PollFinalizer}
			return p
		}
		kept, deleted, renamed := copied("kept", "elsewhere/acclaim"), copied("deleted", "elsewhere/acclaim"), copied("renamed", "here/before")
		w.create(ctx, w.backend("default"), kept, deleted, renamed)
		for _, p := range []*v1alpha1.Poll{kept, deleted, renamed} {
			w.settle(ctx, p)
			ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.Ready)
			Expect(ready).To(HaveValue(And(HaveField("Status", metav1.ConditionUnknown), HaveField("Reason", v1alpha1.ReasonHeldByAnother))), p.Name)
		}
		Expect(w.noted()).To(HaveEach(HavePrefix("Normal HeldByAnother")))
		Expect(w.wire.TakeWrites()).To(HaveEach("PATCH polls/status"))
		w.delete(ctx, deleted)
		w.settle(ctx, deleted)
		Expect(w.gone(ctx, deleted)).To(BeTrue())
		change(ctx, w, kept, func(p *v1alpha1.Poll) { delete(p.Annotations, v1alpha1.OperatorAnnotation) })
		w.settle(ctx, kept)
		Expect(kept).To(beReady())

		By("leaving alone what an operator with a lease holds")
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "operator.acclaim.dev"}}
		w.create(ctx, lease)
		held := copied("held", w.namespace+"/acclaim")
		w.create(ctx, held)
		w.settle(ctx, held)
		w.delete(ctx, held)
		w.settle(ctx, held)
		Expect(w.gone(ctx, held)).To(BeFalse())
		Expect(held.Status.Conditions).To(BeEmpty())
		Expect(w.api.Delete(ctx, lease)).To(Succeed())
		w.settle(ctx, held)
		Expect(w.gone(ctx, held)).To(BeTrue())
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
