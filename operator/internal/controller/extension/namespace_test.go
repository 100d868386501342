package extension_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	acclaim "github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// team is a namespace with everything that a team declares, and the operator's RoleBinding.
type team struct {
	*world
	namespace, binding string
	extension          *v1alpha1.Extension
	poll               *v1alpha1.Poll
	backend            *v1alpha1.Backend
	service            *acclaim.Client // of the Backend that the teams share
	stop               func()
}

// newTenant starts an operator of two namespaces, a platform's with a Backend and a team's
// with an Extension and a Poll for it, and a Backend of its own.
func newTenant(ctx context.Context) *team {
	GinkgoHelper()
	w := newWorld(ctx)
	t := &team{world: w, namespace: w.newTeam(ctx), service: w.startVoting(ctx)}
	shared, secret := w.backend("default", "production"), w.secret("old")
	t.extension, t.poll, t.backend = w.extension("quiz", key("old")), w.poll("favourite"), w.backend("own", "sandbox")
	w.share(t.namespace, shared, secret, t.extension, t.poll)
	t.backend.Namespace = t.namespace
	shared.Spec.AllowedNamespaces = &v1alpha1.AllowedNamespaces{From: v1alpha1.FromAll}
	w.limits = []string{w.namespace, t.namespace}
	_, t.stop = w.startUntil()
	t.binding = w.rights.Impersonate.UserName
	create(ctx, secret, shared, t.backend, t.extension, t.poll)
	Eventually(polled(ctx, t.poll)).Should(have(v1alpha1.Ready, v1alpha1.ReasonInSync))
	Eventually(func(g Gomega) {
		for _, o := range []client.Object{t.extension, t.backend} {
			g.Expect(api.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
			g.Expect(o.GetFinalizers()).NotTo(BeEmpty())
		}
	}).Should(Succeed())
	return t
}

// delete deletes what the letters stand for as the controller of namespaces does: without a
// wait for any of it.
func (t *team) delete(ctx context.Context, order string) {
	GinkgoHelper()
	for _, letter := range order {
		switch letter {
		case 'R':
			Expect(api.Delete(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: t.binding}})).To(Succeed())
		case 'S':
			secret := t.secret()
			secret.Namespace = t.namespace
			Expect(api.Delete(ctx, secret)).To(Succeed())
		case 'E':
			Expect(api.Delete(ctx, t.extension)).To(Succeed())
		case 'P':
			Expect(api.Delete(ctx, t.poll)).To(Succeed())
		case 'B':
			Expect(api.Delete(ctx, t.backend)).To(Succeed())
		}
	}
}

// expectNothing waits until nothing keeps the namespace, and the poll is deleted from the
// service.
func (t *team) expectNothing(ctx context.Context) {
	GinkgoHelper()
	for _, o := range []client.Object{t.poll, t.extension, t.backend} {
		Eventually(isGone(ctx, o)).Should(BeTrue(), "%T", o)
	}
	_, found, err := t.service.ReadPollConfig(ctx, "favourite")
	Expect(err).NotTo(HaveOccurred())
	Expect(found).To(BeFalse(), "of the configuration")
}

// In a cluster, the deletion of a namespace takes the operator's RoleBinding first or in the
// midst of its objects.
var _ = Describe("Deletion of a watched namespace", func() {
	var orders []string
	for _, order := range permutations("EPB") {
		orders = append(orders, "RS"+order, "S"+order[:1]+"R"+order[1:])
	}
	for _, order := range orders {
		names := strings.NewReplacer("R", "RoleBinding ", "S", "Secret ", "E", "Extension ", "P", "Poll ", "B", "Backend ").Replace(order)
		It("ends in the order "+names, func(ctx context.Context) {
			t := newTenant(ctx)
			DeferCleanup(t.stop)
			t.delete(ctx, order)
			t.expectNothing(ctx)
		})
		It("ends when the operator is back after the order "+names, func(ctx context.Context) {
			t := newTenant(ctx)
			t.stop()
			t.delete(ctx, order)
			t.limits = t.limits[:1]
			t.start()
			t.expectNothing(ctx)
			Eventually(func() any { return t.registryIfAny(ctx, "default") }).Should(BeEmpty())
		})
	}
})

var _ = Describe("A namespace that has left the operator's", func() {
	var t *team
	BeforeEach(func(ctx context.Context) {
		t = newTenant(ctx)
		t.stop()
		t.delete(ctx, "R")
		t.limits = t.limits[:1]
		t.start()
	})

	It("keeps its votes, and its objects tell that they are not watched", func(ctx context.Context) {
		for _, told := range []func() any{
			func() any { return told(ctx, t.extension) },
			func() any { load(ctx, t.poll); return t.poll.Status.Conditions },
			func() any { load(ctx, t.backend); return t.backend.Status.Conditions },
		} {
			Eventually(told).Should(have(v1alpha1.Ready, v1alpha1.ReasonNotWatched))
		}
		Expect(meta.FindStatusCondition(t.poll.Status.Conditions, v1alpha1.Ready).Status).To(Equal(metav1.ConditionUnknown))
		young := t.extension.DeepCopy()
		young.ObjectMeta = t.named("young")
		young.Spec.ClientID, young.Spec.BackendRef = "young", nil
		secret := t.secret("new")
		young.Spec.Keys = []v1alpha1.Key{key("new")}
		create(ctx, secret, young)
		Eventually(func() any { return t.registry(ctx, "default") }).Should(Equal(keys{"quiz": {"old"}, "young": {"new"}}))
	})

	It("is one in which the operator may do nothing else", func(ctx context.Context) {
		as, err := client.New(t.rights, client.Options{Scheme: api.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		load(ctx, t.poll)
		for what, by := range map[string]func(*v1alpha1.Poll){
			"spec":             func(p *v1alpha1.Poll) { p.Spec.Prompt = "Another?" },
			"label":            func(p *v1alpha1.Poll) { p.Labels = map[string]string{"a": "b"} },
			"annotation":       func(p *v1alpha1.Poll) { p.Annotations["a"] = "b" },
			"finalizer":        func(p *v1alpha1.Poll) { p.Finalizers = append(p.Finalizers, "example.com/a") },
			"other annotation": func(p *v1alpha1.Poll) { p.Annotations[v1alpha1.OperatorAnnotation] = "other/acclaim" },
			"owner of the Poll": func(p *v1alpha1.Poll) {
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: "a", UID: "b"}}
			},
		} {
			changed := t.poll.DeepCopy()
			by(changed)
			Eventually(func() error { return as.Patch(ctx, changed.DeepCopy(), client.MergeFrom(t.poll), client.DryRunAll) }).Should(Satisfy(isDenied), what)
		}
		foreign := t.poll.DeepCopy()
		foreign.ObjectMeta = metav1.ObjectMeta{Namespace: t.namespace, Name: "foreign", Finalizers: []string{v1alpha1.PollFinalizer}, Annotations: map[string]string{v1alpha1.OperatorAnnotation: "other/acclaim"}}
		foreign.Spec.Channel = "2"
		create(ctx, foreign)
		freed := foreign.DeepCopy()
		freed.Finalizers = nil
		Expect(as.Patch(ctx, freed, client.MergeFrom(foreign))).To(Satisfy(isDenied), "another operator's")
		Expect(as.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: "keys"}, t.secret())).To(Satisfy(apierrors.IsForbidden))

		freed = t.poll.DeepCopy()
		freed.Finalizers = nil
		delete(freed.Annotations, v1alpha1.OperatorAnnotation)
		Eventually(func() error { return as.Patch(ctx, freed.DeepCopy(), client.MergeFrom(t.poll)) }).Should(Succeed())
		change(ctx, foreign, func(p *v1alpha1.Poll) { p.Finalizers = nil })
	})
})

// isDenied reports whether an admission policy denied a request.
func isDenied(err error) bool {
	return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
}
