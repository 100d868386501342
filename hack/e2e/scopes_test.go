package e2e_test

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

const tenantLabel = "acclaim.dev/tenant"

// scopes has the operator find namespaces by their label, and then read named Secrets only.
// They come after tenants, whose Backend serves other namespaces.
func scopes(w *world) {
	It("works in a namespace that has the label and the RoleBinding, without an upgrade", func(ctx SpecContext) {
		Expect(w.upgrade(ctx, w.byLabel(), "--wait", "--timeout", "5m")).To(Succeed())
		team := w.newTenant(ctx, "labelled")
		Expect(w.operatorMay(ctx, "get", team.namespace)).To(BeFalse(), "read Secrets without a RoleBinding")

		began := time.Now()
		w.enrol(ctx, team)
		team.declare(ctx)
		w.report.took("a namespace with label and RoleBinding, to its Poll in force", began)
		Expect(w.operatorMay(ctx, "get", team.namespace)).To(BeTrue())
		team.delete(ctx)
	}, SpecTimeout(6*time.Minute))

	It("reads the Secrets that are named and no other one", func(ctx SpecContext) {
		var secrets corev1.SecretList
		Expect(w.List(ctx, &secrets, client.InNamespace(w.namespace))).To(Succeed())
		names := []string{"quiz"}
		for _, secret := range secrets.Items {
			if !slices.Contains(names, secret.Name) && secret.Type == corev1.SecretTypeOpaque {
				names = append(names, secret.Name)
			}
		}
		values := w.byLabel()
		values["operator"].(object)["secretNames"] = names
		Expect(w.upgrade(ctx, values, "--wait", "--timeout", "5m")).To(Succeed())
		Expect(w.operatorMay(ctx, "list", w.namespace)).To(BeFalse())

		team := w.newTenant(ctx, "named")
		w.enrol(ctx, team)
		team.declare(ctx)
		other := smallExtension(team.named("other"))
		other.Spec.ClientID = "client-of-other"
		other.Spec.BackendRef = &v1alpha1.BackendReference{Name: "default", Namespace: w.namespace}
		secret := &corev1.Secret{ObjectMeta: team.named("other"), StringData: map[string]string{"first": "a2V5"}}
		Expect(w.Create(ctx, secret)).To(Succeed())
		Expect(w.Create(ctx, other)).To(Succeed())
		Eventually(ctx, func() (string, error) {
			err := w.Get(ctx, client.ObjectKeyFromObject(other), other)
			if ready := meta.FindStatusCondition(other.Status.Conditions, v1alpha1.Ready); ready != nil {
				return ready.Reason, err
			}
			return "", err
		}).Should(Equal(v1alpha1.ReasonSecretNotFound))
		team.delete(ctx)
		Expect(w.upgrade(ctx, w.values(), "--wait", "--timeout", "5m")).To(Succeed())
	}, SpecTimeout(8*time.Minute))
}

// byLabel returns the release's values with the mode that finds namespaces by their label.
func (w *world) byLabel() object {
	values := w.values()
	values["operator"].(object)["namespaceSelector"] = tenantLabel + "=true"
	return values
}

// enrol applies the RoleBinding that the chart renders for a team, and labels its namespace, as documented.
func (w *world) enrol(ctx context.Context, t *tenant) {
	GinkgoHelper()
	template := exec.CommandContext(ctx, "helm", "template", release, chart, "--namespace", w.namespace,
		"--set", "operator.team="+t.namespace+",production.enabled=false", "--show-only", "templates/team.yaml")
	manifest, err := template.Output()
	Expect(err).NotTo(HaveOccurred())
	apply := exec.CommandContext(ctx, "kubectl", "apply", "--filename", "-")
	apply.Stdin = strings.NewReader(string(manifest))
	Expect(run(apply)).To(Succeed())
	Expect(kubectl(ctx, "label", "namespace", t.namespace, tenantLabel+"=true")).To(Succeed())
}

// operatorMay reports whether the operator may read Secrets of a namespace.
func (w *world) operatorMay(ctx context.Context, verb, namespace string) bool {
	GinkgoHelper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "system:serviceaccount:" + w.namespace + ":" + release + "-operator",
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Resource: "secrets",
		},
	}}
	Expect(w.Create(ctx, review)).To(Succeed())
	return review.Status.Allowed
}
