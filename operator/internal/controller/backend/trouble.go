package backend

import (
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
)

// trouble is what a person should know of.
type trouble struct {
	reason, message string
	err             error // not nil when trying again may help though nothing changes
}

// retry returns the error that makes the controller try again.
func (t *trouble) retry() error {
	if t == nil {
		return nil
	}
	return t.err
}

func troubled(reason, format string, args ...any) *trouble {
	return &trouble{reason: reason, message: fmt.Sprintf(format, args...)}
}

// diagnose returns the first thing that is wrong, in an order in which causes
// come before what follows from them. Messages are the same as long as nothing
// changes: kubelets alternate between ways to say one thing.
func diagnose(w *world) *trouble {
	if t := databaseSecret(w); t != nil {
		return t
	}
	for _, r := range w.want.Rollouts {
		for _, check := range []func([]corev1.Pod) *trouble{imagePull, notCreated, databaseUnreachable(w.now), crashLoop, unschedulable} {
			if t := check(w.podsOf(r.Service)); t != nil {
				return t
			}
		}
		if d := w.deployment(r); d != nil {
			if t := deploymentTrouble(d); t != nil {
				return t
			}
		}
	}
	return gatewayAPI(w)
}

func databaseSecret(w *world) *trouble {
	if w.database {
		return nil
	}
	ref := w.backend.Spec.MongoDB
	return troubled(v1alpha1.ReasonMongoDBSecretMissing, "Secret %q with an entry %q, the URI of the database, does not exist", ref.Name, ref.Key)
}

// registrySecret is no trouble: a new Backend has none for a moment.
func registrySecret(w *world) *trouble {
	if w.registry {
		return nil
	}
	return troubled(v1alpha1.ReasonRegistryMissing, "Secret %q with the extension registry does not exist yet", desired.RegistrySecret(w.backend.Name))
}

func gatewayAPI(w *world) *trouble {
	if w.routes || w.backend.Spec.Route == nil {
		return nil
	}
	t := troubled(v1alpha1.ReasonGatewayAPIMissing, "A route is declared and the cluster has no %s %s", desired.HTTPRouteVersion, desired.HTTPRouteKind)
	t.err = errors.New(t.message) // nobody tells when it is there
	return t
}

// eachContainer returns the first trouble of a pod's container.
func eachContainer(pods []corev1.Pod, check func(*corev1.Pod, *corev1.ContainerStatus) *trouble) *trouble {
	for i := range pods {
		for j := range pods[i].Status.ContainerStatuses {
			if t := check(&pods[i], &pods[i].Status.ContainerStatuses[j]); t != nil {
				return t
			}
		}
	}
	return nil
}

func imagePull(pods []corev1.Pod) *trouble {
	return eachContainer(pods, func(p *corev1.Pod, c *corev1.ContainerStatus) *trouble {
		waiting := c.State.Waiting
		if waiting == nil {
			return nil
		}
		switch waiting.Reason {
		case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable":
			return troubled(v1alpha1.ReasonImagePullBackOff, "Pod %s cannot pull image %q: %s", p.Name, c.Image, pullError(waiting))
		}
		return nil
	})
}

// pullError returns why an image cannot be pulled: kubelets put it behind other
// words every other time.
func pullError(waiting *corev1.ContainerStateWaiting) string {
	if _, cause, ok := strings.Cut(waiting.Message, "ErrImagePull: "); ok {
		return shorten(cause)
	}
	return shorten(waiting.Message)
}

func notCreated(pods []corev1.Pod) *trouble {
	return eachContainer(pods, func(p *corev1.Pod, c *corev1.ContainerStatus) *trouble {
		waiting := c.State.Waiting
		if waiting == nil {
			return nil
		}
		switch waiting.Reason {
		case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
			return troubled(v1alpha1.ReasonContainerNotCreated, "Pod %s cannot create its container: %s", p.Name, shorten(waiting.Message))
		}
		return nil
	})
}

// crashLoop looks at how a container that is not ready ended last, whether it
// waits for its next start, starts or has just ended again.
func crashLoop(pods []corev1.Pod) *trouble {
	return eachContainer(pods, func(p *corev1.Pod, c *corev1.ContainerStatus) *trouble {
		ended := c.State.Terminated
		if ended == nil {
			ended = c.LastTerminationState.Terminated
		}
		if ended == nil || c.Ready {
			return nil
		}
		message := fmt.Sprintf("Pod %s ended with exit code %d (%s)", p.Name, ended.ExitCode, ended.Reason)
		if words := lastLine(ended.Message); words != "" {
			message += ": " + words
		}
		return troubled(v1alpha1.ReasonCrashLoopBackOff, "%s", message)
	})
}

func unschedulable(pods []corev1.Pod) *trouble {
	for _, p := range pods {
		c := podCondition(p, corev1.PodScheduled)
		if c != nil && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return troubled(v1alpha1.ReasonUnschedulable, "Pod %s cannot be scheduled: %s", p.Name, shorten(c.Message))
		}
	}
	return nil
}

// patience is how long a container may run before it has to be ready.
const patience = 30 * time.Second

// databaseUnreachable finds pods whose container runs and answers, as its startup
// probe says, and is not ready: /readyz fails for as long as the database does not
// answer. One that was ready before is found at once, one that never was when it
// had the time for it. Those on their way out are not among the pods.
func databaseUnreachable(now time.Time) func([]corev1.Pod) *trouble {
	return func(pods []corev1.Pod) *trouble {
		return eachContainer(pods, func(p *corev1.Pod, c *corev1.ContainerStatus) *trouble {
			ready := podCondition(*p, corev1.PodReady)
			if c.Ready || c.State.Running == nil || ready == nil || ready.Status == corev1.ConditionTrue {
				return nil
			}
			since := c.State.Running.StartedAt
			switch answers := c.Started != nil && *c.Started; {
			case ready.LastTransitionTime.After(since.Time):
				return troubled(v1alpha1.ReasonDatabaseUnreachable, "Pod %s runs and is no longer ready: the database does not answer it", p.Name)
			case answers && now.Sub(since.Time) >= patience:
				return troubled(v1alpha1.ReasonDatabaseUnreachable, "Pod %s runs and does not become ready: the database does not answer it", p.Name)
			}
			return nil
		})
	}
}

// patient returns how long it takes until some container that is not ready should
// have been, 0 when there is none to wait for.
func patient(w *world) time.Duration {
	var first time.Duration
	for _, p := range w.pods {
		for _, c := range p.Status.ContainerStatuses {
			if c.Ready || c.State.Running == nil {
				continue
			}
			left := c.State.Running.StartedAt.Add(patience).Sub(w.now)
			if left > 0 && (first == 0 || left < first) {
				first = left
			}
		}
	}
	return first
}

func podCondition(p corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// deploymentTrouble is about pods that there are not, and about time.
func deploymentTrouble(d *appsv1.Deployment) *trouble {
	for _, c := range d.Status.Conditions {
		switch {
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue && strings.Contains(c.Message, "exceeded quota"):
			return troubled(v1alpha1.ReasonQuotaExceeded, "Deployment %s: %s", d.Name, shorten(c.Message))
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			return troubled(v1alpha1.ReasonPodsRefused, "Deployment %s: %s", d.Name, shorten(c.Message))
		case c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse:
			return troubled(v1alpha1.ReasonProgressDeadlineExceeded, "Deployment %s: %s", d.Name, shorten(c.Message))
		}
	}
	return nil
}

// lastLine returns the last line that is not empty, which is where a program
// says why it ends.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return shorten(strings.TrimSpace(lines[len(lines)-1]))
}

// shorten bounds what is repeated of somebody else's message, in bytes.
func shorten(text string) string {
	const most = 512
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
