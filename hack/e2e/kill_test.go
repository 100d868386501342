package e2e_test

import (
	"context"
	"os"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kill ends the program of a pod without asking it, and waits until the kubelet
// has started it again.
func (w *world) kill(ctx context.Context, victim *corev1.Pod) {
	before := victim.Status.ContainerStatuses[0].RestartCount
	killer := &corev1.Pod{ObjectMeta: w.named("killer"), Spec: corev1.PodSpec{
		NodeName:      victim.Spec.NodeName,
		HostPID:       true,
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{
			Name:            "kill",
			Image:           os.Getenv("ACCLAIM_E2E_KILL_IMAGE"),
			Args:            []string{victim.Name},
			SecurityContext: &corev1.SecurityContext{Privileged: new(true)},
		}},
	}}
	Expect(w.Create(ctx, killer)).To(Succeed())
	restarts := func() (int32, error) {
		err := w.Get(ctx, client.ObjectKeyFromObject(victim), victim)
		return victim.Status.ContainerStatuses[0].RestartCount, err
	}
	Eventually(ctx, restarts).Should(BeNumerically(">", before))
	Expect(w.Delete(ctx, killer)).To(Succeed())
}
