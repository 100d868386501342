// Package desired says which Kubernetes objects a Backend consists of: pure
// functions from what is declared to apply configurations, which hold the fields
// that the operator owns and no others.
//
// It may not have a client, and what it returns rests on its arguments alone.
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
	Sandbox      = "sandbox"
)

// metrics is the component of what is there for monitoring. The chart's
// ServiceMonitor selects it.
const metrics = "metrics"

// RegistryKey is the entry of the registry Secret that the services read.
const RegistryKey = "extensions.yaml"

// RegistrySecret names the Secret that holds the extension registry of a
// Backend. It is not among the objects below: what is in it comes from
// Extensions.
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
	// Start is the number of pods that an autoscaled service begins with; its
	// Deployment does not say.
	Start *int32
}

// Set is everything that a Backend consists of.
type Set struct {
	// Objects come into force at once.
	Objects []Object
	// Rollouts come into force one after the other, in this order.
	Rollouts []Rollout
}

// Backend returns what a Backend consists of. Pods are replaced when
// databaseHash, a digest of the database's URI, is another one.
func Backend(b *v1alpha1.Backend, databaseHash string) Set {
	set := Set{Objects: []Object{serviceAccount(b), networkPolicy(b), metricsService(b)}}
	for _, service := range Services(b) {
		set.Objects = append(set.Objects, clusterService(b, service), disruptionBudget(b, service))
		rollout := Rollout{Service: service, Deployment: deployment(b, service, databaseHash)}
		if scaling := declared(b, service).Autoscaling; scaling != nil {
			set.Objects = append(set.Objects, autoscaler(b, service, scaling))
			rollout.Start = &scaling.MinReplicas
		}
		set.Rollouts = append(set.Rollouts, rollout)
	}
	switch {
	case len(set.Rollouts) == 0: // nothing to lead to
	case b.Spec.Ingress != nil:
		set.Objects = append(set.Objects, ingress(b))
	case b.Spec.Route != nil:
		set.Objects = append(set.Objects, httpRoute(b))
	}
	return set
}

// Services returns the services that a Backend runs, in the order in which they
// are rolled out.
func Services(b *v1alpha1.Backend) []string {
	var enabled []string
	for _, service := range []string{Voting, Accumulation, Ranking, State, Sandbox} {
		if service == Sandbox && b.Spec.Environment != Sandbox {
			continue
		}
		if !declared(b, service).Disabled {
			enabled = append(enabled, service)
		}
	}
	return enabled
}

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
	return cmp.Or(path, "/v1")
}

// declared returns how a service is to run.
func declared(b *v1alpha1.Backend, service string) v1alpha1.Service {
	s := map[string]*v1alpha1.Service{
		Voting:       b.Spec.Services.Voting,
		Accumulation: b.Spec.Services.Accumulation,
		Ranking:      b.Spec.Services.Ranking,
		State:        b.Spec.Services.State,
		Sandbox:      b.Spec.Services.Sandbox,
	}[service]
	if s == nil {
		return v1alpha1.Service{}
	}
	return *s
}

// name of a service's objects.
func name(b *v1alpha1.Backend, service string) string { return b.Name + "-" + service }

// labels of an object of the whole Backend or, where service is not empty, of a
// service.
func labels(b *v1alpha1.Backend, service string) map[string]string {
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

// selector of the pods of the Backend or of a service. It cannot be changed in
// a Deployment that exists, so it has only what never changes.
func selector(b *v1alpha1.Backend, service string) *metav1ac.LabelSelectorApplyConfiguration {
	return metav1ac.LabelSelector().WithMatchLabels(selectorLabels(b, service))
}

func selectorLabels(b *v1alpha1.Backend, service string) map[string]string {
	all := labels(b, service)
	delete(all, "app.kubernetes.io/part-of")
	return all
}

// owner makes objects disappear with their Backend.
func owner(b *v1alpha1.Backend) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(metav1.GroupVersion{Group: v1alpha1.Group, Version: v1alpha1.Version}.String()).
		WithKind("Backend").
		WithName(b.Name).
		WithUID(b.UID).
		WithController(true).
		WithBlockOwnerDeletion(true)
}
