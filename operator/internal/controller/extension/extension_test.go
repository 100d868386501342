package extension_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
)

var _ = Describe("An Extension", func() {
	var w *world
	BeforeEach(func(ctx context.Context) { w = newWorld(ctx) })

	It("is in the registry of every Backend it has a key for", func(ctx context.Context) {
		both, one := inSandbox(w.extension("both", key("a")), key("b")), w.extension("one", key("c"))
		create(ctx, w.secret("a", "b", "c"), both, one,
			w.backend("first", "production"), w.backend("second", "production"), w.backend("dev", "sandbox"))
		w.settle(ctx)

		Expect(w.registry(ctx, "first")).To(Equal(keys{"both": {"a"}, "one": {"c"}}))
		Expect(w.registry(ctx, "second")).To(Equal(keys{"both": {"a"}, "one": {"c"}}))
		Expect(w.registry(ctx, "dev")).To(Equal(keys{"both": {"b"}}))
		for _, e := range []*v1alpha1.Extension{both, one} {
			Expect(told(ctx, e)).To(And(
				have(v1alpha1.KeysUsable, v1alpha1.ReasonUsable),
				have(v1alpha1.Registered, v1alpha1.ReasonRegistered),
				have(v1alpha1.Ready, v1alpha1.ReasonRegistered)))
		}
		// Three registries, and one finalizer and one status each.
		Expect(w.writes).To(HaveLen(7))
		Expect(w.events()).To(ConsistOf("Normal Registered", "Normal Registered"))
	})

	It("leaves a Secret that has one owner and goes with its Backend", func(ctx context.Context) {
		backend := w.backend("default", "production")
		create(ctx, backend)
		w.settle(ctx)

		secret := &corev1.Secret{ObjectMeta: w.named("default-registry")}
		load(ctx, secret)
		Expect(string(secret.Data["extensions.yaml"])).To(Equal("extensions: []\n"))
		Expect(secret.OwnerReferences).To(HaveLen(1))
		Expect(metav1.IsControlledBy(secret, backend)).To(BeTrue())
		Expect(secret.OwnerReferences[0].BlockOwnerDeletion).To(BeNil(), "it would need a right to the Backend's finalizers")
		Expect(secret.ManagedFields).To(HaveLen(1))
		Expect(secret.ManagedFields[0].Manager).To(Equal(desired.Operator))
		Expect(secret.ManagedFields[0].Operation).To(Equal(metav1.ManagedFieldsOperationApply))
	})

	It("reports the generation that it speaks of, and an Event only when Ready turns", func(ctx context.Context) {
		e := w.extension("quiz", key("a"))
		create(ctx, w.secret("a"), e, w.backend("default", "production"))
		w.settle(ctx)
		w.events()
		change(ctx, e, func(e *v1alpha1.Extension) { e.Spec.OwnerUserID = "1000" })
		w.settle(ctx)

		for _, c := range told(ctx, e) {
			Expect(c.ObservedGeneration).To(Equal(e.Generation))
		}
		Expect(e.Status.ObservedGeneration).To(Equal(e.Generation))
		Expect(e.Generation).To(BeEquivalentTo(2))
		Expect(w.events()).To(BeEmpty())
		Expect(w.writes).To(HaveLen(2), "the registry and the status")
	})

	It("without a good key tells so and does not touch the others", func(ctx context.Context) {
		good := w.extension("good", key("a"))
		create(ctx, w.secret("a", "b"), good, w.backend("default", "production"))
		w.settle(ctx)
		bad := w.extension("bad", key("absent"), v1alpha1.Key{SecretRef: v1alpha1.SecretKeyReference{Name: "absent", Key: "a"}})
		partly := w.extension("partly", key("b"), key("absent"))
		create(ctx, bad, partly)
		w.settle(ctx)

		Expect(w.registry(ctx, "default")).To(Equal(keys{"good": {"a"}, "partly": {"b"}}))
		Expect(told(ctx, good)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
		Expect(told(ctx, bad)).To(And(
			have(v1alpha1.KeysUsable, v1alpha1.ReasonKeyNotFound),
			have(v1alpha1.Registered, v1alpha1.ReasonNoUsableKey),
			have(v1alpha1.Ready, v1alpha1.ReasonKeyNotFound)))
		Expect(bad.Status.Conditions[0].Message).To(Equal(`keys[0]: Secret "keys" has no entry "absent"; keys[1]: Secret "absent" does not exist or may not be read`))
		Expect(told(ctx, partly)).To(And(
			have(v1alpha1.KeysUsable, v1alpha1.ReasonKeyNotFound),
			have(v1alpha1.Registered, v1alpha1.ReasonRegistered),
			have(v1alpha1.Ready, v1alpha1.ReasonKeyNotFound)))
	})

	DescribeTable("tells what is wrong with its key", func(ctx context.Context, entry, reason string) {
		secret := w.secret("a")
		secret.Data["bad"] = []byte(entry)
		e := w.extension("quiz", key("bad"))
		create(ctx, secret, e, w.backend("default", "production"))
		w.settle(ctx)
		Expect(told(ctx, e)).To(have(v1alpha1.Ready, reason))
		Expect(w.registry(ctx, "default")).To(BeEmpty())
		Expect(e.Status.Conditions[0].Message).NotTo(ContainSubstring("hush"))
	},
		Entry("not base64", "hush-hush", v1alpha1.ReasonInvalidKey),
		Entry("empty", "", v1alpha1.ReasonInvalidKey),
		Entry("weak", "aHVzaC1odXNoLWh1c2g=", v1alpha1.ReasonWeakKey),
		Entry("published", "c2FtcGxlLXNlY3JldC10aGF0LWV2ZXJ5b25lLWtub3dz", v1alpha1.ReasonPublicKey),
		Entry("too long", strings.Repeat("hush", 1366), v1alpha1.ReasonInvalidKey),
	)

	It("does not get a sandbox key that is one of production", func(ctx context.Context) {
		e, other := inSandbox(w.extension("quiz", key("a")), key("b"), key("c")), w.extension("other", key("b"))
		create(ctx, w.secret("a", "b", "c"), e, other, w.backend("default", "production"), w.backend("dev", "sandbox"))
		w.settle(ctx)
		Expect(w.registry(ctx, "dev")).To(Equal(keys{"quiz": {"c"}}))
		Expect(told(ctx, e)).To(And(have(v1alpha1.Ready, v1alpha1.ReasonSharedKey), have(v1alpha1.Registered, v1alpha1.ReasonRegistered)))
		Expect(told(ctx, other)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
	})

	It("waits for its first key to become active", func(ctx context.Context) {
		e := w.extension("quiz", activeFrom(key("a"), w.now.Add(time.Hour)), activeFrom(key("b"), w.now.Add(time.Minute)))
		create(ctx, w.secret("a", "b"), e, w.backend("default", "production"))
		Expect(w.settle(ctx).RequeueAfter).To(Equal(time.Minute))
		Expect(told(ctx, e)).To(And(have(v1alpha1.Ready, v1alpha1.ReasonNotActive), have(v1alpha1.Registered, v1alpha1.ReasonRegistered)))

		w.now = w.now.Add(time.Minute)
		Expect(w.settle(ctx).RequeueAfter).To(BeZero())
		Expect(told(ctx, e)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
		Expect(w.writes).To(HaveLen(1), "the status alone")
	})

	It("needs a Backend", func(ctx context.Context) {
		e := w.extension("quiz", key("a"))
		create(ctx, w.secret("a"), e, w.backend("dev", "sandbox"))
		w.settle(ctx)
		Expect(told(ctx, e)).To(have(v1alpha1.Ready, v1alpha1.ReasonNoBackend))
		Expect(w.registry(ctx, "dev")).To(BeEmpty())

		create(ctx, w.backend("default", "production"))
		w.settle(ctx)
		Expect(told(ctx, e)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
	})

	It("gives way to an older one with its client id, and takes over when that is gone", func(ctx context.Context) {
		older := w.extension("older", key("a"))
		older.Spec.ClientID = "quiz"
		create(ctx, w.secret("a", "b"), w.backend("default", "production"), older)
		younger := w.extension("a-younger", key("b"))
		younger.Spec.ClientID = "quiz"
		w.createYounger(ctx, younger, older)
		w.settle(ctx)
		Expect(w.registry(ctx, "default")).To(Equal(keys{"quiz": {"a"}}))
		Expect(told(ctx, older)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
		Expect(told(ctx, younger)).To(have(v1alpha1.Ready, v1alpha1.ReasonConflict))

		Expect(api.Delete(ctx, older)).To(Succeed())
		w.settle(ctx)
		Expect(w.registry(ctx, "default")).To(Equal(keys{"quiz": {"b"}}))
		Expect(told(ctx, younger)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
	})

	It("that the registry has no room for tells so, and smaller ones still go in", func(ctx context.Context) {
		create(ctx, w.secret("a"), w.backend("default", "production"))
		longKeys := func(extension string) (long []v1alpha1.Key) {
			secret := w.secret()
			secret.Name = extension
			for i := range 16 {
				entry := fmt.Sprintf("key-%02d", i)
				value := fmt.Appendf(nil, "%-20s%s", extension, entry)
				value = append(value, bytes.Repeat([]byte("a"), contract.MaxKeyBytes-1-len(value))...)
				secret.Data[entry] = []byte(base64.StdEncoding.EncodeToString(value))
				long = append(long, v1alpha1.Key{SecretRef: v1alpha1.SecretKeyReference{Name: extension, Key: entry}})
			}
			create(ctx, secret)
			return long
		}
		var last *v1alpha1.Extension
		for i := range 11 { // of 85 KiB each
			name := "large-" + string(rune('a'+i))
			last = w.extension(name, longKeys(name)...)
			create(ctx, last)
		}
		tooMuch, small := w.extension("too-much", longKeys("too-much")...), w.extension("small", key("a"))
		w.createYounger(ctx, tooMuch, last)
		w.createYounger(ctx, small, tooMuch)
		w.settle(ctx)

		Expect(told(ctx, last)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
		Expect(told(ctx, tooMuch)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistryFull))
		Expect(told(ctx, small)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
		Expect(w.registry(ctx, "default")).To(And(HaveLen(12), HaveKey("small"), Not(HaveKey("too-much"))))

		stored := &corev1.Secret{ObjectMeta: w.named("default-registry")}
		load(ctx, stored)
		Expect(len(stored.Data["extensions.yaml"])).To(BeNumerically(">", corev1.MaxSecretSize*9/10))
		Expect(api.Delete(ctx, last)).To(Succeed())
		w.settle(ctx)
		Expect(told(ctx, tooMuch)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
	})

	It("as in the samples is ready", func(ctx context.Context) {
		keys := w.secret("production", "sandbox")
		keys.Name = "sample-quiz"
		create(ctx, keys)
		sample, err := os.ReadFile("../../../../config/samples/extension.yaml")
		Expect(err).NotTo(HaveOccurred())
		for document := range bytes.SplitSeq(sample, []byte("\n---\n")) {
			var o unstructured.Unstructured
			Expect(yaml.UnmarshalStrict(document, &o.Object)).To(Succeed())
			o.SetNamespace(w.namespace)
			create(ctx, &o)
		}
		create(ctx, w.backend("default", "production"), w.backend("dev", "sandbox"))
		w.settle(ctx)
		e := &v1alpha1.Extension{ObjectMeta: w.named("sample-quiz")}
		Expect(told(ctx, e)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
		Expect(w.registry(ctx, "dev")).To(Equal(map[string][]string{"sample-quiz": {"sandbox"}}))
	})

	It("is nothing to a Backend that is going, nor to a namespace that is", func(ctx context.Context) {
		going := w.backend("going", "production")
		going.Finalizers = []string{"acclaim.dev/test"}
		create(ctx, going)
		Expect(api.Delete(ctx, going)).To(Succeed())
		w.settle(ctx)
		Expect(w.writes).To(BeEmpty())

		create(ctx, w.backend("default", "production"))
		Expect(api.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})).To(Succeed())
		_, err := w.reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(api.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "default-registry"}, &corev1.Secret{})).NotTo(Succeed())
		change(ctx, going, func(b *v1alpha1.Backend) { b.Finalizers = nil })
	})
})
