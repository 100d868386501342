package backend

import (
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/job"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

func newProblem(reason, format string, args ...any) *status.Problem {
	return status.NewProblem(v1alpha1.Degraded, reason, format, args...)
}

// newNameTaken returns the problem of a name that belongs to something else.
func newNameTaken(kind, name string) *status.Problem {
	return newProblem(v1alpha1.ReasonNameTaken, "%s %s exists and does not belong to this Backend", kind, name)
}

// diagnose returns the first problem, in an order in which causes come before
// their effects. Messages stay the same as long as nothing changes: kubelets
// alternate between several wordings of one problem.
func diagnose(s *clusterState) *status.Problem {
	if p := status.FirstProblem(diagnoseDatabaseSecret(s), s.restoration.problem, diagnoseRegistrySecret(s), diagnoseCertificate(s)); p != nil {
		return p
	}
	for _, r := range s.want.Rollouts {
		for _, check := range []func([]corev1.Pod) *status.Problem{
			diagnoseImagePull, diagnoseCreation, diagnoseSandbox(s.now), diagnoseReadiness(s), diagnoseCrash, diagnoseScheduling,
		} {
			if p := check(s.podsOf(r.Service)); p != nil {
				return p
			}
		}
		if d := s.deployment(r); d != nil {
			if p := diagnoseDeployment(d); p != nil {
				return p
			}
		}
	}
	return status.FirstProblem(diagnoseServices(s), diagnoseGatewayAPI(s), diagnoseRoute(s), diagnoseIngress(s), diagnoseSelector(s))
}

// diagnoseSelector finds a selector of namespaces that selects none, because it is not
// valid or the operator cannot read what it asks for.
func diagnoseSelector(s *clusterState) *status.Problem {
	if s.selectorErr == nil {
		return nil
	}
	return newProblem(v1alpha1.ReasonSelectorNotUsable, "%v", s.selectorErr)
}

func diagnoseServices(s *clusterState) *status.Problem {
	if len(s.want.Rollouts) > 0 {
		return nil
	}
	return newProblem(v1alpha1.ReasonNoServices, "Every service is disabled")
}

// diagnoseIngress finds what an Ingress names and the cluster does not have. A class
// that the operator may not look up is not claimed to be missing.
func diagnoseIngress(s *clusterState) *status.Problem {
	if s.lacksIngressClass {
		p := newProblem(v1alpha1.ReasonIngressClassMissing, "IngressClass %q does not exist", *s.backend.Spec.Ingress.ClassName)
		p.Retry = errors.New(p.Message) // nothing reports its creation
		return p
	}
	if lacks := s.lacksCertificate; lacks.secret != "" {
		return newProblem(v1alpha1.ReasonTLSSecretMissing, "Secret %q with the certificate of %s does not exist", lacks.secret, lacks.host)
	}
	return nil
}

// diagnoseRoute finds an HTTPRoute that its Gateway has not taken, or whose references
// the Gateway does not resolve.
func diagnoseRoute(s *clusterState) *status.Problem {
	for _, o := range s.want.Objects {
		if o.Kind != desired.HTTPRouteKind {
			continue
		}
		if p := diagnoseHTTPRoute(s.have[objectID{o.Kind, o.Name}]); p != nil {
			return p
		}
	}
	return nil
}

// diagnoseHTTPRoute finds what a Gateway answers for an HTTPRoute, nil where there is none.
func diagnoseHTTPRoute(stored client.Object) *status.Problem {
	var parents []any
	if route, exists := stored.(*unstructured.Unstructured); exists {
		parents, _, _ = unstructured.NestedSlice(route.Object, "status", "parents")
	}
	if len(parents) == 0 {
		return newProblem(v1alpha1.ReasonRouteNotAccepted, "No Gateway has answered for the HTTPRoute yet")
	}
	for _, parent := range parents {
		answer, _ := parent.(map[string]any)
		conditions, _, _ := unstructured.NestedSlice(answer, "conditions")
		for _, condition := range conditions {
			c, _ := condition.(map[string]any)
			if (c["type"] == "Accepted" || c["type"] == "ResolvedRefs") && c["status"] != "True" {
				return newProblem(v1alpha1.ReasonRouteNotAccepted, "%v of the HTTPRoute is %v: %v: %s", c["type"], c["status"], c["reason"], job.Shorten(fmt.Sprint(c["message"])))
			}
		}
	}
	return nil
}

func diagnoseDatabaseSecret(s *clusterState) *status.Problem {
	if s.hasDatabase {
		return nil
	}
	ref := s.backend.Spec.MongoDB
	return newProblem(v1alpha1.ReasonMongoDBSecretMissing, "Secret %q with an entry %q, the URI of the database, does not exist", ref.Name, ref.Key)
}

// diagnoseRegistrySecret finds a Secret with the registry's name that belongs to
// something else; the Secret's removal wakes the controller.
func diagnoseRegistrySecret(s *clusterState) *status.Problem {
	if !s.registryTaken {
		return nil
	}
	return newNameTaken("Secret", desired.RegistrySecret(s.backend.Name))
}

// diagnoseCertificate finds a missing certificate of the services. Pods stay as they are.
func diagnoseCertificate(s *clusterState) *status.Problem {
	if s.hasCertificate {
		return nil
	}
	return newProblem(v1alpha1.ReasonTLSSecretMissing, "Secret %q with the entries %s, %s and %s, the certificate of the services, does not exist",
		s.backend.Spec.TLSSecretName, desired.CertificateKey, desired.PrivateKeyKey, desired.AuthorityKey)
}

// awaitRegistry reports a missing registry. It is not a problem: a new Backend has
// none for a moment.
func awaitRegistry(s *clusterState) *status.Problem {
	if s.hasRegistry {
		return nil
	}
	return status.NewProblem(v1alpha1.Reconciling, v1alpha1.ReasonRegistryMissing,
		"Secret %q with the extension registry does not exist yet", desired.RegistrySecret(s.backend.Name))
}

func diagnoseGatewayAPI(s *clusterState) *status.Problem {
	if s.hasGatewayAPI || s.backend.Spec.Route == nil {
		return nil
	}
	p := newProblem(v1alpha1.ReasonGatewayAPIMissing, "A route is declared and the cluster has no %s %s", desired.HTTPRouteVersion, desired.HTTPRouteKind)
	p.Retry = errors.New(p.Message) // its installation does not wake the controller
	return p
}

// eachContainer returns the first problem of a pod's container.
func eachContainer(pods []corev1.Pod, check func(*corev1.Pod, *corev1.ContainerStatus) *status.Problem) *status.Problem {
	for i := range pods {
		for j := range pods[i].Status.ContainerStatuses {
			if t := check(&pods[i], &pods[i].Status.ContainerStatuses[j]); t != nil {
				return t
			}
		}
	}
	return nil
}

func diagnoseImagePull(pods []corev1.Pod) *status.Problem {
	return eachContainer(pods, func(p *corev1.Pod, c *corev1.ContainerStatus) *status.Problem {
		waiting := c.State.Waiting
		if waiting == nil {
			return nil
		}
		switch waiting.Reason {
		case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable":
			return newProblem(v1alpha1.ReasonImagePullBackOff, "Pod %s cannot pull image %q: %s", p.Name, c.Image, describePullError(waiting))
		}
		return nil
	})
}

// describePullError returns the cause of a failed pull. Kubelets put other words
// before it every other time.
func describePullError(waiting *corev1.ContainerStateWaiting) string {
	if _, cause, ok := strings.Cut(waiting.Message, "ErrImagePull: "); ok {
		return job.Shorten(cause)
	}
	return job.Shorten(waiting.Message)
}

func diagnoseCreation(pods []corev1.Pod) *status.Problem {
	return eachContainer(pods, func(p *corev1.Pod, c *corev1.ContainerStatus) *status.Problem {
		waiting := c.State.Waiting
		if waiting == nil {
			return nil
		}
		switch waiting.Reason {
		case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
			return newProblem(v1alpha1.ReasonContainerNotCreated, "Pod %s cannot create its container: %s", p.Name, job.Shorten(waiting.Message))
		}
		return nil
	})
}

// diagnoseCrash reports how a container that is not ready ended last, whether it
// waits for its next start, starts or has just ended again.
func diagnoseCrash(pods []corev1.Pod) *status.Problem {
	return eachContainer(pods, func(p *corev1.Pod, c *corev1.ContainerStatus) *status.Problem {
		ended := c.State.Terminated
		if ended == nil {
			ended = c.LastTerminationState.Terminated
		}
		if ended == nil || c.Ready {
			return nil
		}
		message := fmt.Sprintf("Pod %s ended with exit code %d (%s)", p.Name, ended.ExitCode, ended.Reason)
		if words := job.LastLine(ended.Message); words != "" {
			message += ": " + words
		}
		return newProblem(v1alpha1.ReasonCrashLoopBackOff, "%s", message)
	})
}

func diagnoseScheduling(pods []corev1.Pod) *status.Problem {
	for _, p := range pods {
		c := podCondition(p, corev1.PodScheduled)
		if c != nil && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return newProblem(v1alpha1.ReasonUnschedulable, "Pod %s cannot be scheduled: %s", p.Name, job.Shorten(c.Message))
		}
	}
	return nil
}

// readinessTimeout limits the time from a container's start until it is ready.
const readinessTimeout = 30 * time.Second

// diagnoseReadiness finds pods whose container runs and answers its startup probe,
// and is not ready: /readyz fails for as long as the database does not answer. A
// container that was ready before is reported at once, one that never was after
// readinessTimeout.
func diagnoseReadiness(s *clusterState) func([]corev1.Pod) *status.Problem {
	cause := ""
	if s.unknownHost != "" {
		cause = fmt.Sprintf(": lookup %s", s.unknownHost)
	}
	return func(pods []corev1.Pod) *status.Problem {
		return eachContainer(pods, func(p *corev1.Pod, c *corev1.ContainerStatus) *status.Problem {
			ready := podCondition(*p, corev1.PodReady)
			if c.Ready || c.State.Running == nil || ready == nil || ready.Status == corev1.ConditionTrue {
				return nil
			}
			since := c.State.Running.StartedAt
			switch answers := c.Started != nil && *c.Started; {
			case ready.LastTransitionTime.After(since.Time):
				return newProblem(v1alpha1.ReasonDatabaseUnreachable, "Pod %s runs and is no longer ready: the database does not answer it%s", p.Name, cause)
			case answers && s.now.Sub(since.Time) >= readinessTimeout:
				return newProblem(v1alpha1.ReasonDatabaseUnreachable, "Pod %s runs and does not become ready: the database does not answer it%s", p.Name, cause)
			}
			return nil
		})
	}
}

// sandboxTimeout limits the time from when a pod has its node until it has its sandbox: its
// volumes and its network. Images are pulled only then.
const sandboxTimeout = 30 * time.Second

// sandboxDue returns the time until which a pod should have its sandbox, the zero time if it
// has one, or has no node.
func sandboxDue(p corev1.Pod) (due time.Time) {
	scheduled, sandbox := podCondition(p, corev1.PodScheduled), podCondition(p, corev1.PodReadyToStartContainers)
	if scheduled == nil || scheduled.Status != corev1.ConditionTrue || sandbox == nil || sandbox.Status != corev1.ConditionFalse {
		return due
	}
	began := scheduled.LastTransitionTime
	if began.Before(&sandbox.LastTransitionTime) { // it had one before
		began = sandbox.LastTransitionTime
	}
	return began.Add(sandboxTimeout)
}

// diagnoseSandbox finds pods without a sandbox: Kubernetes notes the cause in their Events
// alone.
func diagnoseSandbox(now time.Time) func([]corev1.Pod) *status.Problem {
	return func(pods []corev1.Pod) *status.Problem {
		for _, p := range pods {
			if due := sandboxDue(p); !due.IsZero() && !now.Before(due) {
				return newProblem(v1alpha1.ReasonContainerNotCreated,
					"Pod %s has a node and no sandbox for its container: its Events have the cause, such as a volume, the network of the node or a limit of memory", p.Name)
			}
		}
		return nil
	}
}

// untilPodsDue returns the time until the first pod without a sandbox should have one, or the
// first container that is not ready should be; 0 without one.
func untilPodsDue(s *clusterState) (first time.Duration) {
	consider := func(due time.Time) {
		if left := due.Sub(s.now); left > 0 && (first == 0 || left < first) {
			first = left
		}
	}
	for _, p := range s.pods {
		consider(sandboxDue(p))
		for _, c := range p.Status.ContainerStatuses {
			if !c.Ready && c.State.Running != nil {
				consider(c.State.Running.StartedAt.Add(readinessTimeout))
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

// diagnoseDeployment finds pods that cannot be created, and rollouts that take too
// long.
func diagnoseDeployment(d *appsv1.Deployment) *status.Problem {
	for _, c := range d.Status.Conditions {
		switch {
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue && strings.Contains(c.Message, "exceeded quota"):
			return newProblem(v1alpha1.ReasonQuotaExceeded, "Deployment %s: %s", d.Name, job.Shorten(c.Message))
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			return newProblem(v1alpha1.ReasonPodsRefused, "Deployment %s: %s", d.Name, job.Shorten(c.Message))
		case c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse:
			return newProblem(v1alpha1.ReasonProgressDeadlineExceeded, "Deployment %s: %s", d.Name, job.Shorten(c.Message))
		}
	}
	return nil
}
