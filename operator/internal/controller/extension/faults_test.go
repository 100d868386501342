package extension_test

import (
	"context"
	"errors"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
)

// conflict returns the API server's error for a write that came too late.
func conflict() error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "any", errors.New("another writer was faster"))
}

// forbidden returns its error for a missing right.
func forbidden() error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "any", errors.New("not yours"))
}

var _ = Describe("The API server", func() {
	DescribeTable("may fail any one request", func(ctx context.Context, failure error) {
		for n := 1; ; n++ {
			w := newWorld(ctx)
			good, bad := inSandbox(w.extension("good", key("a")), key("b")), w.extension("bad", key("absent"))
			create(ctx, w.secret("a", "b"), good, bad, w.backend("default", "production"), w.backend("dev", "sandbox"))
			asked := 0
			w.intercept = func(string, any, string) error {
				if asked++; asked == n {
					return failure
				}
				return nil
			}
			_, err := w.reconcile(ctx)
			Expect(w.events()).NotTo(ContainElement(HaveSuffix(v1alpha1.ReasonRegistryNotWritten)), "of a failure that passes")
			if asked < n {
				Expect(err).NotTo(HaveOccurred())
				Expect(n).To(BeNumerically(">", 8), "there are fewer requests than the spec thinks")
				return
			}
			By(fmt.Sprintf("request %d: %v", n, err))
			Expect(err).To(MatchError(failure), "of request %d", n)
			w.intercept = nil
			w.settle(ctx)
			Expect(w.registry(ctx, "default")).To(Equal(keys{"good": {"a"}}))
			Expect(w.registry(ctx, "dev")).To(Equal(keys{"good": {"b"}}))
			Expect(told(ctx, good)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
			Expect(told(ctx, bad)).To(have(v1alpha1.Ready, v1alpha1.ReasonKeyNotFound))
		}
	},
		Entry("because it is not there", errors.New("no connection")),
		Entry("because of a conflict", conflict()),
	)

	It("may be ahead of the cache, which makes for no second write and no second Event", func(ctx context.Context) {
		w := newWorld(ctx)
		e := w.extension("quiz", key("a"))
		create(ctx, w.secret(), e, w.backend("default", "production"))
		load(ctx, e)
		unseen := *e.DeepCopy()
		w.settle(ctx)
		Expect(w.writes).To(HaveLen(3), "the finalizer, the registry and the status")
		Expect(w.events()).To(Equal([]string{"Warning KeyNotFound"}))
		load(ctx, e)
		first := *e.DeepCopy()

		change(ctx, w.secret(), func(s *corev1.Secret) { s.Data = w.secret("a").Data })
		w.settle(ctx)
		Expect(w.writes).To(HaveLen(2), "the registry and the status")
		Expect(w.events()).To(Equal([]string{"Normal Registered"}))
		load(ctx, e)
		version := e.ResourceVersion
		for _, stale := range []v1alpha1.Extension{unseen, first} {
			w.cached = []v1alpha1.Extension{stale}
			_, err := w.reconcile(ctx)
			Expect(apierrors.IsConflict(err)).To(BeTrue(), "which makes the controller try again: %v", err)
			load(ctx, e)
			Expect(e.ResourceVersion).To(Equal(version))
			Expect(w.events()).To(BeEmpty())
		}

		By("correcting a status that another writer changed")
		change(ctx, e, func(e *v1alpha1.Extension) { e.Annotations = map[string]string{"a": "b"} })
		e.Status.Conditions = nil
		Expect(api.Status().Update(ctx, e)).To(Succeed())
		w.cached = nil
		w.settle(ctx)
		Expect(w.writes).To(HaveLen(1))
		Expect(told(ctx, e)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
		Expect(w.events()).To(Equal([]string{"Normal Registered"}))
	})

	It("keeps the registry when a Secret cannot be read", func(ctx context.Context) {
		w := newWorld(ctx)
		e := w.extension("quiz", key("a"))
		create(ctx, w.secret("a"), e, w.backend("default", "production"))
		w.settle(ctx)
		w.intercept = func(_ string, _ any, name string) error {
			if name == "keys" {
				return errors.New("no connection")
			}
			return nil
		}
		_, err := w.reconcile(ctx)
		Expect(err).To(HaveOccurred())
		Expect(w.writes).To(BeEmpty())
		Expect(w.registry(ctx, "default")).To(Equal(keys{"quiz": {"a"}}))
	})

	It("may forbid one Secret, which is the matter of its Extensions alone", func(ctx context.Context) {
		w := newWorld(ctx)
		hidden := w.secret("b")
		hidden.Name = "hidden"
		good, other := w.extension("good", key("a")), w.extension("other", v1alpha1.Key{SecretRef: v1alpha1.SecretKeyReference{Name: "hidden", Key: "b"}})
		create(ctx, w.secret("a"), hidden, good, other, w.backend("default", "production"))
		w.intercept = func(_ string, _ any, name string) error {
			if name == "hidden" {
				return forbidden()
			}
			return nil
		}
		w.settle(ctx)
		Expect(w.registry(ctx, "default")).To(Equal(keys{"good": {"a"}}))
		Expect(told(ctx, other)).To(have(v1alpha1.Ready, v1alpha1.ReasonSecretNotFound))
	})

	It("may refuse the registry of one Backend, which does not keep the other's back", func(ctx context.Context) {
		w := newWorld(ctx)
		e, other := w.extension("quiz", key("a")), inSandbox(w.extension("other"), key("b"))
		immutable := true
		inTheWay := &corev1.Secret{ObjectMeta: w.named("default-registry"), Immutable: &immutable}
		inTheWay.Labels = map[string]string{desired.OperatorLabel: desired.Operator}
		create(ctx, w.secret("a", "b"), e, other, inTheWay, w.backend("default", "production"), w.backend("dev", "sandbox"))
		_, err := w.reconcile(ctx)
		Expect(err).To(MatchError(ContainSubstring("immutable")))
		Expect(w.registry(ctx, "dev")).To(Equal(keys{"other": {"b"}}))
		Expect(told(ctx, e)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistryNotWritten))
		Expect(told(ctx, other)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
		_, err = w.reconcile(ctx)
		Expect(err).To(HaveOccurred())
		Expect(w.writes).To(HaveLen(1), "the attempt alone, no status")

		Expect(api.Delete(ctx, inTheWay)).To(Succeed())
		w.settle(ctx)
		Expect(told(ctx, e)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
	})
	It("leaves a Secret alone that has the name of a registry and another owner", func(ctx context.Context) {
		w := newWorld(ctx)
		e, other := w.extension("quiz", key("a")), inSandbox(w.extension("other"), key("b"))
		pull := &corev1.Secret{
			ObjectMeta: w.named("default-registry"),
			Type:       corev1.SecretTypeDockerConfigJson,
			Data:       map[string][]byte{corev1.DockerConfigJsonKey: []byte("{}")},
		}
		create(ctx, w.secret("a", "b"), e, other, pull, w.backend("default", "production"), w.backend("dev", "sandbox"))
		version := pull.ResourceVersion
		_, err := w.reconcile(ctx)
		Expect(err).To(MatchError(ContainSubstring("does not belong to this Backend")))
		load(ctx, pull)
		Expect(pull.ResourceVersion).To(Equal(version))
		Expect(told(ctx, e)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistryNotWritten))
		Expect(w.registry(ctx, "dev")).To(Equal(keys{"other": {"b"}}))
		Expect(told(ctx, other)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))

		Expect(api.Delete(ctx, pull)).To(Succeed())
		w.settle(ctx)
		Expect(told(ctx, e)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
	})
})
