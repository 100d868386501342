package e2e_test

import (
	"context"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// removal uninstalls the release. What was not of the release stays: the Secret,
// the Extension, and the Polls that were declared beside it.
func removal(w *world) {
	It("is uninstalled and leaves nothing behind", func(ctx SpecContext) {
		began := time.Now()
		err := helm(ctx, nil, "uninstall", release, "--namespace", w.namespace)
		Expect(err).NotTo(HaveOccurred())
		w.report.took("helm uninstall", began)
		w.removeRestored(ctx)
		w.expectLeft(ctx, "Poll/colour")
		var roles rbacv1.ClusterRoleList
		Expect(w.List(ctx, &roles)).To(Succeed())
		Expect(roles.Items).NotTo(ContainElement(HaveField("Name", HavePrefix(w.namespace))))
		var bindings rbacv1.ClusterRoleBindingList
		Expect(w.List(ctx, &bindings)).To(Succeed())
		Expect(bindings.Items).NotTo(ContainElement(HaveField("Name", HavePrefix(w.namespace))))
	}, SpecTimeout(6*time.Minute))
}

// failedRemovals uninstall a release with an image that is not there, as the chart's README
// says.
func failedRemovals(w *world) {
	It("is uninstalled after an upgrade to a bad image, and after an installation of one", func(ctx SpecContext) {
		values := w.values()
		values["image"].(object)["tag"] = "missing"
		Expect(w.upgrade(ctx, values)).To(Succeed())
		Expect(helm(ctx, nil, "rollback", release, "--namespace", w.namespace)).To(Succeed())
		Expect(helm(ctx, nil, "uninstall", release, "--namespace", w.namespace)).To(Succeed())
		left := []string{"Poll/colour", "Poll/after-restart", "Poll/after-rotation"}
		w.expectLeft(ctx, left...)

		Expect(helm(ctx, values, "install", release, chart, "--namespace", w.namespace)).To(Succeed())
		Expect(helm(ctx, nil, "uninstall", release, "--namespace", w.namespace, "--no-hooks")).To(Succeed())
		w.expectLeft(ctx, left...)
	}, SpecTimeout(6*time.Minute))
}

// expectLeft expects that nothing is left of a release but what was declared beside it, and
// was not deleted.
func (w *world) expectLeft(ctx context.Context, polls ...string) {
	GinkgoHelper()
	Eventually(ctx, func() ([]string, error) { return w.objects(ctx) }).Should(ConsistOf(
		append(polls, "Extension/quiz", "Secret/quiz", "ConfigMap/kube-root-ca.crt", "ServiceAccount/default")))
}

// objects returns all that is in the namespace, of whatever kind, but for Events
// and what is measured.
func (w *world) objects(ctx context.Context) ([]string, error) {
	server, err := discovery.NewDiscoveryClientForConfig(w.config)
	if err != nil {
		return nil, err
	}
	lists, err := server.ServerPreferredNamespacedResources()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if resource.Kind == "Event" || version.Group == "metrics.k8s.io" || !slices.Contains(resource.Verbs, "list") || strings.Contains(resource.Name, "/") {
				continue
			}
			of := &unstructured.UnstructuredList{}
			of.SetGroupVersionKind(version.WithKind(resource.Kind + "List"))
			if err := w.List(ctx, of, client.InNamespace(w.namespace)); err != nil {
				return nil, err
			}
			for i := range of.Items {
				found = append(found, resource.Kind+"/"+of.Items[i].GetName())
			}
		}
	}
	return found, nil
}
