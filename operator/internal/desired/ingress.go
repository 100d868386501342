package desired

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// exactPaths returns the full paths that lead to a service: browser clients use
// those below /e.
func exactPaths(b *v1alpha1.Backend, service string) []string {
	var paths []string
	for _, prefix := range []string{"", "/e"} {
		for _, route := range servicePaths(service) {
			paths = append(paths, BasePath(b)+prefix+route)
		}
	}
	return paths
}

// fallbackService returns the service that answers every other path, if only with
// 404: the services write the errors of the contract, too.
func fallbackService(b *v1alpha1.Backend) string {
	services := Services(b)
	if slices.Contains(services, State) {
		return State
	}
	return services[0]
}

// fallbackPrefixes returns the path prefixes that lead to the fallback service: the
// base path and, if that is the state service, the pages of polls. Of the Backends of
// one host only one may lead to them: some controllers refuse a path twice.
func fallbackPrefixes(b *v1alpha1.Backend) []string {
	if fallbackService(b) == State && leadsToPages(b) {
		return []string{BasePath(b), pagesPath, votePath}
	}
	return []string{BasePath(b)}
}

// leadsToPages reports whether a Backend is the one of its host that leads to the
// pages: by default the one with the default path.
func leadsToPages(b *v1alpha1.Backend) bool {
	var declared *bool
	switch {
	case b.Spec.Ingress != nil:
		declared = b.Spec.Ingress.Pages
	case b.Spec.Route != nil:
		declared = b.Spec.Route.Pages
	}
	if declared != nil {
		return *declared
	}
	return BasePath(b) == defaultPath
}

// pagesPath is the path of the state service's pages for people, votePath that of the one on which
// devices vote.
const (
	pagesPath = "/live"
	votePath  = "/vote"
)

// publicPaths returns the path prefixes of public results and of the log that signs results, which
// stand beside the base path. There are none where the Backend does not lead to them: of those whose
// base paths have one element, one of a host may.
func publicPaths(b *v1alpha1.Backend) []string {
	beside := contract.BesideBase(BasePath(b))
	if !slices.Contains(Services(b), Voting) || beside == "" && !leadsToPages(b) {
		return nil
	}
	return []string{beside + "/public", beside + "/log"}
}

// gameHost returns the host that leads to the gamelink service, empty without one.
func gameHost(b *v1alpha1.Backend) string {
	switch {
	case !slices.Contains(Services(b), GameLink):
		return ""
	case b.Spec.Ingress != nil:
		return b.Spec.Ingress.GameHost
	default:
		return b.Spec.Route.GameHost
	}
}

// gamePath is the path of the host for games: they know no path in front of theirs.
const gamePath = "/"

// ingress returns the Ingress, which routes each path to its service.
func ingress(b *v1alpha1.Backend) Object {
	declared := b.Spec.Ingress
	rule := networkingv1ac.HTTPIngressRuleValue()
	for _, service := range Services(b) {
		for _, path := range exactPaths(b, service) {
			rule.WithPaths(ingressPath(b, service, path, networkingv1.PathTypeExact))
		}
	}
	for _, path := range publicPaths(b) {
		rule.WithPaths(ingressPath(b, Voting, path, networkingv1.PathTypePrefix))
	}
	for _, path := range fallbackPrefixes(b) {
		rule.WithPaths(ingressPath(b, fallbackService(b), path, networkingv1.PathTypePrefix))
	}
	spec := networkingv1ac.IngressSpec().
		WithRules(networkingv1ac.IngressRule().WithHost(declared.Host).WithHTTP(rule))
	spec.IngressClassName = declared.ClassName
	if declared.TLSSecretName != "" {
		spec.WithTLS(networkingv1ac.IngressTLS().WithHosts(declared.Host).WithSecretName(declared.TLSSecretName))
	}
	if host := gameHost(b); host != "" {
		games := networkingv1ac.HTTPIngressRuleValue().WithPaths(ingressPath(b, GameLink, gamePath, networkingv1.PathTypePrefix))
		spec.WithRules(networkingv1ac.IngressRule().WithHost(host).WithHTTP(games))
		if declared.GameTLSSecretName != "" {
			spec.WithTLS(networkingv1ac.IngressTLS().WithHosts(host).WithSecretName(declared.GameTLSSecretName))
		}
	}
	i := networkingv1ac.Ingress(b.Name, b.Namespace).
		WithLabels(objectLabels(b, "")).
		WithOwnerReferences(ownerReference(b)).
		WithSpec(spec)
	if len(declared.Annotations) > 0 {
		i.WithAnnotations(declared.Annotations)
	}
	return Object{Kind: "Ingress", Name: b.Name, Config: i}
}

func ingressPath(b *v1alpha1.Backend, service, path string, how networkingv1.PathType) *networkingv1ac.HTTPIngressPathApplyConfiguration {
	to := networkingv1ac.IngressServiceBackend().
		WithName(objectName(b, service)).
		WithPort(networkingv1ac.ServiceBackendPort().WithName(Scheme(b)))
	return networkingv1ac.HTTPIngressPath().
		WithPath(path).
		WithPathType(how).
		WithBackend(networkingv1ac.IngressBackend().WithService(to))
}
