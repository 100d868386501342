package backend_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

var _ = Describe("A Backend that restores", func() {
	restoring := func(s *v1alpha1.BackendSpec) {
		s.RestoreFrom = &v1alpha1.RestoreFrom{
			Where: v1alpha1.BackupPlace{ClaimName: "backups", Folder: "production"}, Before: &now, Extensions: []v1alpha1.ID{"quiz"},
		}
	}
	job := func(ctx context.Context, w *world) *batchv1.Job {
		GinkgoHelper()
		j := &batchv1.Job{ObjectMeta: w.named("default-restore")}
		w.load(ctx, j)
		return j
	}
	// end plays the Job controller and a kubelet: the last pod has ended with a status.
	end := func(ctx context.Context, w *world, exitCode int32, output string) {
		GinkgoHelper()
		j := job(ctx, w)
		started := metav1.Now()
		j.Status.StartTime = &started
		ends := []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete}
		if exitCode != 0 {
			ends = []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobFailed}
			pod := &corev1.Pod{ObjectMeta: w.named("restore-pod"), Spec: j.Spec.Template.Spec}
			pod.Labels = j.Spec.Template.Labels
			w.create(ctx, pod)
			pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{
				Name:  pod.Spec.Containers[0].Name,
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: exitCode, Message: output}},
			}}}
			Expect(w.Status().Update(ctx, pod)).To(Succeed())
		} else {
			j.Status.CompletionTime = &started
		}
		for _, c := range ends {
			j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: started})
		}
		Expect(w.Status().Update(ctx, j)).To(Succeed())
	}

	It("starts its services when the Job has ended, and restores once", func(ctx context.Context) {
		w := newWorld(ctx, restoring)
		w.settle(ctx)
		Expect(w.images(ctx)).To(BeEmpty(), "no service before the store is restored")
		Expect(w.condition(v1alpha1.Ready)).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonRestoring)))
		Expect(w.condition(v1alpha1.Restored)).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonRestoring)))
		pod := job(ctx, w).Spec.Template.Spec
		Expect(pod.Containers[0].Args).To(HaveExactElements("restore", "--claim="+string(w.backend.UID), HavePrefix("--before=2"), "--extension=quiz", "/backups/production"))
		Expect(pod.Containers[0].VolumeMounts).To(ContainElement(And(HaveField("MountPath", "/backups"), HaveField("ReadOnly", true))))

		end(ctx, w, 0, "")
		w.rollOut(ctx)
		Expect(w.condition(v1alpha1.Restored)).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", v1alpha1.ReasonRestoreCompleted)))

		By("making no other Job when that one is deleted")
		Expect(w.Delete(ctx, job(ctx, w), client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		w.settle(ctx)
		w.expectReady()
		Expect(w.Get(ctx, client.ObjectKey{Namespace: w.backend.Namespace, Name: "default-restore"}, &batchv1.Job{})).NotTo(Succeed())
	})

	It("leaves a store that is not empty as it is, and starts nothing", func(ctx context.Context) {
		w := newWorld(ctx, restoring)
		w.settle(ctx)
		end(ctx, w, 3, "acclaim: the store is not empty: it has something of the kind poll\n")
		w.settle(ctx)
		Expect(w.expectDegraded(v1alpha1.ReasonNotEmpty)).To(ContainSubstring("it has something of the kind poll"))
		Expect(w.condition(v1alpha1.Stalled)).To(HaveField("Status", metav1.ConditionTrue))
		Expect(w.condition(v1alpha1.Restored)).To(HaveField("Reason", v1alpha1.ReasonNotEmpty))
		Expect(w.images(ctx)).To(BeEmpty())
	})

	It("says why a restore failed, and tries again when its Job is deleted", func(ctx context.Context) {
		w := newWorld(ctx, restoring)
		w.settle(ctx)
		end(ctx, w, 2, "acclaim: there is no such backup")
		w.settle(ctx)
		Expect(w.expectDegraded(v1alpha1.ReasonRestoreFailed)).To(ContainSubstring("there is no such backup"))
		first := job(ctx, w)
		Expect(w.Delete(ctx, first, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		w.settle(ctx)
		Expect(job(ctx, w).UID).NotTo(Equal(first.UID))
		Expect(w.condition(v1alpha1.Ready)).To(HaveField("Reason", v1alpha1.ReasonRestoring))
	})

	It("does not begin before the Secret of the database is there, and leaves a Job of another alone", func(ctx context.Context) {
		w := newWorld(ctx, func(s *v1alpha1.BackendSpec) {
			restoring(s)
			s.MongoDB.Name = "later"
		})
		w.settle(ctx)
		w.expectDegraded(v1alpha1.ReasonMongoDBSecretMissing)
		other := &batchv1.Job{ObjectMeta: w.named("default-restore")}
		other.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "a", Image: "a"}}}
		w.create(ctx, other)
		w.create(ctx, w.secret("later", "uri", "mongodb://two"))
		Expect(w.reconcile(ctx)).NotTo(Succeed())
		w.expectDegraded(v1alpha1.ReasonNameTaken)
	})
})
