package extension_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/holder"
)

var _ = Describe("What another operator holds", func() {
	It("is reported by that one, and published by the one that holds the Backend", func(ctx context.Context) {
		w := newWorld(ctx)
		w.reconciler.Instance = holder.NewInstance("team-a/acclaim")
		mine, foreign := w.extension("mine", key("a")), w.extension("foreign", key("b"))
		theirs := w.backend("theirs", "production")
		for _, o := range []client.Object{foreign, theirs} {
			o.SetAnnotations(map[string]string{v1alpha1.OperatorAnnotation: "team-b/acclaim"})
		}
		create(ctx, w.secret("a", "b"), mine, foreign, w.backend("default", "production"), theirs)
		w.settle(ctx)
		Expect(w.registry(ctx, "default")).To(Equal(keys{"mine": {"a"}, "foreign": {"b"}}))
		Expect(w.registryIfAny(ctx, "theirs")).To(BeEmpty())
		Expect(told(ctx, mine)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
		Expect(mine.Annotations).To(HaveKeyWithValue(v1alpha1.OperatorAnnotation, "team-a/acclaim"))
		Expect(told(ctx, foreign)).To(BeEmpty())
		Expect(foreign.Finalizers).To(BeEmpty())
		Expect(w.events()).To(ConsistOf("Normal HeldByAnother", "Normal Registered"))

		By("taking both over")
		for _, o := range []client.Object{foreign, theirs} {
			load(ctx, o)
			o.SetAnnotations(map[string]string{v1alpha1.OperatorAnnotation: "team-a/acclaim"})
			Expect(api.Update(ctx, o)).To(Succeed())
		}
		w.settle(ctx)
		Expect(told(ctx, foreign)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
		Expect(w.registry(ctx, "theirs")).To(HaveLen(2), desired.RegistrySecret("theirs"))
	})
})

var _ = Describe("A paused Extension", func() {
	It("keeps its entry and its status as they are, until it goes on", func(ctx context.Context) {
		w := newWorld(ctx)
		w.reconciler.Instance = holder.NewInstance("team-a/acclaim")
		quiz, other := w.extension("quiz", key("a")), w.extension("other", key("b"))
		create(ctx, w.secret("a", "b", "c"), quiz, other, w.backend("default", "production"))
		w.settle(ctx)
		w.events()
		change(ctx, quiz, func(e *v1alpha1.Extension) {
			e.Annotations[v1alpha1.PausedAnnotation] = "true"
			e.Spec.Keys = []v1alpha1.Key{key("c")}
		})
		change(ctx, other, func(e *v1alpha1.Extension) { e.Spec.Keys = append(e.Spec.Keys, key("c")) })
		w.settle(ctx)
		Expect(w.registry(ctx, "default")).To(Equal(keys{"quiz": {"a"}, "other": {"b", "c"}}))
		load(ctx, quiz)
		Expect(quiz.Status.ObservedGeneration).To(BeNumerically("<", quiz.Generation))
		Expect(w.events()).To(Equal([]string{"Normal Paused"}), "once")

		change(ctx, other, func(e *v1alpha1.Extension) { e.Spec.Keys = []v1alpha1.Key{key("b")} })
		change(ctx, quiz, func(e *v1alpha1.Extension) { delete(e.Annotations, v1alpha1.PausedAnnotation) })
		w.settle(ctx)
		Expect(w.registry(ctx, "default")).To(Equal(keys{"quiz": {"c"}, "other": {"b"}}))
		Expect(told(ctx, quiz)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
	})
})
