package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/hack/envtest/assets"
)

// TestRun starts the program as it is, in a cluster that has nothing but its
// CRDs: a Poll is enough to get services running.
func TestRun(t *testing.T) {
	g, config := NewWithT(t), startCluster(t)
	scheme, err := newScheme()
	g.Expect(err).NotTo(HaveOccurred())
	c, err := client.New(config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())

	health := freeAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() {
		stopped <- run(ctx, flagValues{
			leaderElect: true, instance: "default/acclaim", health: health, metrics: "127.0.0.1:0", votingURL: "http://127.0.0.1:1{path}",
			driftInterval: time.Minute, giveUpAfter: time.Minute, workers: 1,
			defaultImage: "acclaim:test", mongoDBSecret: "database",
		})
	}()
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }
	backup := &batchv1.CronJob{ObjectMeta: named("backup"), Spec: batchv1.CronJobSpec{Schedule: "17 3 * * *", JobTemplate: newJobTemplate()}}
	backup.Labels = map[string]string{"app.kubernetes.io/name": "acclaim", "app.kubernetes.io/component": "backup"}
	for _, o := range []client.Object{
		backup,
		&corev1.Secret{ObjectMeta: named("database"), StringData: map[string]string{"uri": "mongodb://one"}},
		&v1alpha1.Extension{ObjectMeta: named("quiz"), Spec: v1alpha1.ExtensionSpec{ // a default Backend waits for it, as it may name one
			ClientID: "quiz", Environment: v1alpha1.Environment{Keys: []v1alpha1.Key{{SecretRef: v1alpha1.SecretKeyReference{Name: "quiz", Key: "key"}}}},
		}},
		&v1alpha1.Poll{ObjectMeta: named("poll"), Spec: v1alpha1.PollSpec{ExtensionRef: v1alpha1.ObjectReference{Name: "quiz"}, Channel: "1"}},
	} {
		g.Expect(c.Create(ctx, o)).To(Succeed())
	}
	voting := &appsv1.Deployment{ObjectMeta: named("default-voting")}
	g.Eventually(func() error { return c.Get(ctx, client.ObjectKeyFromObject(voting), voting) }, "1m").Should(Succeed())
	g.Expect(voting.Spec.Template.Spec.Containers[0].Image).To(Equal("acclaim:test"))
	for _, path := range []string{"/healthz", "/readyz"} {
		g.Eventually(func() (int, error) { return statusOf(ctx, "http://"+health+path) }, "1m").Should(Equal(http.StatusOK), path)
	}
	g.Eventually(func() ([]string, error) { return seriesOf("acclaim_operator_task_failed") }, "1m").Should(ConsistOf("default/backup default backup 0"))
	g.Eventually(func() ([]string, error) { return gatheredLabels() }, "1m").Should(ContainElements(libraryMetrics(t)))
	stop()
	g.Eventually(stopped, "1m").Should(Receive(BeNil()))
}

func newJobTemplate() batchv1.JobTemplateSpec {
	pod := corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "backup", Image: "acclaim:test"}}}
	return batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: pod}}}
}

// libraryMetrics returns the metrics of libraries that alerts rest on, with their labels.
func libraryMetrics(t *testing.T) []string {
	t.Helper()
	list, err := os.ReadFile("testdata/library-metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(list))
}

// gatheredLabels returns all metrics of the program, with the names of their labels.
func gatheredLabels() (all []string, err error) {
	families, err := metrics.Registry.Gather()
	for _, family := range families {
		var names []string
		for _, label := range family.GetMetric()[0].GetLabel() {
			names = append(names, label.GetName())
		}
		all = append(all, fmt.Sprintf("%s{%s}", family.GetName(), strings.Join(names, ",")))
	}
	return all, err
}

// seriesOf returns the label values and the value of each series of a gauge.
func seriesOf(metric string) (series []string, err error) {
	families, err := metrics.Registry.Gather()
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() != metric {
				continue
			}
			text := ""
			for _, label := range m.GetLabel() {
				text += label.GetValue() + " "
			}
			series = append(series, fmt.Sprint(text, m.GetGauge().GetValue()))
		}
	}
	return series, err
}

func statusOf(ctx context.Context, url string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// startCluster starts an API server and makes it the one that the program finds.
func startCluster(t *testing.T) *rest.Config {
	t.Helper()
	g := NewWithT(t)
	folder, err := assets.Find(t.Context(), t.Output())
	g.Expect(err).NotTo(HaveOccurred())
	environment := &envtest.Environment{
		BinaryAssetsDirectory: folder,
		CRDDirectoryPaths:     []string{"../config/crd"},
		ErrorIfCRDPathMissing: true,
	}
	config, err := environment.Start()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(environment.Stop()).To(Succeed()) })
	user, err := environment.AddUser(envtest.User{Name: "operator", Groups: []string{"system:masters"}}, config)
	g.Expect(err).NotTo(HaveOccurred())
	kubeconfig, err := user.KubeConfig()
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(file, kubeconfig, 0o600)).To(Succeed())
	t.Setenv("KUBECONFIG", file)
	return config
}
