package backend_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

var _ = Describe("A Backend that selects namespaces", func() {
	selecting := func(label string) func(*v1alpha1.BackendSpec) {
		return func(s *v1alpha1.BackendSpec) {
			s.AllowedNamespaces = &v1alpha1.AllowedNamespaces{From: v1alpha1.FromSelector, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{label: "a"}}}
		}
	}

	It("tells that its operator reads no labels but the name", func(ctx context.Context) {
		w := newWorld(ctx, nil)
		w.reconciler.Watched = []string{w.backend.Namespace, "a"}
		w.rollOut(ctx)
		w.change(ctx, selecting("team"))
		w.settle(ctx)
		Expect(w.expectDegraded(v1alpha1.ReasonSelectorNotUsable)).To(And(ContainSubstring(corev1.LabelMetadataName), ContainSubstring(`"team"`)))
		Expect(meta.IsStatusConditionTrue(w.backend.Status.Conditions, v1alpha1.Stalled)).To(BeTrue(), "only a person can mend it")
		w.change(ctx, selecting(corev1.LabelMetadataName))
		w.settle(ctx)
		w.expectReady()
	})

	It("is ready with any label where its operator reads all namespaces", func(ctx context.Context) {
		w := newWorld(ctx, selecting("team"))
		w.rollOut(ctx)
		w.settle(ctx)
		w.expectReady()
	})

	It("tells of a selector that is none", func(ctx context.Context) {
		w := newWorld(ctx, nil)
		w.rollOut(ctx)
		w.change(ctx, func(s *v1alpha1.BackendSpec) {
			selecting("team")(s)
			s.AllowedNamespaces.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "team", Operator: "Like"}}
		})
		w.settle(ctx)
		Expect(w.expectDegraded(v1alpha1.ReasonSelectorNotUsable)).To(ContainSubstring(`"Like"`))
	})
})
