package backups_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/backups"
)

var _ = Describe("A ScheduledBackup", func() {
	var w *world
	var r *backups.ScheduleReconciler
	var s *v1alpha1.ScheduledBackup
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		r = &backups.ScheduleReconciler{Access: w.access}
		s = &v1alpha1.ScheduledBackup{ObjectMeta: w.named("nightly"), Spec: v1alpha1.ScheduledBackupSpec{
			BackendRef: v1alpha1.ObjectReference{Name: "default"},
			Schedule:   "17 3 * * *", TimeZone: "Europe/Berlin", Keep: 3,
			Where:  &v1alpha1.BackupPlace{ClaimName: "backups"},
			Verify: &v1alpha1.Verification{Schedule: "@weekly"},
			Drill:  &v1alpha1.Drill{Schedule: "@monthly"},
		}}
	})
	cronJob := func(ctx context.Context, task string) *batchv1.CronJob {
		GinkgoHelper()
		c := &batchv1.CronJob{ObjectMeta: w.named("nightly-" + task)}
		w.load(ctx, c)
		return c
	}
	play := func(ctx context.Context, task string, scheduled, succeeded *metav1.Time) {
		GinkgoHelper()
		c := cronJob(ctx, task)
		c.Status = batchv1.CronJobStatus{LastScheduleTime: scheduled, LastSuccessfulTime: succeeded}
		Expect(w.Status().Update(ctx, c)).To(Succeed())
	}

	It("has a CronJob each for backups, checks and drills, and none that it does not declare", func(ctx context.Context) {
		w.addBackend(ctx, nil)
		w.create(ctx, s)
		Expect(w.reconcile(ctx, r, s)).To(Succeed())
		expectReady(s.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonScheduled)
		backup, verify := cronJob(ctx, "backup"), cronJob(ctx, "verify")
		Expect(backup.Spec).To(And(HaveField("Schedule", "17 3 * * *"), HaveField("TimeZone", HaveValue(Equal("Europe/Berlin"))), HaveField("Suspend", HaveValue(BeFalse()))))
		Expect(verify.Spec).To(And(HaveField("Schedule", "@weekly"), HaveField("TimeZone", HaveValue(Equal("Europe/Berlin")))))
		Expect(backup.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Args).To(HaveExactElements("backup", "--keep=3", "/backups/default"))
		Expect(verify.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Args).To(HaveExactElements("verify"))

		drill := cronJob(ctx, "drill")
		Expect(drill.Spec).To(And(HaveField("Schedule", "@monthly"), HaveField("TimeZone", HaveValue(Equal("Europe/Berlin")))))

		By("writing nothing when nothing changes")
		Expect(w.reconcile(ctx, r, s)).To(Succeed())
		Expect(cronJob(ctx, "backup").ResourceVersion).To(Equal(backup.ResourceVersion))
		Expect(cronJob(ctx, "drill").ResourceVersion).To(Equal(drill.ResourceVersion))

		By("following the spec")
		s.Spec.Suspend, s.Spec.Verify, s.Spec.Drill = true, nil, nil
		Expect(w.Update(ctx, s)).To(Succeed())
		Expect(w.reconcile(ctx, r, s)).To(Succeed())
		expectReady(s.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonScheduleSuspended)
		Expect(*cronJob(ctx, "backup").Spec.Suspend).To(BeTrue())
		for _, removed := range []*batchv1.CronJob{verify, drill} {
			Expect(apierrors.IsNotFound(w.Get(ctx, client.ObjectKeyFromObject(removed), removed))).To(BeTrue(), removed.Name)
		}

		By("undoing what someone changed")
		changed := cronJob(ctx, "backup")
		changed.Spec.Schedule = "@yearly"
		Expect(w.Update(ctx, changed)).To(Succeed())
		Expect(w.reconcile(ctx, r, s)).To(Succeed())
		Expect(cronJob(ctx, "backup").Spec.Schedule).To(Equal("17 3 * * *"))
	})

	It("tells when a backup last ended well, and that the last one failed", func(ctx context.Context) {
		b := w.addBackend(ctx, func(s *v1alpha1.BackendSpec) { s.BackupMaxAgeHours = new(int32(26)) })
		w.create(ctx, s)
		Expect(w.reconcile(ctx, r, s)).To(Succeed())
		expectAge := func(at metav1.Time) {
			GinkgoHelper()
			values := gather(w)
			Expect(values).To(HaveKeyWithValue("acclaim_operator_backup_max_age_seconds", 93600.0))
			Expect(values).To(HaveKeyWithValue("acclaim_operator_backup_last_success_timestamp_seconds", float64(at.Unix())))
		}
		expectAge(s.CreationTimestamp)

		first := metav1.NewTime(now.Add(-24 * time.Hour))
		play(ctx, "backup", &first, &first)
		Expect(w.reconcile(ctx, r, s)).To(Succeed())
		Expect(s.Status.LastBackup.Time).To(BeTemporally("==", first.Time))
		expectReady(s.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonScheduled)
		expectAge(first)

		play(ctx, "backup", &now, &first)
		Expect(w.reconcile(ctx, r, s)).To(Succeed())
		Expect(s.Status.LastBackup.Time).To(BeTemporally("==", first.Time))
		expectDegraded(s.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonLastBackupFailed)
		expectReady(s.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonScheduled)
		Expect(w.recorder.Events).To(Receive(ContainSubstring("Normal Scheduled")))
		Expect(w.recorder.Events).To(Receive(ContainSubstring("Warning LastBackupFailed")))
		Expect(cluster.CheckCurrent(ctx, w.namespace, 2)).To(MatchError(Not(ContainSubstring("ScheduledBackup"))), "tools that wait do so for the Backend alone")

		By("telling that a check failed, too, when a backup ends well again")
		play(ctx, "verify", &now, nil)
		Expect(w.reconcile(ctx, r, s)).To(Succeed())
		expectDegraded(s.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonLastBackupFailed)
		play(ctx, "backup", &first, &first)
		Expect(w.reconcile(ctx, r, s)).To(Succeed())
		expectDegraded(s.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonLastVerificationFailed)
		play(ctx, "verify", &first, &first)
		play(ctx, "drill", &now, &first)
		Expect(w.reconcile(ctx, r, s)).To(Succeed())
		Expect(s.Status.LastDrill.Time).To(BeTemporally("==", first.Time))
		expectDegraded(s.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonLastDrillFailed)
		play(ctx, "drill", &now, &now)
		Expect(w.reconcile(ctx, r, s)).To(Succeed())
		expectDegraded(s.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonHealthy)

		By("counting a single Backup that is newer")
		single := &v1alpha1.Backup{ObjectMeta: w.named("now"), Spec: v1alpha1.BackupSpec{BackendRef: s.Spec.BackendRef, Where: *s.Spec.Where}}
		w.create(ctx, single)
		one := &backups.Reconciler{Access: w.access}
		Expect(w.reconcile(ctx, one, single)).To(Succeed())
		expectAge(first)
		w.endJob(ctx, "now-backup", batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)
		Expect(w.reconcile(ctx, one, single)).To(Succeed())
		expectAge(now)

		By("promising nothing where nothing is promised")
		w.load(ctx, b)
		b.Spec.BackupMaxAgeHours = nil
		Expect(w.Update(ctx, b)).To(Succeed())
		Expect(gather(w)).To(BeEmpty())
	})

	It("restores the newest backup in the pod of a drill, which cannot reach the database", func(ctx context.Context) {
		w.addBackend(ctx, func(s *v1alpha1.BackendSpec) {
			s.PodTemplate.Env = []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "http://proxy"}}
		})
		s.Spec.Pod.ServiceAccountName = "reader"
		s.Spec.Where = &v1alpha1.BackupPlace{ClaimName: "backups", Folder: "production"}
		w.create(ctx, s)
		Expect(w.reconcile(ctx, r, s)).To(Succeed())
		pod := cronJob(ctx, "drill").Spec.JobTemplate.Spec.Template.Spec
		c := pod.Containers[0]
		Expect(pod.ServiceAccountName).To(Equal("reader"))
		Expect(c.Args).To(HaveExactElements("restore", "--data-dir=/restored/store", "/backups/production"))
		Expect(c.Env).To(HaveExactElements(HaveField("Name", "GOMEMLIMIT"), HaveField("Name", "HTTPS_PROXY")))
		Expect(pod.Volumes).To(HaveExactElements(HaveField("EmptyDir", Not(BeNil())), HaveField("PersistentVolumeClaim.ClaimName", "backups")))
		Expect(c.VolumeMounts).To(HaveExactElements(
			corev1.VolumeMount{Name: "restored", MountPath: "/restored"}, corev1.VolumeMount{Name: "backups", MountPath: "/backups", ReadOnly: true}))
	})

	It("repeats what the API server says about a schedule", func(ctx context.Context) {
		w.addBackend(ctx, nil)
		s.Spec.TimeZone = "Mars/Olympus"
		w.create(ctx, s)
		Expect(w.reconcile(ctx, r, s)).NotTo(Succeed())
		Expect(expectReady(s.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonObjectRefused)).To(ContainSubstring("unknown time zone Mars/Olympus"))
	})

	It("leaves a CronJob of someone else alone", func(ctx context.Context) {
		w.addBackend(ctx, nil)
		w.create(ctx, s)
		Expect(w.reconcile(ctx, r, s)).To(Succeed())
		other := &batchv1.CronJob{ObjectMeta: w.named("other-backup"), Spec: cronJob(ctx, "verify").Spec}
		other.Spec.Schedule = "@yearly"
		w.create(ctx, other)
		second := &v1alpha1.ScheduledBackup{ObjectMeta: w.named("other"), Spec: *s.Spec.DeepCopy()}
		w.create(ctx, second)
		Expect(w.reconcile(ctx, r, second)).NotTo(Succeed())
		expectReady(second.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonNameTaken)
		w.load(ctx, other)
		Expect(other.Spec.Schedule).To(Equal("@yearly"))
	})
})
