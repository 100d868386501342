package backend_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/holder"
)

// holdings is a Backend that serves, and a Poll that it holds.
type holdings struct {
	*world
	poll *v1alpha1.Poll
	pod  *corev1.Pod
	age  time.Duration // since the deletion of the Backend
}

// newHoldings returns holdings after a change of the Poll, which is in a namespace of its own
// where the change says so.
func newHoldings(ctx context.Context, change func(*v1alpha1.Poll)) *holdings {
	GinkgoHelper()
	h := &holdings{world: newWorld(ctx, nil)}
	h.rollOut(ctx)
	h.pod = h.world.pod(ctx, "voting", corev1.PodStatus{Phase: corev1.PodRunning})
	h.poll = h.configured("poll")
	if change != nil {
		change(h.poll)
	}
	h.declare(ctx, h.poll)
	h.events()
	h.reconciler.GiveUpAfter = 5 * time.Minute
	h.reconciler.Now = func() time.Time {
		if h.backend.DeletionTimestamp == nil {
			return now.Time
		}
		return h.backend.DeletionTimestamp.Add(h.age)
	}
	return h
}

// configured returns a Poll that the operator has configured in the Backend.
func (w *world) configured(name string) *v1alpha1.Poll {
	p := &v1alpha1.Poll{ObjectMeta: w.named(name), Spec: v1alpha1.PollSpec{
		ExtensionRef: v1alpha1.ObjectReference{Name: "quiz"}, Channel: "1", Options: []string{"this", "that"},
	}}
	p.Finalizers = []string{v1alpha1.PollFinalizer}
	p.Status.Backend = w.backend.Name
	return p
}

// declare creates a Poll with its status, and the Poll's namespace if there is none.
func (w *world) declare(ctx context.Context, p *v1alpha1.Poll) {
	GinkgoHelper()
	if p.Namespace != w.backend.Namespace {
		w.create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.Namespace}})
	}
	stored := p.Status
	w.create(ctx, p)
	p.Status = stored
	p.Status.ObservedGeneration = -1
	Expect(w.Status().Update(ctx, p)).To(Succeed())
}

// release removes the finalizer of a Poll, as the operator does once the service has deleted
// the poll.
func (w *world) release(ctx context.Context, p *v1alpha1.Poll) {
	GinkgoHelper()
	w.load(ctx, p)
	p.Finalizers = nil
	Expect(w.Update(ctx, p)).To(Succeed())
}

// do does one step: it deletes the Backend (B, and F in the foreground), the Poll (P) or the
// namespace (N), lets the Poll go (G) or time pass.
func (h *holdings) do(ctx context.Context, step string) {
	GinkgoHelper()
	switch step {
	case "B":
		Expect(h.Delete(ctx, h.backend)).To(Succeed())
		h.load(ctx, h.backend)
	case "F":
		Expect(h.Delete(ctx, h.backend, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		h.load(ctx, h.backend)
	case "P":
		Expect(h.Delete(ctx, h.poll)).To(Succeed())
	case "N": // Kubernetes deletes pods before all else in it
		Expect(h.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: h.backend.Namespace}})).To(Succeed())
		Expect(h.Delete(ctx, h.pod)).To(Succeed())
	case "G":
		h.release(ctx, h.poll)
	default:
		passes, err := time.ParseDuration(step)
		Expect(err).NotTo(HaveOccurred())
		h.age += passes
	}
}

// isHeld reconciles and reports whether the operator keeps the Backend.
func (h *holdings) isHeld(ctx context.Context) bool {
	GinkgoHelper()
	key := client.ObjectKeyFromObject(h.backend)
	if h.Get(ctx, key, h.backend) == nil {
		result, err := h.reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: key})
		Expect(err).NotTo(HaveOccurred())
		if controllerutil.ContainsFinalizer(h.backend, v1alpha1.BackendFinalizer) && h.backend.DeletionTimestamp != nil && result.RequeueAfter > 0 {
			Expect(result.RequeueAfter).To(BeNumerically("<=", time.Second))
		}
	}
	var stored v1alpha1.Backend
	return h.Get(ctx, key, &stored) == nil && controllerutil.ContainsFinalizer(&stored, v1alpha1.BackendFinalizer)
}

var _ = Describe("A deleted Backend", func() {
	retained := func(p *v1alpha1.Poll) { p.Spec.DeletionPolicy = v1alpha1.DeletionRetain }
	never := func(p *v1alpha1.Poll) { p.Status.Backend = "" }
	elsewhere := func(p *v1alpha1.Poll) { p.Status.Backend = "other" }
	of := func(namespace string) func(*v1alpha1.Poll) {
		return func(p *v1alpha1.Poll) {
			p.Namespace, p.Status.BackendNamespace = p.Namespace+"-"+namespace, p.Namespace
		}
	}

	// After a step with + the operator keeps the Backend, after one with - it does not.
	DescribeTable("waits for its Polls where that helps", func(ctx context.Context, steps string, change func(*v1alpha1.Poll)) {
		h := newHoldings(ctx, change)
		Expect(h.isHeld(ctx)).To(BeTrue(), "it has its finalizer from the first")
		done := ""
		for step := range strings.FieldsSeq(steps) {
			done += " " + step
			h.do(ctx, strings.TrimRight(step, "+-"))
			if held := strings.HasSuffix(step, "+"); held || strings.HasSuffix(step, "-") {
				Expect(h.isHeld(ctx)).To(Equal(held), "after%s", done)
			}
		}
	},
		Entry("deleted before its Poll", "B+ P+ G-", nil),
		Entry("deleted after its Poll", "P B+ 10s+ G-", nil),
		Entry("deleted after its Poll is gone", "P G B-", nil),
		Entry("a moment before its Poll, which takes longer", "B+ 4s+ P+ 10s+ 4m+ G-", nil),
		Entry("with a Poll that lives on", "B+ 4s+ 1s-", nil),
		Entry("with a Poll that is deleted too late", "B+ 5s- P", nil),
		Entry("until it gives up", "B+ P+ 299s+ 1s-", nil),
		Entry("with a Poll that retains its votes", "B- P", retained),
		Entry("with a Poll that was never in a service", "B- P", never),
		Entry("with a Poll of another Backend", "P B-", elsewhere),
		Entry("with a Poll of another namespace", "B+ P+ 10s+ G-", of("team")),
		Entry("with a Poll of another namespace that lives on", "B+ 5s-", of("guest")),
		Entry("in the foreground, where its objects go first", "P F-", nil),
		Entry("in the foreground while it waits", "P B+ F-", nil),
		Entry("with its namespace", "N P B-", nil),
		Entry("with its namespace while it waits", "B+ P+ N-", nil),
	)

	It("leaves its objects alone, and says once what it waits for", func(ctx context.Context) {
		h := newHoldings(ctx, of("b"))
		for _, name := range []string{"c", "a", "d"} {
			h.declare(ctx, h.configured(name))
		}
		Expect(h.isHeld(ctx)).To(BeTrue())
		h.do(ctx, "B")
		Expect(h.Delete(ctx, h.secret("mongodb", "", ""))).To(Succeed(), "as with the Backend; new pods would miss it")
		Expect(h.reconcile(ctx)).To(Succeed())
		ready := h.condition(v1alpha1.Ready)
		Expect(ready).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonWaitingForPolls)))
		Expect(ready.Message).To(HaveSuffix(": a, " + h.poll.Namespace + "/poll, c and 1 more"))
		Expect(meta.IsStatusConditionTrue(h.backend.Status.Conditions, v1alpha1.Reconciling)).To(BeTrue())
		Expect(meta.IsStatusConditionTrue(h.backend.Status.Conditions, v1alpha1.Available)).To(BeTrue())
		Expect(h.requests.writes).To(HaveLen(1), "the status")
		Expect(h.events()).To(ConsistOf(HavePrefix("Warning WaitingForPolls")))

		h.do(ctx, "P")
		Expect(h.reconcile(ctx)).To(Succeed())
		Expect(h.requests.writes).To(BeEmpty())
		Expect(h.events()).To(BeEmpty())
	})

	It("is released although it is paused, and not by an operator that does not hold it", func(ctx context.Context) {
		h := newHoldings(ctx, nil)
		h.backend.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true", v1alpha1.OperatorAnnotation: "team-b/acclaim"}
		Expect(h.Update(ctx, h.backend)).To(Succeed())
		h.reconciler.Instance = holder.NewInstance("team-a/acclaim")
		h.do(ctx, "P")
		h.do(ctx, "G")
		h.do(ctx, "B")
		Expect(h.isHeld(ctx)).To(BeTrue())
		h.reconciler.Instance = holder.NewInstance("team-b/acclaim")
		Expect(h.isHeld(ctx)).To(BeFalse())
	})

	It("of an operator that did not know the finalizer has it from the next look on", func(ctx context.Context) {
		h := newHoldings(ctx, nil)
		h.release(ctx, h.poll)
		h.backend.Finalizers = nil
		Expect(h.Update(ctx, h.backend)).To(Succeed())
		Expect(h.isHeld(ctx)).To(BeTrue())
		h.load(ctx, h.backend)
		h.reconciler.Now = time.Now
		h.settle(ctx)
	})
})
