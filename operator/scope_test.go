package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/hack/harness"
	"github.com/acclaim-dev/acclaim/operator/internal/testcluster"
)

// programVariable makes the test's program the operator, which looks at its namespaces more
// often than in a cluster.
const programVariable = "ACCLAIM_TEST_OPERATOR"

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		ctrl.SetLogger(logr.Discard())
		execute(100 * time.Millisecond)
		return
	}
	os.Exit(m.Run())
}

// operatorProcess is an operator in a process of its own, so that it can be killed and can
// start itself again.
type operatorProcess struct {
	kubeconfig, health, metrics string
	namespaces, arguments       []string
	command                     *exec.Cmd
}

func (p *operatorProcess) start(t *testing.T) {
	t.Helper()
	program, err := os.Executable()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	arguments := append([]string{"--namespaces=" + strings.Join(p.namespaces, ","), "--leader-elect=false",
		"--instance=test/acclaim", "--health-listen=" + p.health, "--metrics-listen=" + p.metrics}, p.arguments...)
	p.command = exec.CommandContext(t.Context(), program, arguments...)
	p.command.Env = append(os.Environ(), programVariable+"=1", "KUBECONFIG="+p.kubeconfig)
	p.command.Stderr = t.Output()
	NewWithT(t).Expect(p.command.Start()).To(Succeed())
}

func (p *operatorProcess) kill(t *testing.T) {
	t.Helper()
	NewWithT(t).Expect(p.command.Process.Kill()).To(Succeed())
	_ = p.command.Wait() // it was killed
}

// stateOf returns the state of a namespace by the metrics.
func (p *operatorProcess) stateOf(ctx context.Context, namespace string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.metrics+"/metrics", nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	for line := range strings.Lines(string(text)) {
		if state, ok := strings.CutPrefix(line, fmt.Sprintf("acclaim_operator_namespaces{resource_namespace=%q,state=", namespace)); ok && strings.HasSuffix(line, " 1\n") {
			return strings.Trim(strings.TrimSuffix(state, "} 1\n"), `"`), err
		}
	}
	return "", err
}

// A namespace that is deleted, or not there yet, keeps the operator from no other one, also
// when it is killed and started again; and it is watched as soon as it exists and grants
// rights.
func TestNamespaces(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	g.SetDefaultEventuallyTimeout(2 * time.Minute)
	cluster, err := testcluster.Start(ctx, "..", t.Output())
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(cluster.Stop(context.WithoutCancel(ctx))).To(Succeed()) })
	for _, name := range []string{"bad", "team"} {
		g.Expect(cluster.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	}
	rights, err := cluster.OperatorOf(ctx, "test/acclaim", "bad", "team")
	g.Expect(err).NotTo(HaveOccurred())
	p := &operatorProcess{kubeconfig: writeKubeconfig(t, rights), health: freeAddress(t), metrics: freeAddress(t), namespaces: []string{"bad", "later", "team"}}
	p.start(t)
	t.Cleanup(func() { p.kill(t) })
	expectDeployment(g, cluster, "team", "first")
	expectDeployment(g, cluster, "bad", "lost")
	state := func(namespace string) func() (string, error) {
		return func() (string, error) { return p.stateOf(ctx, namespace) }
	}
	g.Eventually(state("later")).Should(Or(Equal("missing"), Equal("forbidden"))) // it may read those that exist

	// As the controller of namespaces does. This cluster has none.
	lost := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "bad", Name: "lost"}}
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bad"}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "bad", Name: rights.Impersonate.UserName}},
		lost,
	} {
		g.Expect(cluster.Client.Delete(ctx, o)).To(Succeed())
	}
	g.Eventually(state("bad")).Should(Equal("terminating"))
	g.Eventually(func() error { return cluster.Client.Get(ctx, client.ObjectKeyFromObject(lost), lost) }).Should(MatchError(ContainSubstring("not found")))
	expectDeployment(g, cluster, "team", "second")

	p.kill(t)
	p.start(t)
	expectDeployment(g, cluster, "team", "third")
	g.Eventually(func() (int, error) { return statusOf(ctx, "http://"+p.health+"/readyz") }).Should(Equal(http.StatusOK))
	g.Eventually(state("team")).Should(Equal("watched"))

	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: rights.Impersonate.UserName}}
	g.Expect(cluster.Client.Get(ctx, client.ObjectKeyFromObject(binding), binding)).To(Succeed())
	binding.ObjectMeta = metav1.ObjectMeta{Namespace: "later", Name: binding.Name}
	g.Expect(cluster.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "later"}})).To(Succeed())
	g.Expect(cluster.Client.Create(ctx, binding)).To(Succeed())
	expectDeployment(g, cluster, "later", "fourth")
	g.Expect(p.command.ProcessState).To(BeNil(), "it is the same process")
}

// A namespace is watched while it has the label and the operator a RoleBinding in it.
func TestNamespaceSelector(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	g.SetDefaultEventuallyTimeout(2 * time.Minute)
	cluster, err := testcluster.Start(ctx, "..", t.Output())
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(cluster.Stop(context.WithoutCancel(ctx))).To(Succeed()) })
	bound := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bound"}}
	unbound := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "unbound", Labels: map[string]string{"tenant": "yes"}}}
	for _, o := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "home"}}, bound, unbound} {
		g.Expect(cluster.Client.Create(ctx, o)).To(Succeed())
	}
	rights, err := cluster.OperatorOf(ctx, "test/acclaim", "home", "bound")
	g.Expect(err).NotTo(HaveOccurred())
	elsewhere := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: rights.Impersonate.UserName + "-finalizers"}}
	g.Expect(cluster.Client.Get(ctx, client.ObjectKeyFromObject(elsewhere), elsewhere)).To(Succeed())
	elsewhere.Rules = append(elsewhere.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}})
	g.Expect(cluster.Client.Update(ctx, elsewhere)).To(Succeed())

	p := &operatorProcess{kubeconfig: writeKubeconfig(t, rights), health: freeAddress(t), metrics: freeAddress(t), namespaces: []string{"home"}, arguments: []string{"--namespace-selector=tenant=yes"}}
	p.start(t)
	t.Cleanup(func() { p.kill(t) })
	state := func(namespace string) func() (string, error) {
		return func() (string, error) { return p.stateOf(ctx, namespace) }
	}
	g.Eventually(state("unbound")).Should(Equal("forbidden"))
	g.Expect(state("bound")()).To(BeEmpty(), "it has no label")
	bound.Labels = map[string]string{"tenant": "yes"}
	g.Expect(cluster.Client.Update(ctx, bound)).To(Succeed())
	expectDeployment(g, cluster, "bound", "first")

	bound.Labels = nil
	g.Expect(cluster.Client.Update(ctx, bound)).To(Succeed())
	b := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "bound", Name: "first"}}
	g.Eventually(func() (reason string, err error) {
		err = cluster.Client.Get(ctx, client.ObjectKeyFromObject(b), b)
		if ready := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.Ready); ready != nil {
			reason = ready.Reason
		}
		return reason, err
	}).Should(Equal(v1alpha1.ReasonNotWatched))
}

// An operator that may read two Secrets by name needs no right to another one.
func TestSecretsByName(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	g.SetDefaultEventuallyTimeout(2 * time.Minute)
	cluster, err := testcluster.Start(ctx, "..", t.Output())
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(cluster.Stop(context.WithoutCancel(ctx))).To(Succeed()) })
	g.Expect(cluster.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}})).To(Succeed())
	rights, err := cluster.OperatorOf(ctx, "test/acclaim", "team")
	g.Expect(err).NotTo(HaveOccurred())
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: rights.Impersonate.UserName}}
	g.Expect(cluster.Client.Get(ctx, client.ObjectKeyFromObject(role), role)).To(Succeed())
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "secrets") })
	role.Rules = append(role.Rules,
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "patch"}, ResourceNames: []string{"first", "first-registry"}})
	g.Expect(cluster.Client.Update(ctx, role)).To(Succeed())

	p := &operatorProcess{kubeconfig: writeKubeconfig(t, rights), health: freeAddress(t), metrics: freeAddress(t), namespaces: []string{"team"}, arguments: []string{"--secrets-by-name"}}
	p.start(t)
	t.Cleanup(func() { p.kill(t) })
	expectDeployment(g, cluster, "team", "first")
	template := func() string {
		voting := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "first-voting"}}
		g.Expect(cluster.Client.Get(ctx, client.ObjectKeyFromObject(voting), voting)).To(Succeed())
		return voting.Spec.Template.String()
	}
	before := template()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "first"}, StringData: map[string]string{"uri": "mongodb://two"}}
	g.Expect(cluster.Client.Update(ctx, secret)).To(Succeed())
	g.Eventually(template).ShouldNot(Equal(before), "pods read the changed Secret")
	g.Eventually(func() (int, error) { return statusOf(ctx, "http://"+p.health+"/readyz") }).Should(Equal(http.StatusOK))
}

// expectDeployment creates a Backend and waits until the operator has made a Deployment of it.
func expectDeployment(g *WithT, cluster *testcluster.Cluster, namespace, name string) {
	ctx := context.Background()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: map[string]string{"uri": "mongodb://one"}}
	b := &v1alpha1.Backend{ObjectMeta: secret.ObjectMeta, Spec: v1alpha1.BackendSpec{
		Image: "acclaim:test", MongoDB: v1alpha1.SecretKeyReference{Name: name, Key: "uri"},
	}}
	for _, o := range []client.Object{secret, b} {
		g.Expect(cluster.Client.Create(ctx, o)).To(Succeed())
	}
	voting := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-voting"}}
	g.Eventually(func() error { return cluster.Client.Get(ctx, client.ObjectKeyFromObject(voting), voting) }).Should(Succeed())
}

// freeAddress returns a local address that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := harness.FreeAddress(t.Context())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return address
}

// writeKubeconfig returns a file with which a program connects as config does.
func writeKubeconfig(t *testing.T, config *rest.Config) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	NewWithT(t).Expect(clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"test": {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"test": {
			ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Impersonate: config.Impersonate.UserName,
		}},
		Contexts:       map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: "test"}},
		CurrentContext: "test",
	}, file)).To(Succeed())
	return file
}
