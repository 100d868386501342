// Package desired computes the Kubernetes objects that a Backend consists of: pure
// functions from its spec to apply configurations, which hold the fields that the
// operator owns and no others.
//
// It has no client, and its results depend on its arguments alone.
package desired

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// Labels that every object has. The values of those below are the Backend's
// name, the service's name where the object is one service's, and Operator.
const (
	BackendLabel  = "app.kubernetes.io/instance"
	ServiceLabel  = "app.kubernetes.io/component"
	OperatorLabel = "app.kubernetes.io/managed-by"

	Operator = "acclaim-operator"
)

// The services of a Backend.
const (
	Voting       = "voting"
	Accumulation = "accumulation"
	Ranking      = "ranking"
	State        = "state"
	GameLink     = "gamelink"
	Sandbox      = "sandbox"
)

// metrics is the component of the Service for monitoring, which the chart's
// ServiceMonitor selects.
const metrics = "metrics"

// RegistryKey is the entry of the registry Secret that the services read.
const RegistryKey = "extensions.yaml"

// The annotations of the registry Secret with which a voting service is still found
// after its Backend was deleted.
const (
	PathAnnotation        = "acclaim.dev/base-path"
	EnvironmentAnnotation = "acclaim.dev/environment"
	TLSSecretAnnotation   = "acclaim.dev/tls-secret" // only where the services use TLS
)

// The entries of the Secret with the certificate of the services, as cert-manager writes
// them.
const (
	CertificateKey = "tls.crt"
	PrivateKeyKey  = "tls.key"
	AuthorityKey   = "ca.crt"
)

// RegistrySecret names the Secret that holds the extension registry of a
// Backend. It is not among the objects below: its content comes from Extensions.
func RegistrySecret(backend string) string { return backend + "-registry" }

// Object is one object to apply.
type Object struct {
	Kind, Name string
	// Config is an apply configuration of client-go or, for kinds that it does not
	// know, *unstructured.Unstructured.
	Config any
}

// Rollout is the Deployment of one service.
type Rollout struct {
	Service    string
	Deployment *appsv1ac.DeploymentApplyConfiguration
	// Start is the number of pods that an autoscaled service starts with; its
	// Deployment sets none.
	Start *int32
}

// Set is everything that a Backend consists of.
type Set struct {
	// Objects are applied at once.
	Objects []Object
	// Rollouts are applied one after the other, in this order.
	Rollouts []Rollout
}

// Backend returns the objects of a Backend. Pods are replaced when databaseVersion, the
// version of the Secret with the database's URI, changes.
func Backend(b *v1alpha1.Backend, databaseVersion string) Set {
	set := Set{Objects: []Object{serviceAccount(b), networkPolicy(b), metricsService(b)}}
	if signsResults(b) {
		set.Objects = append(set.Objects, markObjects(b)...)
	}
	for _, service := range Services(b) {
		set.Objects = append(set.Objects, clusterService(b, service), disruptionBudget(b, service))
		rollout := Rollout{Service: service, Deployment: deployment(b, service, databaseVersion)}
		if scaling := declaredService(b, service).Autoscaling; scaling != nil && !b.Spec.Suspend {
			set.Objects = append(set.Objects, autoscaler(b, service, scaling))
			rollout.Start = &scaling.MinReplicas
		}
		set.Rollouts = append(set.Rollouts, rollout)
	}
	switch {
	case len(set.Rollouts) == 0: // no service to route to
	case b.Spec.Ingress != nil:
		set.Objects = append(set.Objects, ingress(b))
	case b.Spec.Route != nil:
		set.Objects = append(set.Objects, httpRoutes(b)...)
	}
	return set
}

// Services returns the services that a Backend runs, in the order in which they
// are rolled out.
func Services(b *v1alpha1.Backend) []string {
	var enabled []string
	for _, s := range declarations(b) {
		absent := s.name == Sandbox && b.Spec.Environment != Sandbox || s.name == GameLink && s.declared == nil
		if !absent && (s.declared == nil || !s.declared.Disabled) {
			enabled = append(enabled, s.name)
		}
	}
	return enabled
}

// declaration is a service as a Backend declares it; declared is nil where it does not.
type declaration struct {
	name     string
	declared *v1alpha1.Service
}

// declarations returns all services in the order in which they are rolled out.
func declarations(b *v1alpha1.Backend) []declaration {
	s := &b.Spec.Services
	return []declaration{
		{Voting, s.Voting}, {Accumulation, s.Accumulation}, {Ranking, s.Ranking}, {State, s.State}, {GameLink, s.GameLink}, {Sandbox, s.Sandbox},
	}
}

// defaultPath is the path in front of the routes that no Backend has to declare.
const defaultPath = "/v1"

// BasePath is the path in front of the routes, the same inside the cluster and
// outside.
func BasePath(b *v1alpha1.Backend) string {
	var path string
	switch {
	case b.Spec.Ingress != nil:
		path = b.Spec.Ingress.Path
	case b.Spec.Route != nil:
		path = b.Spec.Route.Path
	}
	return cmp.Or(path, defaultPath)
}

// Scheme returns the scheme of the API's address inside of the cluster.
func Scheme(b *v1alpha1.Backend) string {
	if b.Spec.TLSSecretName != "" {
		return "https"
	}
	return "http"
}

// HostName returns the name of a service inside of the cluster, for which its certificate
// is valid.
func HostName(b *v1alpha1.Backend, service string) string {
	return objectName(b, service) + "." + b.Namespace + ".svc"
}

// TokenPath returns the path of a service, below the base path, that reads little and needs
// a token; empty where a service has none.
func TokenPath(service string) string {
	return map[string]string{
		Voting:       "/vote_config",
		Accumulation: "/accumulate",
		Ranking:      "/rank_config",
		State:        "/channel_state",
	}[service]
}

// IssuesTokens reports whether a service signs tokens with the keys of the registry for
// callers that have none: anyone, or a game that was paired before.
func IssuesTokens(service string) bool { return service == Sandbox || service == GameLink }

// declaredService returns the declaration of a service.
func declaredService(b *v1alpha1.Backend, service string) v1alpha1.Service {
	for _, s := range declarations(b) {
		if s.name == service && s.declared != nil {
			return *s.declared
		}
	}
	return v1alpha1.Service{}
}

// objectName returns the name of a service's objects.
func objectName(b *v1alpha1.Backend, service string) string { return b.Name + "-" + service }

// objectLabels returns the labels of an object of a service or, if service is
// empty, of the whole Backend.
func objectLabels(b *v1alpha1.Backend, service string) map[string]string {
	all := map[string]string{
		"app.kubernetes.io/name":    "acclaim",
		"app.kubernetes.io/part-of": "acclaim",
		BackendLabel:                b.Name,
		OperatorLabel:               Operator,
	}
	if service != "" {
		all[ServiceLabel] = service
	}
	return all
}

// podSelector selects the pods of the Backend or of a service. A Deployment's is
// immutable, so it has only labels that never change.
func podSelector(b *v1alpha1.Backend, service string) *metav1ac.LabelSelectorApplyConfiguration {
	return metav1ac.LabelSelector().WithMatchLabels(selectorLabels(b, service))
}

func selectorLabels(b *v1alpha1.Backend, service string) map[string]string {
	all := objectLabels(b, service)
	delete(all, "app.kubernetes.io/part-of")
	return all
}

// BelongsTo reports whether a stored object is one that the operator made for a
// Backend. So is an object of the operator's without an owner: its Backend was
// deleted without its dependents.
func BelongsTo(o metav1.Object, b *v1alpha1.Backend) bool {
	orphan := metav1.GetControllerOf(o) == nil && o.GetLabels()[OperatorLabel] == Operator
	return orphan || metav1.IsControlledBy(o, b)
}

// ownerReference makes the garbage collector delete objects with their Backend.
func ownerReference(b *v1alpha1.Backend) *metav1ac.OwnerReferenceApplyConfiguration {
	return Owner("Backend", b)
}
