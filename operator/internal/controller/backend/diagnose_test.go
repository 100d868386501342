package backend_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// waiting is the status of a pod whose container does not start.
func waiting(reason, message string) corev1.PodStatus {
	return containerStatus(corev1.ContainerStatus{
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	})
}

func containerStatus(c corev1.ContainerStatus, conditions ...corev1.PodCondition) corev1.PodStatus {
	c.Name, c.Image = "voting", "acclaim:1"
	return corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{c}, Conditions: conditions}
}

// ended is the state of a container whose program could not open its database.
func ended() *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{
		ExitCode: 1, Reason: "Error",
		Message: `{"time":"12:00:00","msg":"starting"}` + "\nError: open the database: no server answers\n",
	}
}

var (
	longAgo  = metav1.NewTime(time.Unix(1_000_000_000, 0))
	sinceThe = metav1.NewTime(time.Unix(1_000_000_100, 0))
	now      = metav1.NewTime(time.Unix(1_000_000_200, 0))
	justNow  = metav1.NewTime(now.Add(-29 * time.Second))
)

func running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: longAgo}}
}

func condition(kind corev1.PodConditionType, since metav1.Time, reason, message string) corev1.PodCondition {
	return corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: since}
}

var _ = DescribeTable("Degraded reports a problem of a pod",
	func(ctx context.Context, reason, message string, statuses ...corev1.PodStatus) {
		w := newWorld(ctx, nil)
		w.settle(ctx)
		w.beginAll(ctx)
		p := w.pod(ctx, "voting", corev1.PodStatus{})
		for i, status := range statuses {
			p.Status = status
			Expect(w.Status().Update(ctx, p)).To(Succeed())
			Expect(w.reconcile(ctx)).To(Succeed())
			Expect(w.expectDegraded(reason)).To(Equal("Pod default-voting-pod " + message))
			if i > 0 {
				Expect(w.requests.writes).To(BeEmpty(), "it is the same trouble in other words")
			}
		}
	},
	Entry("an image that is not there", v1alpha1.ReasonImagePullBackOff, `cannot pull image "acclaim:1": not found`,
		waiting("ErrImagePull", "not found"),
		waiting("ImagePullBackOff", `Back-off pulling image "acclaim:1": ErrImagePull: not found`)),
	Entry("an image with a wrong name", v1alpha1.ReasonImagePullBackOff, `cannot pull image "acclaim:1": invalid reference format`,
		waiting("InvalidImageName", "invalid reference format")),
	Entry("a container that cannot be made", v1alpha1.ReasonContainerNotCreated, "cannot create its container: secret is gone",
		waiting("CreateContainerConfigError", "secret is gone")),
	Entry("a program that ends again and again", v1alpha1.ReasonCrashLoopBackOff,
		"ended with exit code 1 (Error): Error: open the database: no server answers",
		containerStatus(corev1.ContainerStatus{State: corev1.ContainerState{Terminated: ended()}}),
		containerStatus(corev1.ContainerStatus{
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
				Reason: "CrashLoopBackOff", Message: "back-off 20s restarting failed container",
			}},
			LastTerminationState: corev1.ContainerState{Terminated: ended()},
		}),
		containerStatus(corev1.ContainerStatus{State: running(), LastTerminationState: corev1.ContainerState{Terminated: ended()}})),
	Entry("a program that needs more memory", v1alpha1.ReasonCrashLoopBackOff, "ended with exit code 137 (OOMKilled)",
		containerStatus(corev1.ContainerStatus{State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"},
		}})),
	Entry("no node for it", v1alpha1.ReasonUnschedulable, "cannot be scheduled: 0/3 nodes are available: 3 Insufficient cpu.",
		corev1.PodStatus{Conditions: []corev1.PodCondition{
			condition(corev1.PodScheduled, longAgo, corev1.PodReasonUnschedulable, "0/3 nodes are available: 3 Insufficient cpu."),
		}}),
	Entry("a database that went away", v1alpha1.ReasonDatabaseUnreachable, "runs and is no longer ready: the database does not answer it",
		containerStatus(corev1.ContainerStatus{State: running()}, condition(corev1.PodReady, sinceThe, "ContainersNotReady", "")),
		containerStatus(corev1.ContainerStatus{State: running(), LastTerminationState: corev1.ContainerState{Terminated: ended()}},
			condition(corev1.PodReady, sinceThe, "ContainersNotReady", ""))),
	Entry("a database that is not there", v1alpha1.ReasonDatabaseUnreachable, "runs and does not become ready: the database does not answer it",
		containerStatus(corev1.ContainerStatus{State: running(), Started: new(true)}, condition(corev1.PodReady, longAgo, "ContainersNotReady", ""))),
)

var _ = DescribeTable("a pod that is no trouble",
	func(ctx context.Context, status corev1.PodStatus) {
		w := newWorld(ctx, nil)
		w.settle(ctx)
		w.beginAll(ctx)
		w.pod(ctx, "voting", status)
		w.settle(ctx)
		Expect(w.condition(v1alpha1.Degraded)).To(HaveField("Status", metav1.ConditionFalse))
	},
	Entry("starts", waiting("ContainerCreating", "")),
	Entry("has not been ready yet", containerStatus(corev1.ContainerStatus{State: running()},
		condition(corev1.PodReady, longAgo, "ContainersNotReady", ""))),
	Entry("has only begun to answer", containerStatus(
		corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: justNow}}, Started: new(true)},
		condition(corev1.PodReady, longAgo, "ContainersNotReady", ""))),
	Entry("waits for its node", corev1.PodStatus{Conditions: []corev1.PodCondition{
		condition(corev1.PodScheduled, longAgo, "SchedulingGated", ""),
	}}),
	Entry("crashed once and works", containerStatus(corev1.ContainerStatus{
		State: running(), Ready: true, LastTerminationState: corev1.ContainerState{Terminated: ended()},
	})),
	Entry("was evicted", func() corev1.PodStatus {
		status := waiting("ErrImagePull", "")
		status.Phase = corev1.PodFailed
		return status
	}()),
)

var _ = DescribeTable("Degraded reports a problem of a Deployment",
	func(ctx context.Context, reason string, told appsv1.DeploymentCondition) {
		w := newWorld(ctx, nil)
		w.settle(ctx)
		w.beginAll(ctx)
		w.play(ctx, "voting", 0, 0, told)
		w.settle(ctx)
		Expect(w.expectDegraded(reason)).To(Equal("Deployment default-voting: " + told.Message))
		w.play(ctx, "voting", 2, 0)
		w.settle(ctx)
		Expect(w.condition(v1alpha1.Degraded)).To(HaveField("Status", metav1.ConditionFalse))
	},
	Entry("a quota", v1alpha1.ReasonQuotaExceeded, appsv1.DeploymentCondition{
		Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: `pods "a" is forbidden: exceeded quota: few`,
	}),
	Entry("another refusal", v1alpha1.ReasonPodsRefused, appsv1.DeploymentCondition{
		Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: `violates PodSecurity "restricted"`,
	}),
	Entry("time", v1alpha1.ReasonProgressDeadlineExceeded, appsv1.DeploymentCondition{
		Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Message: "has timed out progressing",
	}),
)

var _ = It("looks at the pods of its own only", func(ctx context.Context) {
	w := newWorld(ctx, nil)
	w.settle(ctx)
	w.play(ctx, "voting", 0, 0)
	p := w.pod(ctx, "voting", waiting("ErrImagePull", "not found"))
	p.Labels = map[string]string{"app.kubernetes.io/instance": "default"}
	Expect(w.Update(ctx, p)).To(Succeed())
	w.settle(ctx)
	Expect(w.condition(v1alpha1.Degraded)).To(HaveField("Status", metav1.ConditionFalse))
	Expect(w.Delete(ctx, p, client.GracePeriodSeconds(0))).To(Succeed())
})

var _ = It("looks again when a pod has had the time to get ready", func(ctx context.Context) {
	w := newWorld(ctx, nil)
	w.settle(ctx)
	w.play(ctx, "voting", 0, 0)
	w.pod(ctx, "voting", containerStatus(
		corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: justNow}}},
		condition(corev1.PodReady, longAgo, "ContainersNotReady", "")))
	result, err := w.reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.backend)})
	Expect(err).NotTo(HaveOccurred())
	Expect(result.RequeueAfter).To(Equal(time.Second))
})
