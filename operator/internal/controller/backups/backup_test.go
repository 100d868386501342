package backups_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/backups"
)

var _ = Describe("A Backup", func() {
	var w *world
	var r *backups.Reconciler
	var b *v1alpha1.Backup
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		r = &backups.Reconciler{Access: w.access}
		b = &v1alpha1.Backup{ObjectMeta: w.named("now"), Spec: v1alpha1.BackupSpec{
			BackendRef: v1alpha1.ObjectReference{Name: "default"},
			Where:      v1alpha1.BackupPlace{ClaimName: "backups"},
		}}
	})
	job := func(ctx context.Context) *batchv1.Job {
		GinkgoHelper()
		j := &batchv1.Job{ObjectMeta: w.named("now-backup")}
		w.load(ctx, j)
		return j
	}

	It("runs one Job on the volume, and is complete when that is", func(ctx context.Context) {
		w.addBackend(ctx, nil)
		w.create(ctx, b)
		Expect(w.reconcile(ctx, r, b)).To(Succeed())
		Expect(b.Status.Phase).To(Equal(v1alpha1.BackupRunning))
		expectReady(b.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonBackupRunning)

		pod := job(ctx).Spec.Template.Spec
		Expect(pod.Containers[0].Image).To(Equal("acclaim:1"))
		Expect(pod.Containers[0].Args).To(Equal([]string{"backup", "/backups/default"}))
		Expect(pod.Volumes).To(ContainElement(HaveField("PersistentVolumeClaim.ClaimName", "backups")))
		Expect(metav1.IsControlledBy(job(ctx), b)).To(BeTrue())

		w.endJob(ctx, "now-backup", batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)
		Expect(w.reconcile(ctx, r, b)).To(Succeed())
		expectReady(b.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonBackupCompleted)
		Expect(b.Status).To(And(
			HaveField("Phase", v1alpha1.BackupCompleted), HaveField("Destination", "/backups/default"),
			HaveField("StartedAt", Not(BeNil())), HaveField("StoppedAt.Time", BeTemporally("==", now.Time)), HaveField("Error", BeEmpty()),
		))

		By("making no other Job afterwards")
		Expect(w.Delete(ctx, job(ctx), client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		Expect(w.reconcile(ctx, r, b)).To(Succeed())
		Expect(client.IgnoreNotFound(w.Get(ctx, client.ObjectKeyFromObject(job0(w)), job0(w)))).To(Succeed())
		Expect(w.Get(ctx, client.ObjectKeyFromObject(job0(w)), job0(w))).NotTo(Succeed())
	})

	It("gives the pods what the Backend and the storage need, and passes the restricted standard", func(ctx context.Context) {
		w.addBackend(ctx, func(s *v1alpha1.BackendSpec) {
			s.PodTemplate.Env = []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "http://proxy"}, {Name: "GOMEMLIMIT", Value: "1"}}
			s.Scheduling.NodeSelector = map[string]string{"pool": "games"}
			s.ImagePullSecrets = []v1alpha1.ObjectReference{{Name: "registry"}}
		})
		b.Spec.Where = v1alpha1.BackupPlace{Folder: "production", S3: &v1alpha1.ObjectStorage{
			URL: "s3://bucket/acclaim/", Endpoint: "https://storage.example", Region: "eu", SecretName: "storage",
		}}
		b.Spec.Pod = v1alpha1.TaskPod{ServiceAccountName: "writer", DeadlineHours: new(int32(2))}
		w.create(ctx, b)
		Expect(w.reconcile(ctx, r, b)).To(Succeed())
		Expect(b.Status.Destination).To(Equal("s3://bucket/acclaim/production"))
		Expect(*job(ctx).Spec.ActiveDeadlineSeconds).To(Equal(int64(7200)))
		pod := job(ctx).Spec.Template.Spec
		Expect(pod.ServiceAccountName).To(Equal("writer"))
		Expect(pod.NodeSelector).To(Equal(map[string]string{"pool": "games"}))
		Expect(pod.ImagePullSecrets).To(HaveLen(1))
		c := pod.Containers[0]
		Expect(c.Args).To(HaveExactElements("backup", "s3://bucket/acclaim/production"))
		Expect(c.EnvFrom).To(HaveExactElements(HaveField("SecretRef.Name", "storage")))
		variables := map[string]string{}
		for _, variable := range c.Env {
			Expect(variables).NotTo(HaveKey(variable.Name))
			variables[variable.Name] = variable.Value
		}
		Expect(variables).To(Equal(map[string]string{
			"ACCLAIM_MONGODB_URI": "", "GOMEMLIMIT": "", "AWS_ENDPOINT_URL": "https://storage.example", "AWS_REGION": "eu", "HTTPS_PROXY": "http://proxy",
		}))
		w.addPod(ctx, "now-backup", 0, "")
	})

	It("says why it failed, in the program's words", func(ctx context.Context) {
		w.addBackend(ctx, nil)
		w.create(ctx, b)
		Expect(w.reconcile(ctx, r, b)).To(Succeed())
		w.addPod(ctx, "now-backup", 2, "read the store\nacclaim: mkdir /backups/default: permission denied\n")
		w.endJob(ctx, "now-backup", batchv1.JobFailureTarget, batchv1.JobFailed)
		Expect(w.reconcile(ctx, r, b)).To(Succeed())
		message := expectReady(b.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonBackupFailed)
		Expect(message).To(ContainSubstring("permission denied"))
		Expect(b.Status).To(And(HaveField("Phase", v1alpha1.BackupFailed), HaveField("Error", "acclaim: mkdir /backups/default: permission denied")))
	})

	It("waits for a Backend that does not exist", func(ctx context.Context) {
		w.create(ctx, b)
		Expect(w.reconcile(ctx, r, b)).To(Succeed())
		expectReady(b.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonBackendNotFound)
		Expect(b.Status.Phase).To(Equal(v1alpha1.BackupPending))
		w.addBackend(ctx, nil)
		Expect(w.reconcile(ctx, r, b)).To(Succeed())
		expectReady(b.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonBackupRunning)
	})

	It("leaves a Job of someone else alone", func(ctx context.Context) {
		w.addBackend(ctx, nil)
		other := job0(w)
		other.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "a", Image: "a"}}}
		w.create(ctx, other)
		w.create(ctx, b)
		Expect(w.reconcile(ctx, r, b)).To(MatchError(ContainSubstring("belongs to something else")))
		expectReady(b.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonNameTaken)
		Expect(job(ctx).OwnerReferences).To(BeEmpty())
	})
})

// job0 returns the name of the Job of the Backup "now".
func job0(w *world) *batchv1.Job { return &batchv1.Job{ObjectMeta: w.named("now-backup")} }
