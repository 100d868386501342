package backups_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/backups"
	"github.com/acclaim-dev/acclaim/operator/internal/testcluster"
)

func TestBackups(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Backups controllers")
}

// cluster is the API server of the suite. It has no controllers: the specs play those of
// Jobs and CronJobs.
var cluster *testcluster.Cluster

var _ = BeforeSuite(func(ctx context.Context) {
	ctrl.SetLogger(GinkgoLogr)
	var err error
	cluster, err = testcluster.Start(ctx, "../../../..", GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cluster.Stop)
	cluster.Config.QPS = -1 // as fast as it answers
})

// world is a namespace that admits restricted pods only, with a Backend, and the reconcilers
// with exactly the operator's rights.
type world struct {
	client.Client // with all rights
	namespace     string
	access        backups.Access
	recorder      *events.FakeRecorder
}

func newWorld(ctx context.Context) *world {
	operator, err := client.New(cluster.Operator, client.Options{Scheme: cluster.Scheme})
	Expect(err).NotTo(HaveOccurred())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "backups-",
		Labels:       map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	Expect(cluster.Client.Create(ctx, namespace)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(cluster.CheckStatuses(ctx, namespace.Name)).To(Succeed()) })
	recorder := events.NewFakeRecorder(100)
	return &world{
		Client: cluster.Client, namespace: namespace.Name, recorder: recorder,
		access: backups.Access{Client: operator, APIReader: operator, Recorder: recorder},
	}
}

func (w *world) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

func (w *world) create(ctx context.Context, o client.Object) {
	GinkgoHelper()
	Expect(w.Create(ctx, o)).To(Succeed())
}

func (w *world) load(ctx context.Context, o client.Object) {
	GinkgoHelper()
	Expect(w.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
}

// addBackend creates the Backend "default".
func (w *world) addBackend(ctx context.Context, change func(*v1alpha1.BackendSpec)) *v1alpha1.Backend {
	GinkgoHelper()
	b := &v1alpha1.Backend{ObjectMeta: w.named("default"), Spec: v1alpha1.BackendSpec{
		Image: "acclaim:1", MongoDB: v1alpha1.SecretKeyReference{Name: "mongodb", Key: "uri"},
	}}
	if change != nil {
		change(&b.Spec)
	}
	w.create(ctx, b)
	return b
}

// reconcile runs a reconciler once on an object, and loads what became of that.
func (w *world) reconcile(ctx context.Context, r reconcile.Reconciler, o client.Object) error {
	GinkgoHelper()
	_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(o)})
	w.load(ctx, o)
	return err
}

// expectReady fails the spec unless a condition Ready has this status and reason. It returns
// the message.
func expectReady(conditions []metav1.Condition, is metav1.ConditionStatus, reason string) string {
	GinkgoHelper()
	return expectCondition(conditions, v1alpha1.Ready, is, reason)
}

// expectDegraded does the same for a condition Degraded.
func expectDegraded(conditions []metav1.Condition, is metav1.ConditionStatus, reason string) {
	GinkgoHelper()
	expectCondition(conditions, v1alpha1.Degraded, is, reason)
}

func expectCondition(conditions []metav1.Condition, kind string, is metav1.ConditionStatus, reason string) string {
	GinkgoHelper()
	c := meta.FindStatusCondition(conditions, kind)
	Expect(c).NotTo(BeNil())
	Expect(*c).To(And(HaveField("Status", is), HaveField("Reason", reason)))
	return c.Message
}

var now = metav1.NewTime(time.Date(2030, 1, 1, 3, 17, 0, 0, time.UTC))

// endJob plays the Job controller: the Job has ended.
func (w *world) endJob(ctx context.Context, name string, conditions ...batchv1.JobConditionType) {
	GinkgoHelper()
	j := &batchv1.Job{ObjectMeta: w.named(name)}
	w.load(ctx, j)
	started := metav1.NewTime(now.Add(-time.Minute))
	j.Status.StartTime = &started
	for _, c := range conditions {
		j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{
			Type: c, Status: corev1.ConditionTrue, LastTransitionTime: now, Reason: "PodFailurePolicy", Message: "of Kubernetes",
		})
		if c == batchv1.JobComplete {
			j.Status.CompletionTime = &now
		}
	}
	Expect(w.Status().Update(ctx, j)).To(Succeed())
}

// addPod plays the Job controller and a kubelet: a pod of the Job has ended.
func (w *world) addPod(ctx context.Context, name string, exitCode int32, output string) {
	GinkgoHelper()
	j := &batchv1.Job{ObjectMeta: w.named(name)}
	w.load(ctx, j)
	pod := &corev1.Pod{ObjectMeta: w.named(name + "-pod"), Spec: j.Spec.Template.Spec}
	pod.Labels = j.Spec.Template.Labels
	w.create(ctx, pod)
	pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{
		Name:  pod.Spec.Containers[0].Name,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: exitCode, FinishedAt: now, Message: output}},
	}}}
	Expect(w.Status().Update(ctx, pod)).To(Succeed())
}

// in reads one namespace, as a cache does that has no other.
type in struct {
	client.Reader
	namespace string
}

// List implements [client.Reader].
func (i in) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return i.Reader.List(ctx, list, append(options, client.InNamespace(i.namespace))...)
}

// gather returns the metrics about the Backend "default", by name.
func gather(w *world) map[string]float64 {
	GinkgoHelper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(backups.NewAges(in{w.Client, w.namespace}))
	families, err := registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	values := map[string]float64{}
	for _, f := range families {
		Expect(f.GetMetric()).To(HaveLen(1))
		labels := f.GetMetric()[0].GetLabel()
		Expect(labels).To(HaveExactElements(HaveField("GetValue()", "default"), HaveField("GetValue()", w.namespace)))
		values[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
	}
	return values
}
