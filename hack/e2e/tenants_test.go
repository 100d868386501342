package e2e_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// tenants has teams in namespaces of their own that use the release's Backend. The release
// keeps the names of namespaces that are gone among its values from then on.
func tenants(w *world) {
	It("serves every other team when the namespace of one is deleted", func(ctx SpecContext) {
		bad, team := w.newTenant(ctx, "bad"), w.newTenant(ctx, "team")
		later := &tenant{world: w, name: "later", namespace: w.namespace + "-later"}
		w.tenants = []string{bad.namespace, team.namespace, later.namespace} // the last does not exist yet
		Expect(w.upgrade(ctx, w.values(), "--wait", "--timeout", "5m")).To(Succeed())
		bad.declare(ctx)
		team.declare(ctx)

		began := time.Now()
		bad.delete(ctx)
		w.report.took("a watched namespace deleted, with Extension, Poll and Backend", began)

		By("killing the leader")
		before := w.leader(ctx)
		w.kill(ctx, w.leadingPod(ctx))
		Eventually(ctx, func() string { return w.leader(ctx) }).ShouldNot(BeElementOf(before, ""))
		team.declarePoll(ctx, "after-kill")

		By("starting both operators again")
		Expect(w.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(w.namespace), client.MatchingLabels{"app.kubernetes.io/component": "operator"})).To(Succeed())
		team.declarePoll(ctx, "after-restart")

		By("upgrading the release with that namespace in its values, and one that exists now")
		w.makeNamespace(ctx, later)
		Expect(w.upgrade(ctx, w.values(), "--wait", "--timeout", "5m")).To(Succeed())
		later.declare(ctx)
		team.declarePoll(ctx, "after-upgrade")

		By("deleting a namespace while no operator runs")
		values := w.values()
		values["operator"].(object)["replicas"] = 0
		Expect(w.upgrade(ctx, values)).To(Succeed())
		Eventually(ctx, func() ([]corev1.Pod, error) {
			return w.pods(ctx, client.MatchingLabels{"app.kubernetes.io/component": "operator"})
		}).Should(BeEmpty())
		Expect(w.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: later.namespace}})).To(Succeed())
		Eventually(ctx, func() ([]rbacv1.RoleBinding, error) {
			var bindings rbacv1.RoleBindingList
			err := w.List(ctx, &bindings, client.InNamespace(later.namespace))
			return bindings.Items, err
		}).Should(BeEmpty())
		Expect(w.upgrade(ctx, w.values())).To(Succeed())
		Eventually(ctx, func() (int32, error) {
			operator := &appsv1.Deployment{ObjectMeta: w.named(release + "-operator")}
			err := w.Get(ctx, client.ObjectKeyFromObject(operator), operator)
			return operator.Status.ReadyReplicas, err
		}).Should(BeNumerically(">", 0))
		began = time.Now()
		later.gone(ctx)
		w.report.took("operators that are back, to the end of a namespace that was deleted meanwhile", began)
	}, SpecTimeout(12*time.Minute))
}

// orphans checks what remains of a team after the release, which has namespaces that are gone among
// its values, has been uninstalled.
func orphans(w *world) {
	It("was uninstalled with namespaces that are gone, and keeps no other one", func(ctx SpecContext) {
		team := &tenant{world: w, name: "team", namespace: w.namespace + "-team"}
		p := &v1alpha1.Poll{ObjectMeta: team.named("colour")}
		Expect(w.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		Expect(p.Finalizers).To(BeEmpty())
		team.delete(ctx)
	}, SpecTimeout(3*time.Minute))
}

// tenant is a team with a namespace.
type tenant struct {
	*world
	name, namespace string
}

func (w *world) newTenant(ctx context.Context, name string) *tenant {
	t := &tenant{world: w, name: name, namespace: w.namespace + "-" + name}
	w.makeNamespace(ctx, t)
	return t
}

func (w *world) makeNamespace(ctx context.Context, t *tenant) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}}
	Expect(w.Create(ctx, namespace)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { // after the release: what is ordered cleans up last
		if CurrentSpecReport().Failed() {
			Expect(client.IgnoreNotFound(w.Delete(ctx, namespace))).To(Succeed())
		}
	}, NodeTimeout(time.Minute))
}

func (t *tenant) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: t.namespace, Name: name}
}

// declare makes a team's Extension and Poll for the release's Backend, and a Backend of its
// own, which has no database and never gets ready.
func (t *tenant) declare(ctx context.Context) {
	GinkgoHelper()
	Expect(t.Create(ctx, &corev1.Secret{ObjectMeta: t.named("quiz"), StringData: map[string]string{
		"first": base64.StdEncoding.EncodeToString([]byte("the key of the team " + t.name)),
	}})).To(Succeed())
	e := smallExtension(t.named("quiz"))
	e.Spec.ClientID = v1alpha1.ID("client-of-" + t.name)
	e.Spec.BackendRef = &v1alpha1.BackendReference{Name: "default", Namespace: t.world.namespace}
	Expect(t.Create(ctx, e)).To(Succeed())
	Expect(t.Create(ctx, smallBackend(t.named("own"), "missing", ""))).To(Succeed())
	t.declarePoll(ctx, "colour")
}

// declarePoll declares a Poll and waits until it is in force.
func (t *tenant) declarePoll(ctx context.Context, name string) {
	GinkgoHelper()
	p := poll(t.named(name))
	p.Spec.BackendRef = nil
	Expect(t.Create(ctx, p)).To(Succeed())
	Eventually(ctx, func() error {
		if err := t.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
			return err
		}
		return isReady(p.Status.Conditions, p.Generation)
	}).Should(Succeed())
}

// delete deletes the team's namespace, and none of its objects first.
func (t *tenant) delete(ctx context.Context) {
	GinkgoHelper()
	Expect(t.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}})).To(Succeed())
	t.gone(ctx)
}

// gone waits until the team's namespace is.
func (t *tenant) gone(ctx context.Context) {
	GinkgoHelper()
	t.world.gone(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}})
}

// leadingPod returns the pod of the operator that leads.
func (w *world) leadingPod(ctx context.Context) *corev1.Pod {
	GinkgoHelper()
	pods, err := w.pods(ctx, client.MatchingLabels{"app.kubernetes.io/component": "operator"})
	Expect(err).NotTo(HaveOccurred())
	leader := w.leader(ctx)
	leads := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return strings.HasPrefix(leader, pod.Name+"_") })
	Expect(leads).NotTo(BeNumerically("<", 0), fmt.Sprintf("%s leads, and is no pod", leader))
	return &pods[leads]
}
