package desired

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// The ports of a pod.
const (
	httpPort  = 8080 // the API
	adminPort = 9090 // probes and metrics
	peerPort  = 7400 // the other pods of the service
)

// A pod that is told to stop serves on until load balancers have noticed, then
// finishes what it accepted. Kubernetes kills it when it should long be gone.
const (
	drainDelay      = 10 * time.Second
	shutdownTimeout = drainDelay + 25*time.Second
	gracePeriod     = shutdownTimeout + 10*time.Second
)

// nobody is the user and group that pods run as, those of the image.
const nobody = 65532

// DatabaseAnnotation of pods has a digest of the URI of their database.
const DatabaseAnnotation = "acclaim.dev/mongodb-uri-hash"

const (
	registryVolume = "registry"
	registryFolder = "/etc/acclaim"
)

// podTemplate returns a pod that passes the "restricted" pod security standard.
func podTemplate(b *v1alpha1.Backend, service, databaseHash string) *corev1ac.PodTemplateSpecApplyConfiguration {
	spec := corev1ac.PodSpec().
		WithServiceAccountName(serviceAccountName(b)).
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(int64(gracePeriod.Seconds())).
		WithSecurityContext(corev1ac.PodSecurityContext().
			WithRunAsNonRoot(true).
			WithRunAsUser(nobody).
			WithRunAsGroup(nobody).
			WithFSGroup(nobody).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		WithContainers(container(b, service)).
		WithVolumes(corev1ac.Volume().WithName(registryVolume).WithSecret(
			corev1ac.SecretVolumeSource().WithSecretName(RegistrySecret(b.Name)).WithDefaultMode(0o440).
				WithItems(corev1ac.KeyToPath().WithKey(RegistryKey).WithPath(RegistryKey)))).
		WithTopologySpreadConstraints(spread(b, service)).
		WithAffinity(corev1ac.Affinity().WithPodAntiAffinity(apart(b, service)))
	schedule(spec, b.Spec.Scheduling)
	for _, secret := range b.Spec.ImagePullSecrets {
		spec.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(secret.Name))
	}
	template := corev1ac.PodTemplateSpec().WithLabels(labels(b, service)).WithSpec(spec)
	if stores(service) {
		template.WithAnnotations(map[string]string{DatabaseAnnotation: databaseHash})
	}
	return template
}

// stores says whether a service has data. The sandbox service signs tokens and
// has none.
func stores(service string) bool { return service != Sandbox }

func container(b *v1alpha1.Backend, service string) *corev1ac.ContainerApplyConfiguration {
	c := corev1ac.Container().
		WithName(service).
		WithImage(b.Spec.Image).
		WithArgs(service,
			"--environment="+b.Spec.Environment,
			"--base-path="+BasePath(b),
			fmt.Sprintf("--listen=:%d", httpPort),
			fmt.Sprintf("--admin-listen=:%d", adminPort),
			"--extensions="+registryFolder+"/"+RegistryKey,
			"--drain-delay="+drainDelay.String(),
			"--shutdown-timeout="+shutdownTimeout.String()).
		WithPorts(port("http", httpPort), port("admin", adminPort)).
		WithResources(resources(declared(b, service).Resources)).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(registryVolume).WithMountPath(registryFolder).WithReadOnly(true)).
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError). // Degraded repeats it
		WithSecurityContext(corev1ac.SecurityContext().
			WithAllowPrivilegeEscalation(false).
			WithReadOnlyRootFilesystem(true).
			WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))).
		WithStartupProbe(probe("/healthz", 2, 60)).
		WithLivenessProbe(probe("/healthz", 10, 3)).
		WithReadinessProbe(probe("/readyz", 5, 2))
	if stores(service) {
		connect(c, b)
	}
	return c
}

// connect lets a container reach the database and the pods that share it.
func connect(c *corev1ac.ContainerApplyConfiguration, b *v1alpha1.Backend) {
	uri := corev1ac.SecretKeySelector().WithName(b.Spec.MongoDB.Name).WithKey(b.Spec.MongoDB.Key)
	ip := corev1ac.ObjectFieldSelector().WithAPIVersion("v1").WithFieldPath("status.podIP")
	c.WithEnv(
		corev1ac.EnvVar().WithName("ACCLAIM_MONGODB_URI").WithValueFrom(corev1ac.EnvVarSource().WithSecretKeyRef(uri)),
		corev1ac.EnvVar().WithName("POD_IP").WithValueFrom(corev1ac.EnvVarSource().WithFieldRef(ip)))
	c.WithArgs(
		fmt.Sprintf("--peer-listen=:%d", peerPort),
		"--peer-advertise=$(POD_IP)") // with that port, also where the IP is of version 6
	c.WithPorts(port("peer", peerPort))
}

func port(name string, number int32) *corev1ac.ContainerPortApplyConfiguration {
	return corev1ac.ContainerPort().WithName(name).WithContainerPort(number).WithProtocol(corev1.ProtocolTCP)
}

// probe asks the admin listener every so many seconds.
func probe(path string, period, failures int32) *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().
		WithHTTPGet(corev1ac.HTTPGetAction().WithPath(path).WithPort(intstr.FromString("admin"))).
		WithPeriodSeconds(period).
		WithTimeoutSeconds(3).
		WithFailureThreshold(failures)
}

// resources returns what is declared, with requests where neither a request nor
// a limit stands: schedulers and autoscalers need one.
func resources(r *corev1.ResourceRequirements) *corev1ac.ResourceRequirementsApplyConfiguration {
	if r == nil {
		r = &corev1.ResourceRequirements{}
	}
	requests := r.Requests.DeepCopy()
	if requests == nil {
		requests = corev1.ResourceList{}
	}
	for resource, least := range map[corev1.ResourceName]resource.Quantity{
		corev1.ResourceCPU:    resource.MustParse("50m"),
		corev1.ResourceMemory: resource.MustParse("256Mi"),
	} {
		_, requested := requests[resource]
		_, limited := r.Limits[resource]
		if !requested && !limited {
			requests[resource] = least
		}
	}
	all := corev1ac.ResourceRequirements()
	if len(requests) > 0 {
		all.WithRequests(requests)
	}
	if len(r.Limits) > 0 {
		all.WithLimits(r.Limits)
	}
	return all
}

// spread asks for the pods of one version of a service to be on different nodes,
// and takes them together rather than not at all.
func spread(b *v1alpha1.Backend, service string) *corev1ac.TopologySpreadConstraintApplyConfiguration {
	return corev1ac.TopologySpreadConstraint().
		WithTopologyKey(corev1.LabelHostname).
		WithMaxSkew(1).
		WithWhenUnsatisfiable(corev1.ScheduleAnyway).
		WithLabelSelector(selector(b, service)).
		WithMatchLabelKeys(versionLabel)
}

// apart asks for them to be in different zones. It is no second constraint like
// that of nodes: of a node that lacks the label of one, where a cluster has no
// zones, the scheduler would ignore both.
func apart(b *v1alpha1.Backend, service string) *corev1ac.PodAntiAffinityApplyConfiguration {
	return corev1ac.PodAntiAffinity().WithPreferredDuringSchedulingIgnoredDuringExecution(
		corev1ac.WeightedPodAffinityTerm().WithWeight(100).WithPodAffinityTerm(corev1ac.PodAffinityTerm().
			WithTopologyKey(corev1.LabelTopologyZone).
			WithLabelSelector(selector(b, service)).
			WithMatchLabelKeys(versionLabel)))
}

// versionLabel is what the pods of one version of a Deployment have in common.
const versionLabel = "pod-template-hash"

func schedule(spec *corev1ac.PodSpecApplyConfiguration, s v1alpha1.Scheduling) {
	if len(s.NodeSelector) > 0 {
		spec.WithNodeSelector(s.NodeSelector)
	}
	if s.PriorityClassName != "" {
		spec.WithPriorityClassName(s.PriorityClassName)
	}
	for _, t := range s.Tolerations {
		spec.WithTolerations(&corev1ac.TolerationApplyConfiguration{
			Key:               set(t.Key),
			Operator:          set(t.Operator),
			Value:             set(t.Value),
			Effect:            set(t.Effect),
			TolerationSeconds: t.TolerationSeconds,
		})
	}
}

// set returns nil for the empty text, which is not to be owned.
func set[T ~string](text T) *T {
	if text == "" {
		return nil
	}
	return &text
}
