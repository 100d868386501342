package desired

import (
	"encoding/json"
	"fmt"
	"slices"
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
	// maintenancePort is reached from inside of the pod only: by port-forward.
	maintenancePort = 9091
	peerPort        = 7400 // for the other pods of the service
)

// A terminating pod serves on for drainDelay, until load balancers have noticed,
// then finishes accepted requests. Kubernetes kills it after gracePeriod, when it
// should have ended long before.
const (
	drainDelay      = 10 * time.Second
	shutdownTimeout = drainDelay + 25*time.Second
	gracePeriod     = shutdownTimeout + 10*time.Second
)

// unprivilegedID is the user and group that pods run as, those of the image.
const unprivilegedID = 65532

// DatabaseAnnotation is the annotation of pods with the version of the Secret with their
// database's URI. A hash of the URI would confirm a guess at its password.
const DatabaseAnnotation = "acclaim.dev/mongodb-secret-version"

// APIPort is the port of a pod that serves the API, and RegistryFile the file of a pod with
// its extension registry.
const (
	APIPort      = httpPort
	RegistryFile = registryFolder + "/" + RegistryKey
)

// ResultLogKey is the entry of a Secret with the key that signs results.
const ResultLogKey = "result-log.pem"

const (
	registryVolume = "registry"
	registryFolder = "/etc/acclaim"

	certificateVolume = "certificate"
	certificateFolder = "/etc/acclaim-tls"

	resultLogVolume = "result-log"
	resultLogFolder = "/etc/acclaim-result-log"

	// databaseFolder has the entries of the Secret with the URI, which names files by it: an
	// authority's certificates or the client's.
	databaseVolume = "database"
	databaseFolder = "/etc/acclaim-database"
)

// podTemplate returns a pod template that meets the "restricted" pod security
// standard.
func podTemplate(b *v1alpha1.Backend, service, databaseVersion string) *corev1ac.PodTemplateSpecApplyConfiguration {
	spec := corev1ac.PodSpec().
		WithServiceAccountName(serviceAccountName(b)).
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(int64(gracePeriod.Seconds())).
		WithSecurityContext(podSecurity()).
		WithContainers(container(b, service)).
		WithVolumes(corev1ac.Volume().WithName(registryVolume).WithSecret(
			corev1ac.SecretVolumeSource().WithSecretName(RegistrySecret(b.Name)).WithDefaultMode(0o440).
				WithItems(corev1ac.KeyToPath().WithKey(RegistryKey).WithPath(RegistryKey))))
	if b.Spec.TLSSecretName != "" {
		addCertificate(spec, b.Spec.TLSSecretName)
	}
	if signsResults(b) && service == Voting {
		addResultLog(spec, b)
	}
	if hasData(service) {
		addDatabaseFiles(spec, b.Spec.MongoDB.Name)
	}
	addScheduling(spec, b, service)
	for _, secret := range b.Spec.ImagePullSecrets {
		spec.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(secret.Name))
	}
	template := corev1ac.PodTemplateSpec().
		WithLabels(b.Spec.PodTemplate.Labels).
		WithLabels(objectLabels(b, service)).
		WithAnnotations(b.Spec.PodTemplate.Annotations).
		WithSpec(spec)
	if hasData(service) {
		template.WithAnnotations(map[string]string{DatabaseAnnotation: databaseVersion})
	}
	return template
}

func podSecurity() *corev1ac.PodSecurityContextApplyConfiguration {
	return corev1ac.PodSecurityContext().
		WithRunAsNonRoot(true).
		WithRunAsUser(unprivilegedID).
		WithRunAsGroup(unprivilegedID).
		WithFSGroup(unprivilegedID).
		WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))
}

func containerSecurity() *corev1ac.SecurityContextApplyConfiguration {
	return corev1ac.SecurityContext().
		WithAllowPrivilegeEscalation(false).
		WithReadOnlyRootFilesystem(true).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))
}

// addCertificate makes the container of a pod serve the API with TLS.
func addCertificate(spec *corev1ac.PodSpecApplyConfiguration, secret string) {
	source := corev1ac.SecretVolumeSource().WithSecretName(secret).WithDefaultMode(0o440)
	for _, key := range []string{CertificateKey, PrivateKeyKey} {
		source.WithItems(corev1ac.KeyToPath().WithKey(key).WithPath(key))
	}
	spec.WithVolumes(corev1ac.Volume().WithName(certificateVolume).WithSecret(source))
	spec.Containers[0].
		WithArgs("--tls-cert="+certificateFolder+"/"+CertificateKey, "--tls-key="+certificateFolder+"/"+PrivateKeyKey).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(certificateVolume).WithMountPath(certificateFolder).WithReadOnly(true))
}

// addResultLog has the container of a pod sign the results of polls. It is the only one with a token of
// the API server, where it keeps its mark.
func addResultLog(spec *corev1ac.PodSpecApplyConfiguration, b *v1alpha1.Backend) {
	log := b.Spec.ResultLog
	spec.WithVolumes(accountFiles(), corev1ac.Volume().WithName(resultLogVolume).WithSecret(
		corev1ac.SecretVolumeSource().WithSecretName(log.KeySecretName).WithDefaultMode(0o440).
			WithItems(corev1ac.KeyToPath().WithKey(ResultLogKey).WithPath(ResultLogKey))))
	spec.Containers[0].
		WithArgs("--result-log-key="+resultLogFolder+"/"+ResultLogKey, "--result-log-origin="+log.Origin, "--result-log-mark=configmap:"+markName(b)).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(accountVolume).WithMountPath(accountFolder).WithReadOnly(true)).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(resultLogVolume).WithMountPath(resultLogFolder).WithReadOnly(true))
}

// addDatabaseFiles gives the container of a pod the Secret with its database's URI as files.
// A Secret that is missing keeps the container from starting, with a plainer message than
// that of a volume.
func addDatabaseFiles(spec *corev1ac.PodSpecApplyConfiguration, secret string) {
	spec.WithVolumes(corev1ac.Volume().WithName(databaseVolume).WithSecret(
		corev1ac.SecretVolumeSource().WithSecretName(secret).WithDefaultMode(0o440).WithOptional(true)))
	spec.Containers[0].WithVolumeMounts(
		corev1ac.VolumeMount().WithName(databaseVolume).WithMountPath(databaseFolder).WithReadOnly(true))
}

// hasData reports whether a service stores data. The sandbox service signs tokens
// and stores none.
func hasData(service string) bool { return service != Sandbox }

func container(b *v1alpha1.Backend, service string) *corev1ac.ContainerApplyConfiguration {
	c := corev1ac.Container().
		WithName(service).
		WithImage(b.Spec.Image).
		WithArgs(service,
			"--environment="+b.Spec.Environment,
			"--base-path="+BasePath(b),
			fmt.Sprintf("--listen=:%d", httpPort),
			fmt.Sprintf("--admin-listen=:%d", adminPort),
			fmt.Sprintf("--maintenance-listen=127.0.0.1:%d", maintenancePort),
			"--extensions="+RegistryFile,
			"--drain-delay="+drainDelay.String(),
			"--shutdown-timeout="+shutdownTimeout.String()).
		WithPorts(port("http", httpPort), port("admin", adminPort)).
		WithResources(resources(declaredService(b, service).Resources)).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(registryVolume).WithMountPath(registryFolder).WithReadOnly(true)).
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError). // Degraded repeats it
		WithSecurityContext(containerSecurity()).
		WithStartupProbe(probe("/healthz", 2, 60)).
		WithLivenessProbe(probe("/healthz", 10, 3)).
		WithReadinessProbe(probe("/readyz", 5, 2))
	if service == State && b.Spec.AllowPrivateSinks {
		c.WithArgs("--sink-allow-private")
	}
	if service == State && slices.Contains(Services(b), GameLink) {
		c.WithEnv(corev1ac.EnvVar().WithName("ACCLAIM_GAMES").WithValue("true")) // POST /pin is for them
	}
	if hasData(service) {
		addConnections(c, b)
	}
	c.ImagePullPolicy = optional(b.Spec.PodTemplate.ImagePullPolicy)
	addVariables(c, b.Spec.PodTemplate.Env)
	return c
}

// addVariables adds declared environment variables to a container.
func addVariables(c *corev1ac.ContainerApplyConfiguration, declared []corev1.EnvVar) {
	for _, variable := range declared {
		applied := convert[corev1ac.EnvVarApplyConfiguration](variable)
		if source := applied.ValueFrom; source != nil && source.FieldRef != nil && source.FieldRef.APIVersion == nil {
			source.FieldRef.WithAPIVersion("v1") // as the API server, whose addition would be drift
		}
		c.WithEnv(applied)
	}
}

// addConnections configures the database of a container and the pods that share it.
func addConnections(c *corev1ac.ContainerApplyConfiguration, b *v1alpha1.Backend) {
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

// probe returns a probe of the admin port with a period in seconds.
func probe(path string, period, failures int32) *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().
		WithHTTPGet(corev1ac.HTTPGetAction().WithPath(path).WithPort(intstr.FromString("admin"))).
		WithPeriodSeconds(period).
		WithTimeoutSeconds(3).
		WithFailureThreshold(failures)
}

// resources returns the declared resources. It adds a request where neither a request
// nor a limit is declared: schedulers and autoscalers need one. It adds a limit of memory,
// from which a process derives all its budgets: without one each takes half of its machine.
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
	limits := r.Limits.DeepCopy()
	if _, limited := limits[corev1.ResourceMemory]; !limited {
		memory := resource.MustParse("1Gi")
		if requested := requests[corev1.ResourceMemory]; requested.Cmp(memory) > 0 {
			memory = requested
		}
		if limits == nil {
			limits = corev1.ResourceList{}
		}
		limits[corev1.ResourceMemory] = memory
	}
	all := corev1ac.ResourceRequirements().WithLimits(limits)
	if len(requests) > 0 {
		all.WithRequests(requests)
	}
	return all
}

// spreadOverNodes prefers different nodes for the pods of one version of a service,
// without requiring them.
func spreadOverNodes(b *v1alpha1.Backend, service string) *corev1ac.TopologySpreadConstraintApplyConfiguration {
	return corev1ac.TopologySpreadConstraint().
		WithTopologyKey(corev1.LabelHostname).
		WithMaxSkew(1).
		WithWhenUnsatisfiable(corev1.ScheduleAnyway).
		WithLabelSelector(podSelector(b, service)).
		WithMatchLabelKeys(versionLabel)
}

// spreadOverZones prefers different zones for them. A second topology constraint
// would not do: in a cluster without zones, whose nodes lack the label, the
// scheduler would ignore both constraints.
func spreadOverZones(b *v1alpha1.Backend, service string) *corev1ac.PodAntiAffinityApplyConfiguration {
	return corev1ac.PodAntiAffinity().WithPreferredDuringSchedulingIgnoredDuringExecution(
		corev1ac.WeightedPodAffinityTerm().WithWeight(100).WithPodAffinityTerm(corev1ac.PodAffinityTerm().
			WithTopologyKey(corev1.LabelTopologyZone).
			WithLabelSelector(podSelector(b, service)).
			WithMatchLabelKeys(versionLabel)))
}

// versionLabel is the label that the pods of one version of a Deployment share.
const versionLabel = "pod-template-hash"

// addScheduling adds the declared scheduling to a pod of a service, and a preference of
// different nodes and zones where that declares nothing.
func addScheduling(spec *corev1ac.PodSpecApplyConfiguration, b *v1alpha1.Backend, service string) {
	s := b.Spec.Scheduling
	spec.WithAffinity(corev1ac.Affinity())
	if s.Affinity != nil {
		spec.WithAffinity(convert[corev1ac.AffinityApplyConfiguration](s.Affinity))
	}
	if spec.Affinity.PodAntiAffinity == nil {
		spec.Affinity.WithPodAntiAffinity(spreadOverZones(b, service))
	}
	if len(s.TopologySpreadConstraints) == 0 {
		spec.WithTopologySpreadConstraints(spreadOverNodes(b, service))
	}
	for _, declared := range s.TopologySpreadConstraints {
		constraint := convert[corev1ac.TopologySpreadConstraintApplyConfiguration](declared)
		if constraint.LabelSelector == nil {
			constraint.WithLabelSelector(podSelector(b, service))
		}
		spec.WithTopologySpreadConstraints(constraint)
	}
	addNodes(spec, s)
}

// addNodes adds which nodes may run a pod, and how urgently.
func addNodes(spec *corev1ac.PodSpecApplyConfiguration, s v1alpha1.Scheduling) {
	if len(s.NodeSelector) > 0 {
		spec.WithNodeSelector(s.NodeSelector)
	}
	if s.PriorityClassName != "" {
		spec.WithPriorityClassName(s.PriorityClassName)
	}
	for _, t := range s.Tolerations {
		spec.WithTolerations(&corev1ac.TolerationApplyConfiguration{
			Key:               optional(t.Key),
			Operator:          optional(t.Operator),
			Value:             optional(t.Value),
			Effect:            optional(t.Effect),
			TolerationSeconds: t.TolerationSeconds,
		})
	}
}

// convert returns the apply configuration of a declared value: both have one form in JSON.
func convert[T any](declared any) *T {
	var converted T
	content, err := json.Marshal(declared)
	if err == nil {
		err = json.Unmarshal(content, &converted)
	}
	if err != nil {
		panic(err) // the API server has read the value from JSON
	}
	return &converted
}

// optional returns nil for the empty text, so that the operator does not own the
// field.
func optional[T ~string](text T) *T {
	if text == "" {
		return nil
	}
	return &text
}
