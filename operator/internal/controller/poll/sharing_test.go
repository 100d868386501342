package poll_test

import (
	"errors"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// The suite of the Extension controller has both controllers over several namespaces; here
// are the parts that need no other controller.
var _ = Describe("A Poll of a Backend in another namespace", func() {
	var (
		w    *world
		host *world
		b    *v1alpha1.Backend
		e    *v1alpha1.Extension
		p    *v1alpha1.Poll
	)
	BeforeEach(func(ctx SpecContext) {
		w, host = newWorld(ctx), newWorld(ctx)
		b, e, p = host.backend("shared"), w.extension(), w.poll("favourite")
		b.Spec.AllowedNamespaces = &v1alpha1.AllowedNamespaces{From: v1alpha1.FromAll}
		host.create(ctx, b)
		change(ctx, w, e, func(e *v1alpha1.Extension) {
			e.Spec.BackendRef = &v1alpha1.BackendReference{Name: "shared", Namespace: host.namespace}
		})
		w.create(ctx, p)
		host.fresh(ctx)
	})

	It("is configured when its Extension is admitted", func(ctx SpecContext) {
		Expect(w.api.Get(ctx, client.ObjectKeyFromObject(e), e)).To(Succeed())
		e.Status.Conditions = nil
		Expect(w.api.Status().Update(ctx, e)).To(Succeed())
		w.settle(ctx, p)
		Expect(p).To(beBecause(v1alpha1.Configured, v1alpha1.ReasonWaitingForRegistry))
		Expect(w.config(ctx, p)).To(BeNil(), "although it has the key")
		w.register(ctx, metav1.ConditionFalse, v1alpha1.ReasonConflict)
		w.settle(ctx, p)
		Expect(p).To(beBecause(v1alpha1.Configured, v1alpha1.ReasonConflict))
		w.register(ctx, metav1.ConditionTrue, v1alpha1.ReasonRegistered)
		w.settle(ctx, p)
		Expect(p).To(beReady())
		Expect(w.config(ctx, p)).NotTo(BeNil())
		Expect(p.Status).To(And(HaveField("Backend", "shared"), HaveField("BackendNamespace", host.namespace)))
		var local v1alpha1.BackendList
		Expect(w.api.List(ctx, &local, client.InNamespace(w.namespace))).To(Succeed())
		Expect(local.Items).To(BeEmpty(), "no default Backend")
	})

	It("does not learn why the Backend does not serve", func(ctx SpecContext) {
		w.register(ctx, metav1.ConditionTrue, v1alpha1.ReasonRegistered)
		for _, kind := range []string{v1alpha1.Available, v1alpha1.Ready} {
			meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonDatabaseUnreachable, Message: "secret-of-the-platform"})
		}
		Expect(w.api.Status().Update(ctx, b)).To(Succeed())
		host.fresh(ctx)
		w.wire.SetFilter(toVoting(func(string, *http.Request, http.RoundTripper) (*http.Response, error) {
			return nil, errors.New("refused")
		}))
		_, err := w.reconcile(ctx, p)
		Expect(err).To(HaveOccurred(), "it is tried again")
		Expect(p).To(beBecause(v1alpha1.ServicesAvailable, v1alpha1.ReasonBackendNotReady))
		for _, c := range p.Status.Conditions {
			Expect(c.Message).NotTo(ContainSubstring("secret-of-the-platform"))
		}
	})

	It("is not one of a Backend that its Extension does not name", func(ctx SpecContext) {
		w.register(ctx, metav1.ConditionTrue, v1alpha1.ReasonRegistered)
		other := w.backend("default")
		w.create(ctx, other)
		here := w.poll("here", func(s *v1alpha1.PollSpec) { s.Channel, s.BackendRef = "2", &v1alpha1.BackendReference{Name: "default"} })
		w.create(ctx, here)
		w.settle(ctx, here)
		Expect(here).To(beBecause(v1alpha1.Configured, v1alpha1.ReasonNoKey))
		w.settle(ctx, p)
		Expect(p).To(beReady())
	})

	It("is deleted at once when the Backend and its registry are gone", func(ctx SpecContext) {
		w.register(ctx, metav1.ConditionTrue, v1alpha1.ReasonRegistered)
		w.settle(ctx, p)
		Expect(p).To(beReady())
		w.noted()
		host.delete(ctx, b)
		host.fresh(ctx)
		w.settle(ctx, p)
		Expect(p).To(beBecause(v1alpha1.ServicesAvailable, v1alpha1.ReasonRefNotPermitted))
		w.delete(ctx, p)
		_, err := w.reconcile(ctx, p)
		Expect(err).NotTo(HaveOccurred())
		Expect(w.gone(ctx, p)).To(BeTrue())
		Expect(w.noted()).To(ContainElement(HavePrefix("Warning LeftBehind")))
	})
})
