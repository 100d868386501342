package extension_test

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/extension"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
)

// Nothing below asks for a reconcile: what comes true does so because the right
// things are watched.
var _ = Describe("What is watched", func() {
	var (
		w       *world
		manager ctrl.Manager
		quiz    *v1alpha1.Extension
	)
	stored := func(ctx context.Context) func() keys {
		return func() keys { return w.registryIfAny(ctx, "default") }
	}
	conditions := func(ctx context.Context, e *v1alpha1.Extension) func() any {
		return func() any { return told(ctx, e) }
	}
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		w.giveUpAfter = time.Second // long before a spec does
		manager = w.start()
		quiz = w.extension("quiz", key("old"))
		create(ctx, w.secret("old"), quiz, w.backend("default", "production"))
		Eventually(stored(ctx)).Should(Equal(keys{"quiz": {"old"}}))
	})

	It("is the status of Extensions, which a late pass may have written", func(ctx context.Context) {
		Eventually(conditions(ctx, quiz)).Should(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
		before := quiz.DeepCopy()
		meta.SetStatusCondition(&quiz.Status.Conditions, metav1.Condition{
			Type: v1alpha1.Ready, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonKeyNotFound})
		Expect(api.Status().Patch(ctx, quiz, client.MergeFrom(before))).To(Succeed())
		Eventually(conditions(ctx, quiz)).Should(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
	})

	It("are the Secrets that hold keys", func(ctx context.Context) {
		Expect(api.Delete(ctx, w.secret())).To(Succeed())
		Eventually(conditions(ctx, quiz)).Should(have(v1alpha1.Ready, v1alpha1.ReasonSecretNotFound))
		Expect(stored(ctx)()).To(BeEmpty())

		create(ctx, w.secret("other"))
		Eventually(conditions(ctx, quiz)).Should(have(v1alpha1.Ready, v1alpha1.ReasonKeyNotFound))
		change(ctx, w.secret(), func(s *corev1.Secret) { s.Data = w.secret("old").Data })
		Eventually(conditions(ctx, quiz)).Should(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
		Expect(stored(ctx)()).To(Equal(keys{"quiz": {"old"}}))

		change(ctx, w.secret(), func(s *corev1.Secret) { s.Data["old"] = w.secret("new").Data["new"] })
		Eventually(stored(ctx)).Should(Equal(keys{"quiz": {"new"}}))
	})

	It("are the Secrets that hold keys of webhooks alone, of either environment", func(ctx context.Context) {
		hooks := w.secret("first", "old")
		hooks.Name = "hooks"
		hook := func(entry string) []v1alpha1.Sink {
			key := v1alpha1.Key{SecretRef: v1alpha1.SecretKeyReference{Name: "hooks", Key: entry}}
			return []v1alpha1.Sink{{Name: "hook", Webhook: &v1alpha1.Webhook{URL: "https://a.example", Keys: []v1alpha1.Key{key}}}}
		}
		create(ctx, hooks, w.backend("dev", "sandbox"))
		change(ctx, quiz, func(e *v1alpha1.Extension) {
			e.Spec.Sinks = hook("first")
			e.Spec.Sandbox = &v1alpha1.Environment{Keys: []v1alpha1.Key{key("old-too")}, Sinks: hook("first")}
		})
		change(ctx, w.secret(), func(s *corev1.Secret) { s.Data["old-too"] = w.secret("old-too").Data["old-too"] })
		for _, backend := range []string{"default", "dev"} {
			signing := func() []string { return w.webhookKeys(ctx, backend) }
			Eventually(signing).Should(Equal([]string{"first"}), backend)
		}
		change(ctx, hooks, func(s *corev1.Secret) { s.Data["first"] = w.secret("second").Data["second"] })
		for _, backend := range []string{"default", "dev"} {
			signing := func() []string { return w.webhookKeys(ctx, backend) }
			Eventually(signing).Should(Equal([]string{"second"}), backend)
		}
		Expect(api.Delete(ctx, hooks)).To(Succeed())
		Eventually(func() []string { return w.webhookKeys(ctx, "default") }).Should(BeEmpty())
		Expect(stored(ctx)()).To(Equal(keys{"quiz": {"old"}}), "the Extension's own")
	})

	It("is of a Secret its metadata, contents are read one by one", func(ctx context.Context) {
		create(ctx, w.poll("favourite"))
		unused := w.secret("unused")
		unused.Name = "unused"
		create(ctx, unused)
		change(ctx, w.secret(), func(s *corev1.Secret) { s.Data["more"] = nil }) // comes after
		Eventually(func() int { return w.secretsRead()["keys"] }).Should(BeNumerically(">", 1))
		Expect(w.secretsRead()).To(And(HaveKey("default-registry"), Not(HaveKey("unused"))))
		Expect(w.secretsRead()).To(HaveKeyWithValue("", 0), "lists and watches with contents")
	})

	It("are the registries", func(ctx context.Context) {
		registry := &corev1.Secret{ObjectMeta: w.named("default-registry")}
		Expect(api.Delete(ctx, registry)).To(Succeed())
		Eventually(stored(ctx)).Should(Equal(keys{"quiz": {"old"}}))
		registry = &corev1.Secret{ObjectMeta: w.named("default-registry")}
		change(ctx, registry, func(s *corev1.Secret) { s.Data[desired.RegistryKey] = []byte("extensions: []\n") })
		Eventually(stored(ctx)).Should(Equal(keys{"quiz": {"old"}}))
		change(ctx, registry, func(s *corev1.Secret) { s.Labels = nil })
		Eventually(func() any { load(ctx, registry); return registry.Labels }).ShouldNot(BeEmpty())
		change(ctx, registry, func(s *corev1.Secret) { s.OwnerReferences = nil })
		Eventually(func() any { load(ctx, registry); return registry.OwnerReferences }).ShouldNot(BeEmpty())
	})

	It("are Extensions and Backends, which a census counts", func(ctx context.Context) {
		create(ctx, w.extension("other", key("absent")), w.backend("second", "production"))
		Eventually(func() keys { return w.registryIfAny(ctx, "second") }).Should(Equal(keys{"quiz": {"old"}}))
		count := func(reason string) func() float64 {
			return func() float64 {
				registry := prometheus.NewRegistry()
				registry.MustRegister(extension.NewCensus(manager.GetClient()))
				families, err := registry.Gather()
				Expect(err).NotTo(HaveOccurred())
				for _, family := range families {
					for _, m := range family.GetMetric() {
						if m.GetLabel()[1].GetValue() == reason {
							return m.GetGauge().GetValue()
						}
					}
				}
				return 0
			}
		}
		Eventually(count(v1alpha1.ReasonKeyNotFound)).Should(BeEquivalentTo(1))
		Eventually(count(v1alpha1.ReasonRegistered)).Should(BeEquivalentTo(1))
	})

	It("are watched again when the API server was killed and is back", func(ctx context.Context) {
		Expect(cluster.KillAPIServer(ctx)).To(Succeed())
		Expect(cluster.StartAPIServer()).To(Succeed())
		Eventually(func() error {
			s := w.secret()
			if err := api.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
				return err
			}
			s.Data = w.secret("old", "new").Data
			return api.Update(ctx, s)
		}).Should(Succeed())
		change(ctx, quiz, func(e *v1alpha1.Extension) { e.Spec.Keys = append(e.Spec.Keys, key("new")) })
		Eventually(stored(ctx)).Should(Equal(keys{"quiz": {"old", "new"}}))
		change(ctx, w.secret(), func(s *corev1.Secret) { s.Data["old"] = w.secret("other").Data["other"] })
		Eventually(stored(ctx)).Should(Equal(keys{"quiz": {"other", "new"}}))
		create(ctx, w.backend("second", "production"))
		Eventually(func() keys { return w.registryIfAny(ctx, "second") }).Should(Equal(keys{"quiz": {"other", "new"}}))
		Eventually(conditions(ctx, quiz)).Should(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
	})

	It("lets an Extension go while Polls refer to it, and come back", func(ctx context.Context) {
		service := w.startPod(ctx, "default", "voting")
		w.serving.Store(service)
		p := w.poll("favourite")
		create(ctx, p)
		Eventually(polled(ctx, p)).Should(have(v1alpha1.Ready, v1alpha1.ReasonInSync))
		Expect(api.Delete(ctx, quiz)).To(Succeed())
		service.reloaded()
		Eventually(polled(ctx, p)).Should(have(v1alpha1.Ready, v1alpha1.ReasonExtensionNotFound))
		Expect(ask(ctx, service, "old")).To(Equal(http.StatusUnauthorized))
		Expect(api.Get(ctx, client.ObjectKeyFromObject(quiz), quiz)).NotTo(Succeed(), "no finalizer holds it")

		create(ctx, w.extension("quiz", key("old")))
		service.reloaded()
		Eventually(polled(ctx, p)).Should(have(v1alpha1.Ready, v1alpha1.ReasonInSync))
		Expect(ask(ctx, service, "old")).To(Equal(http.StatusOK))
	})
})
