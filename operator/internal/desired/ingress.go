package desired

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// routes returns the paths below the base path that lead to a service. Those of
// the state service, and all that nobody serves, go to the last resort.
func routes(service string) []string {
	return map[string][]string{
		Voting:       {"/vote", "/vote_logs", "/vote_modifier", "/vote_config"},
		Accumulation: {"/accumulate"},
		Ranking:      {"/rank"},
		Sandbox:      {"/authtoken"},
	}[service]
}

// exactPaths returns the whole paths that lead to a service: browser clients ask
// below /e.
func exactPaths(b *v1alpha1.Backend, service string) []string {
	var paths []string
	for _, prefix := range []string{"", "/e"} {
		for _, route := range routes(service) {
			paths = append(paths, BasePath(b)+prefix+route)
		}
	}
	return paths
}

// lastResort is the service that answers for every other path, if only that
// there is no such route: errors, too, are for the services to write.
func lastResort(b *v1alpha1.Backend) string {
	services := Services(b)
	if slices.Contains(services, State) {
		return State
	}
	return services[0]
}

// ingress leads each route to its service.
func ingress(b *v1alpha1.Backend) Object {
	declared := b.Spec.Ingress
	rule := networkingv1ac.HTTPIngressRuleValue()
	for _, service := range Services(b) {
		for _, path := range exactPaths(b, service) {
			rule.WithPaths(ingressPath(b, service, path, networkingv1.PathTypeExact))
		}
	}
	rule.WithPaths(ingressPath(b, lastResort(b), BasePath(b), networkingv1.PathTypePrefix))
	spec := networkingv1ac.IngressSpec().
		WithRules(networkingv1ac.IngressRule().WithHost(declared.Host).WithHTTP(rule))
	spec.IngressClassName = declared.ClassName
	if declared.TLSSecretName != "" {
		spec.WithTLS(networkingv1ac.IngressTLS().WithHosts(declared.Host).WithSecretName(declared.TLSSecretName))
	}
	i := networkingv1ac.Ingress(b.Name, b.Namespace).
		WithLabels(labels(b, "")).
		WithOwnerReferences(owner(b)).
		WithSpec(spec)
	if len(declared.Annotations) > 0 {
		i.WithAnnotations(declared.Annotations)
	}
	return Object{Kind: "Ingress", Name: b.Name, Config: i}
}

func ingressPath(b *v1alpha1.Backend, service, path string, how networkingv1.PathType) *networkingv1ac.HTTPIngressPathApplyConfiguration {
	to := networkingv1ac.IngressServiceBackend().
		WithName(name(b, service)).
		WithPort(networkingv1ac.ServiceBackendPort().WithName("http"))
	return networkingv1ac.HTTPIngressPath().
		WithPath(path).
		WithPathType(how).
		WithBackend(networkingv1ac.IngressBackend().WithService(to))
}
