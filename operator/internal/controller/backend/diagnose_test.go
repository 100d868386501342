package backend_test

import (
	"context"
	"net"
	"slices"
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

// withoutSandbox is the status of a pod that has its node since a time.
func withoutSandbox(since metav1.Time) corev1.PodStatus {
	status := waiting("ContainerCreating", "")
	scheduled := condition(corev1.PodScheduled, since, "", "")
	scheduled.Status = corev1.ConditionTrue
	status.Conditions = []corev1.PodCondition{scheduled, condition(corev1.PodReadyToStartContainers, since, "", "")}
	return status
}

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
	Entry("a program that repeats its database's password", v1alpha1.ReasonCrashLoopBackOff,
		`ended with exit code 1 (Error): Error: parse "mongodb://***@a.example/acclaim"`,
		containerStatus(corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 1, Reason: "Error", Message: `Error: parse "mongodb://user:p@ss@a.example/acclaim"`,
		}}})),
	Entry("a program that needs more memory", v1alpha1.ReasonCrashLoopBackOff, "ended with exit code 137 (OOMKilled)",
		containerStatus(corev1.ContainerStatus{State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"},
		}})),
	Entry("no sandbox", v1alpha1.ReasonContainerNotCreated,
		"has a node and no sandbox for its container: its Events have the cause, such as a volume, the network of the node or a limit of memory",
		withoutSandbox(longAgo), withoutSandbox(sinceThe)),
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
	Entry("has no sandbox yet", withoutSandbox(justNow)),
	Entry("pulls its image", func() corev1.PodStatus {
		status := withoutSandbox(longAgo)
		status.Conditions[1].Status = corev1.ConditionTrue
		return status
	}()),
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

// names are those that a test's DNS knows.
type names []string

func (n names) find(name string) error {
	if slices.Contains(n, name) {
		return nil
	}
	if name == "broken" {
		return &net.DNSError{Err: "server misbehaving", Name: name}
	}
	return &net.DNSError{Err: "no such host", Name: name, IsTimeout: name == "unsure"}
}

func (n names) LookupHost(_ context.Context, host string) ([]string, error) { return nil, n.find(host) }

func (n names) LookupSRV(_ context.Context, service, proto, name string) (string, []*net.SRV, error) {
	return "", nil, n.find("_" + service + "._" + proto + "." + name)
}

var _ = DescribeTable("a database that does not answer",
	func(ctx context.Context, uri, cause string) {
		w := newWorld(ctx, nil)
		w.reconciler.Resolver = names{"a.example", "near." + w.backend.Namespace, "_mongodb._tcp.srv.example"}
		secret := w.secret("mongodb", "uri", uri)
		Expect(w.Update(ctx, secret)).To(Succeed())
		w.settle(ctx)
		w.beginAll(ctx)
		w.pod(ctx, "voting", containerStatus(corev1.ContainerStatus{State: running(), Started: new(true)}, condition(corev1.PodReady, longAgo, "ContainersNotReady", "")))
		w.settle(ctx)
		Expect(w.expectDegraded(v1alpha1.ReasonDatabaseUnreachable)).To(HaveSuffix("the database does not answer it" + cause))
	},
	Entry("on a host that does not exist", "mongodb://user:p%40ss@typo.example:27017/acclaim", ": lookup typo.example: no such host"),
	Entry("on one of several", "mongodb://user:secret@a.example:27017,[::1]:27017,b.example/?replicaSet=a", ": lookup b.example: no such host"),
	Entry("on hosts that exist", "mongodb://user:secret@a.example,192.0.2.1:27017", ""),
	Entry("of the namespace", "mongodb://near:27017", ""),
	Entry("on a host that DNS does not answer for", "mongodb://unsure", ""),
	Entry("on a host of a domain without a server", "mongodb://broken", ": lookup broken: server misbehaving"),
	Entry("by a record that exists", "mongodb+srv://user:secret@srv.example/acclaim", ""),
	Entry("by a record that does not exist", "mongodb+srv://user:secret@gone.example/acclaim", ": lookup gone.example: no such host"),
)

var _ = It("looks again when a pod has had the time to get its sandbox", func(ctx context.Context) {
	w := newWorld(ctx, nil)
	w.settle(ctx)
	w.play(ctx, "voting", 0, 0)
	w.pod(ctx, "voting", withoutSandbox(justNow))
	result, err := w.reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.backend)})
	Expect(err).NotTo(HaveOccurred())
	Expect(result.RequeueAfter).To(Equal(time.Second))
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
