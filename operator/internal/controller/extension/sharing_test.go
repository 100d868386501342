package extension_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	acclaim "github.com/acclaim-dev/acclaim/api/client"
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

// registryText returns the registry of the Backend "default" as it is published.
func (w *world) registryText(ctx context.Context) string {
	GinkgoHelper()
	file := &corev1.Secret{ObjectMeta: w.named(desired.RegistrySecret("default"))}
	load(ctx, file)
	return string(file.Data[desired.RegistryKey])
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

// sumOf returns the sum of the series of a metric for the Extension controller.
func sumOf(metric string) (sum float64) {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		for _, m := range family.GetMetric() {
			of := slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == "controller" && l.GetValue() == "extension" })
			if family.GetName() == metric && of {
				sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return sum
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
		Eventually(registered(ctx)).ShouldNot(HaveKeyWithValue("quiz", ContainElement("old")))
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
		Eventually(registered(ctx)).ShouldNot(HaveKeyWithValue("quiz", ContainElement("old")))
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
		Expect(w.registryText(ctx)).To(And(ContainSubstring("extensionBytesPerDay: 1000"), ContainSubstring("bodyBytes: 5"), ContainSubstring("burst: 3"), ContainSubstring("perSecond: 10\n")))
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
		p := w.poll("favourite")
		p.Namespace = team
		create(ctx, p)
		w.serving.Store(w.startPod(ctx, "default", "voting"))
		Eventually(polled(ctx, p)).Should(have(v1alpha1.Ready, v1alpha1.ReasonInSync))
		Expect(api.Delete(ctx, p)).To(Succeed())
		Eventually(isGone(ctx, p)).Should(BeTrue())
		change(ctx, quiz, func(e *v1alpha1.Extension) { e.Spec.BackendRef.Namespace = "elsewhere" })
		Eventually(registered(ctx)).Should(BeEmpty())
		Eventually(func() string { return message(ctx, quiz) }).Should(HaveSuffix(`the operator does not watch the namespace "elsewhere" as one of the environment production`))
	})

	Describe("withdrawn", func() {
		var (
			rivals  string
			service *pod
			p       *v1alpha1.Poll
		)
		// isKept reports whether the registry has the Extension with one key, which is not its own.
		isKept := func(ctx context.Context) func() bool {
			return func() bool {
				own := registered(ctx)()["quiz"]
				return len(own) == 1 && own[0] != "old"
			}
		}
		BeforeEach(func(ctx context.Context) {
			rivals = w.newTeam(ctx)
			w.start()
			create(ctx, backend, secret, quiz)
			service = w.startPod(ctx, "default", "voting")
			w.serving.Store(service)
			p = w.poll("favourite")
			p.Namespace = team
			create(ctx, p)
			Eventually(polled(ctx, p)).Should(have(v1alpha1.Ready, v1alpha1.ReasonInSync))
		})

		It("ends access at once, and deletes the namespace's Polls at any later time", func(ctx context.Context) {
			Expect(ask(ctx, service, "old")).To(Equal(http.StatusOK))
			label(ctx, team, false)
			Eventually(isKept(ctx)).Should(BeTrue())
			Eventually(func() int { return ask(ctx, service, "old") }).Should(Equal(http.StatusUnauthorized))
			Eventually(polled(ctx, p)).Should(have(v1alpha1.Ready, v1alpha1.ReasonRefNotPermitted))

			By("deleting the Secret, the Extension and the Poll")
			Expect(api.Delete(ctx, secret)).To(Succeed())
			Expect(api.Delete(ctx, quiz)).To(Succeed())
			Expect(api.Delete(ctx, p)).To(Succeed())
			Eventually(isGone(ctx, p)).Should(BeTrue())
			Eventually(isGone(ctx, quiz)).Should(BeTrue())
			Eventually(registered(ctx)).Should(BeEmpty())

			By("consenting and declaring the Extension again")
			label(ctx, team, true)
			again := w.extension("quiz", key("old"))
			kept := w.secret("old")
			w.share(team, backend, again, kept)
			create(ctx, kept, again)
			Eventually(registered(ctx)).Should(Equal(keys{"quiz": {"old"}}))
			signer := acclaim.Signer{ClientID: "quiz", Keys: [][]byte{[]byte("old" + padding)}, Channel: "1"}
			Eventually(func() (found bool, err error) {
				_, found, err = acclaim.New(service.base, signer.Credentials, acclaim.Options{}).ReadPollConfig(ctx, "favourite")
				return found, err
			}).Should(BeFalse(), "of the configuration")
		})

		It("keeps nothing when the last Poll goes, or is to stay in the service", func(ctx context.Context) {
			change(ctx, backend, func(b *v1alpha1.Backend) { b.Spec.AllowedNamespaces = nil })
			Eventually(isKept(ctx)).Should(BeTrue())
			change(ctx, p, func(p *v1alpha1.Poll) { p.Spec.DeletionPolicy = v1alpha1.DeletionRetain })
			Eventually(registered(ctx)).Should(BeEmpty())
		})

		It("keeps no entry whose key a service signs tokens with", func(ctx context.Context) {
			change(ctx, backend, func(b *v1alpha1.Backend) {
				b.Spec.AllowedNamespaces, b.Spec.Services.GameLink = nil, &v1alpha1.Service{}
			})
			Eventually(registered(ctx)).Should(BeEmpty())
		})

		It("gives the id to the next Extension, whose polls it does not touch", func(ctx context.Context) {
			young, other, theirs := w.extension("quiz", key("old")), w.secret("old"), w.poll("favourite")
			other.Data["old"] = w.secret("new").Data["new"]
			w.share(rivals, backend, young, other, theirs)
			create(ctx, other)
			w.createYounger(ctx, young, quiz)
			create(ctx, theirs)
			Eventually(conditions(ctx, young)).Should(have(v1alpha1.Ready, v1alpha1.ReasonConflict))
			label(ctx, team, false)
			Eventually(registered(ctx)).Should(Equal(keys{"quiz": {"new"}}))
			Eventually(polled(ctx, theirs)).Should(have(v1alpha1.Ready, v1alpha1.ReasonInSync))

			By("deleting the other's Poll, which has no key any more")
			Expect(api.Delete(ctx, secret)).To(Succeed())
			Eventually(conditions(ctx, quiz)).Should(have(v1alpha1.KeysUsable, v1alpha1.ReasonSecretNotFound))
			Expect(api.Delete(ctx, p)).To(Succeed())
			Eventually(isGone(ctx, p)).Should(BeTrue())
			signer := acclaim.Signer{ClientID: "quiz", Keys: [][]byte{[]byte("new" + padding)}, Channel: "1"}
			_, found, err := acclaim.New(service.base, signer.Credentials, acclaim.Options{}).ReadPollConfig(ctx, "favourite")
			Expect(err).NotTo(HaveOccurred())
			Expect(found).To(BeTrue(), "of the configuration")
		})
	})

	It("deletes Polls of an Extension that it no longer has a place for", func(ctx context.Context) {
		w.start()
		more, p := w.extension("more", key("new")), w.poll("favourite")
		p.Spec.ExtensionRef.Name = "more"
		w.share(team, backend, more, p)
		secret.Data["new"] = w.secret("new").Data["new"]
		create(ctx, backend, secret, quiz)
		w.createYounger(ctx, more, quiz)
		service := w.startPod(ctx, "default", "voting")
		w.serving.Store(service)
		create(ctx, p)
		Eventually(polled(ctx, p)).Should(have(v1alpha1.Ready, v1alpha1.ReasonInSync))
		change(ctx, backend, func(b *v1alpha1.Backend) { b.Spec.AllowedNamespaces.MaxExtensions = new(int32(1)) })
		Eventually(conditions(ctx, more)).Should(have(v1alpha1.Ready, v1alpha1.ReasonTooManyExtensions))
		Expect(registered(ctx)()["more"]).To(And(HaveLen(1), Not(ContainElement("new"))))
		Expect(api.Delete(ctx, p)).To(Succeed())
		Eventually(isGone(ctx, p)).Should(BeTrue())
		Eventually(registered(ctx)).Should(Equal(keys{"quiz": {"old"}}))
		change(ctx, backend, func(b *v1alpha1.Backend) { b.Spec.AllowedNamespaces.MaxExtensions = nil })
		Eventually(registered(ctx)).Should(HaveKeyWithValue("more", []string{"new"}))
		signer := acclaim.Signer{ClientID: "more", Keys: [][]byte{[]byte("new" + padding)}, Channel: "1"}
		Eventually(func() (found bool, err error) {
			_, found, err = acclaim.New(service.base, signer.Credentials, acclaim.Options{}).ReadPollConfig(ctx, "favourite")
			return found, err
		}).Should(BeFalse(), "of the configuration")
	})

	// The API server of the suite has no controller that empties a namespace. The one of a
	// cluster deletes kind by kind, in an order that differs, and waits for nothing.
	It("loses a namespace, in any order, and deletes its polls from the services", func(ctx context.Context) {
		w.start()
		create(ctx, backend)
		service := w.startPod(ctx, "default", "voting")
		w.serving.Store(service)
		signer := acclaim.Signer{ClientID: "quiz", Keys: [][]byte{[]byte("old" + padding)}, Channel: "1"}
		voting := acclaim.New(service.base, signer.Credentials, acclaim.Options{})
		random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0))
		for round := range 6 {
			secret, quiz, more := w.secret("old", "new"), w.extension("quiz", key("old")), w.extension("more", key("new"))
			doomed := []client.Object{secret, quiz, more}
			for i := range 4 {
				p := w.poll(fmt.Sprintf("poll-%d-%d", round, i))
				if i == 0 {
					p.Spec.ExtensionRef.Name = "more"
				}
				doomed = append(doomed, p)
			}
			w.share(team, backend, doomed...)
			create(ctx, doomed...)
			for _, o := range doomed[3:] {
				Eventually(polled(ctx, o.(*v1alpha1.Poll))).Should(have(v1alpha1.Ready, v1alpha1.ReasonInSync))
			}
			for i := range 3 { // of the round before, whose key this round has again
				_, found, err := voting.ReadPollConfig(ctx, fmt.Sprintf("poll-%d-%d", round-1, i+1))
				Expect(err).NotTo(HaveOccurred())
				Expect(found).To(BeFalse(), "of the configuration in round %d", round-1)
			}
			random.Shuffle(len(doomed), func(i, j int) { doomed[i], doomed[j] = doomed[j], doomed[i] })
			for _, o := range doomed {
				Expect(api.Delete(ctx, o)).To(Succeed())
			}
			for _, o := range doomed {
				Eventually(isGone(ctx, o)).Should(BeTrue(), "%T", o)
			}
			Eventually(registered(ctx)).Should(BeEmpty())
		}
	})

	Describe("with several teams", func() {
		var left float64
		// The managers of specs before count into the same metrics, and may have stopped
		// with work in their queues.
		backlog := func() float64 { return sumOf("workqueue_depth") + sumOf("controller_runtime_active_workers") }
		BeforeEach(func(ctx context.Context) {
			left = backlog()
			for range 3 {
				w.newTeam(ctx)
			}
			w.start()
			create(ctx, backend)
			for i, name := range w.teams {
				s, e := w.secret("old"), w.extension(fmt.Sprintf("quiz-%d", i), key("old"))
				s.Data["old"] = []byte(base64.StdEncoding.EncodeToString([]byte(name + padding)))
				w.share(name, backend, s, e)
				create(ctx, s, e)
				Eventually(conditions(ctx, e)).Should(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
			}
			Eventually(backlog).Should(Equal(left))
		})

		It("wakes its own namespace alone with a change that concerns no other", func(ctx context.Context) {
			before := sumOf("controller_runtime_reconcile_total")
			change(ctx, backend, func(b *v1alpha1.Backend) { b.Spec.Image = "acclaim:next" })
			Eventually(func() float64 { return sumOf("controller_runtime_reconcile_total") }).Should(BeNumerically(">", before))
			Eventually(backlog).Should(Equal(left))
			Expect(sumOf("controller_runtime_reconcile_total")-before).To(BeNumerically("<", len(w.teams)), "reconciliations of namespaces")
		})

		It("wakes all that name it when it begins to serve, as its pods can then be asked", func(ctx context.Context) {
			before := sumOf("controller_runtime_reconcile_total")
			load(ctx, backend)
			meta.SetStatusCondition(&backend.Status.Conditions, metav1.Condition{Type: v1alpha1.Available, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonServing})
			Expect(api.Status().Update(ctx, backend)).To(Succeed())
			Eventually(func() float64 { return sumOf("controller_runtime_reconcile_total") }).Should(BeNumerically(">=", before+float64(len(w.teams))))
		})

		It("is rendered once for all of them when an Extension or a key changes", func(ctx context.Context) {
			renderings := func(by func()) int64 {
				before, woken := w.renderings.Load(), sumOf("controller_runtime_reconcile_total")
				by()
				Eventually(func() float64 { return sumOf("controller_runtime_reconcile_total") }).Should(BeNumerically(">", woken))
				Eventually(backlog).Should(Equal(left))
				return w.renderings.Load() - before
			}
			e := w.extension("quiz-0")
			e.Namespace = team
			Expect(renderings(func() {
				change(ctx, e, func(e *v1alpha1.Extension) { e.Spec.AppIDs = []v1alpha1.ID{"app"} })
				Eventually(func() string { return w.registryText(ctx) }).Should(ContainSubstring("appIDs"))
			})).To(BeEquivalentTo(1))
			Expect(renderings(func() {
				change(ctx, secret, func(s *corev1.Secret) { s.Data["old"] = w.secret("new").Data["new"] })
				Eventually(registered(ctx)).Should(HaveKeyWithValue("quiz-0", []string{"new"}))
			})).To(BeEquivalentTo(1))
		})
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
