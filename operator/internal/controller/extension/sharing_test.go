package extension_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
)

// newTeam makes a namespace of the world for a team, with the label shared.
func (w *world) newTeam(ctx context.Context) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "team-", Labels: map[string]string{"shared": "yes"}}}
	create(ctx, namespace)
	w.teams = append(w.teams, namespace.Name)
	DeferCleanup(func(ctx context.Context) { Expect(cluster.CheckStatuses(ctx, namespace.Name)).To(Succeed()) })
	return namespace.Name
}

// share moves objects to a team, whose namespace the Backend allows and whose Extensions
// name it.
func (w *world) share(team string, b *v1alpha1.Backend, objects ...client.Object) {
	b.Spec.AllowedNamespaces = &v1alpha1.AllowedNamespaces{From: v1alpha1.FromSelector, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"shared": "yes"}}}
	for _, o := range objects {
		o.SetNamespace(team)
		if e, ok := o.(*v1alpha1.Extension); ok {
			e.Spec.BackendRef = &v1alpha1.BackendReference{Name: b.Name, Namespace: b.Namespace}
		}
	}
}

// label sets or removes the label shared of a namespace.
func label(ctx context.Context, team string, shared bool) {
	GinkgoHelper()
	change(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}, func(n *corev1.Namespace) {
		delete(n.Labels, "shared")
		if shared {
			n.Labels["shared"] = "yes"
		}
	})
}

// message returns the message of an Extension's condition Ready.
func message(ctx context.Context, e *v1alpha1.Extension) string {
	GinkgoHelper()
	return meta.FindStatusCondition(told(ctx, e), v1alpha1.Ready).Message
}

var _ = Describe("A Backend for several namespaces", func() {
	var (
		w       *world
		team    string
		backend *v1alpha1.Backend
		secret  *corev1.Secret
		quiz    *v1alpha1.Extension
	)
	registered := func(ctx context.Context) func() keys {
		return func() keys { return w.registryIfAny(ctx, "default") }
	}
	conditions := func(ctx context.Context, e *v1alpha1.Extension) func() any {
		return func() any { return told(ctx, e) }
	}
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		team = w.newTeam(ctx)
		backend, secret, quiz = w.backend("default", "production"), w.secret("old"), w.extension("quiz", key("old"))
		w.share(team, backend, secret, quiz)
	})

	It("serves those that its owner allows, for as long, and tells nothing to others", func(ctx context.Context) {
		w.start()
		p := w.poll("favourite")
		p.Namespace = team
		create(ctx, secret, quiz, p)
		Eventually(conditions(ctx, quiz)).Should(have(v1alpha1.Ready, v1alpha1.ReasonRefNotPermitted))
		Expect(meta.IsStatusConditionTrue(quiz.Status.Conditions, v1alpha1.Stalled)).To(BeFalse(), "it may be on its way")
		Eventually(polled(ctx, p)).Should(have(v1alpha1.Ready, v1alpha1.ReasonRefNotPermitted))
		absent := message(ctx, quiz)

		consent := backend.Spec.AllowedNamespaces
		backend.Spec.AllowedNamespaces = nil
		create(ctx, backend)
		Eventually(registered(ctx)).Should(BeEmpty())
		Expect(message(ctx, quiz)).To(Equal(absent))

		By("consenting")
		change(ctx, backend, func(b *v1alpha1.Backend) { b.Spec.AllowedNamespaces = consent })
		Eventually(registered(ctx)).Should(Equal(keys{"quiz": {"old"}}))
		Eventually(conditions(ctx, quiz)).Should(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
		w.serving.Store(w.startPod(ctx, "default", "voting"))
		Eventually(polled(ctx, p)).Should(have(v1alpha1.Ready, v1alpha1.ReasonInSync))
		Expect(p.Status).To(And(HaveField("Backend", "default"), HaveField("BackendNamespace", w.namespace)))

		By("withdrawing the namespace's label")
		label(ctx, team, false)
		Eventually(registered(ctx)).Should(BeEmpty())
		Eventually(conditions(ctx, quiz)).Should(have(v1alpha1.Ready, v1alpha1.ReasonRefNotPermitted))
		Expect(message(ctx, quiz)).To(Equal(absent))
		Eventually(polled(ctx, p)).Should(have(v1alpha1.Ready, v1alpha1.ReasonRefNotPermitted))
		label(ctx, team, true)
		Eventually(conditions(ctx, quiz)).Should(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
		Eventually(polled(ctx, p)).Should(have(v1alpha1.Ready, v1alpha1.ReasonInSync))

		By("withdrawing the consent")
		change(ctx, backend, func(b *v1alpha1.Backend) {
			b.Spec.AllowedNamespaces.From, b.Spec.AllowedNamespaces.Selector = v1alpha1.FromSame, nil
		})
		Eventually(registered(ctx)).Should(BeEmpty())
		Eventually(polled(ctx, p)).Should(have(v1alpha1.Ready, v1alpha1.ReasonRefNotPermitted))
		change(ctx, backend, func(b *v1alpha1.Backend) { b.Spec.AllowedNamespaces.From = v1alpha1.FromAll })
		Eventually(polled(ctx, p)).Should(have(v1alpha1.Ready, v1alpha1.ReasonInSync))
	})

	It("gives an id to the oldest, and to the next when that one goes", func(ctx context.Context) {
		rivals := w.newTeam(ctx)
		young, other, p := w.extension("quiz", key("old")), w.secret("old"), w.poll("favourite")
		w.share(rivals, backend, young, other, p)
		w.start()
		create(ctx, backend, secret, quiz, other)
		Eventually(conditions(ctx, quiz)).Should(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
		w.createYounger(ctx, young, quiz)
		create(ctx, p)
		w.serving.Store(w.startPod(ctx, "default", "voting"))
		Eventually(conditions(ctx, young)).Should(have(v1alpha1.Ready, v1alpha1.ReasonConflict))
		Expect(message(ctx, young)).To(And(ContainSubstring("of another namespace"), Not(ContainSubstring(team))))
		Eventually(polled(ctx, p)).Should(have(v1alpha1.Ready, v1alpha1.ReasonConflict), "although it has the same key")
		Expect(api.Delete(ctx, quiz)).To(Succeed())
		Eventually(conditions(ctx, young)).Should(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
		Eventually(polled(ctx, p)).Should(have(v1alpha1.Ready, v1alpha1.ReasonInSync))
	})

	It("takes so many Extensions of a namespace, and bounds their limits", func(ctx context.Context) {
		backend.Spec.AllowedNamespaces.MaxExtensions = new(int32(1))
		backend.Spec.AllowedNamespaces.Limits = &v1alpha1.Limits{ExtensionBytesPerDay: new(int64(1000)), ExtensionRate: &v1alpha1.Rate{PerSecond: 10}}
		quiz.Spec.Limits = &v1alpha1.Limits{ExtensionBytesPerDay: new(int64(0)), BodyBytes: new(int32(5)), ExtensionRate: &v1alpha1.Rate{PerSecond: 100, Burst: new(int32(3))}}
		w.start()
		more := w.extension("more", key("new"))
		w.share(team, backend, more)
		secret.Data["new"] = w.secret("new").Data["new"]
		backend.Spec.AllowedNamespaces.MaxExtensions = new(int32(1))
		backend.Spec.AllowedNamespaces.Limits = &v1alpha1.Limits{ExtensionBytesPerDay: new(int64(1000)), ExtensionRate: &v1alpha1.Rate{PerSecond: 10}}
		create(ctx, backend, secret, quiz)
		w.createYounger(ctx, more, quiz)
		Eventually(conditions(ctx, more)).Should(have(v1alpha1.Ready, v1alpha1.ReasonTooManyExtensions))
		Eventually(registered(ctx)).Should(Equal(keys{"quiz": {"old"}}))
		file := &corev1.Secret{ObjectMeta: w.named(desired.RegistrySecret("default"))}
		load(ctx, file)
		text := string(file.Data[desired.RegistryKey])
		Expect(text).To(And(ContainSubstring("extensionBytesPerDay: 1000"), ContainSubstring("bodyBytes: 5"), ContainSubstring("burst: 3"), ContainSubstring("perSecond: 10\n")))
		change(ctx, backend, func(b *v1alpha1.Backend) { b.Spec.AllowedNamespaces.MaxExtensions = nil })
		Eventually(conditions(ctx, more)).Should(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
	})

	It("is in a namespace that the operator watches, and allows others by name", func(ctx context.Context) {
		w.limits = []string{w.namespace, team}
		w.start()
		create(ctx, backend, secret, quiz)
		Eventually(conditions(ctx, quiz)).Should(have(v1alpha1.Ready, v1alpha1.ReasonRefNotPermitted), "labels are not read")
		change(ctx, backend, func(b *v1alpha1.Backend) {
			b.Spec.AllowedNamespaces.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: team}}
		})
		Eventually(conditions(ctx, quiz)).Should(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
		change(ctx, quiz, func(e *v1alpha1.Extension) { e.Spec.BackendRef.Namespace = "elsewhere" })
		Eventually(registered(ctx)).Should(BeEmpty())
		Eventually(func() string { return message(ctx, quiz) }).Should(HaveSuffix(`the operator does not watch the namespace "elsewhere" as one of the environment production`))
	})

	It("is left with what a withdrawn namespace's Polls declared to delete", func(ctx context.Context) {
		service := w.startVoting(ctx) // whose pods still have the keys
		w.start()
		p := w.poll("favourite")
		p.Namespace = team
		create(ctx, backend, secret, quiz, p)
		Eventually(polled(ctx, p)).Should(have(v1alpha1.Ready, v1alpha1.ReasonInSync))
		label(ctx, team, false)
		Eventually(polled(ctx, p)).Should(have(v1alpha1.Ready, v1alpha1.ReasonRefNotPermitted))
		Expect(api.Delete(ctx, p)).To(Succeed())
		Eventually(isGone(ctx, p)).Should(BeTrue())
		_, found, err := service.ReadPollConfig(ctx, "favourite")
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(BeFalse(), "of the configuration")
	})

	It("writes the registry, and reads Secrets of Extensions, each in its own namespace", func(ctx context.Context) {
		w.start()
		create(ctx, backend, secret, quiz, w.secret("new"))
		Eventually(conditions(ctx, quiz)).Should(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
		Expect(registered(ctx)()).To(Equal(keys{"quiz": {"old"}}))
		var all corev1.SecretList
		Expect(api.List(ctx, &all, client.InNamespace(team))).To(Succeed())
		for _, s := range all.Items {
			Expect(strings.HasSuffix(s.Name, desired.RegistrySecret(""))).To(BeFalse(), s.Name)
		}
	})
})
