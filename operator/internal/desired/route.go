package desired

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// HTTPRouteVersion and HTTPRouteKind name the kind of the Gateway API, which a
// cluster may not have.
const (
	HTTPRouteVersion = "gateway.networking.k8s.io/v1"
	HTTPRouteKind    = "HTTPRoute"
)

type jsonObject = map[string]any

// httpRoutes returns the HTTPRoutes, which route like the Ingress: the hosts of one
// share its rules, so that games have one of their own.
func httpRoutes(b *v1alpha1.Backend) []Object {
	var rules []any
	for _, service := range Services(b) {
		if paths := exactPaths(b, service); len(paths) > 0 {
			rules = append(rules, routeRule(b, service, "Exact", paths...))
		}
	}
	if paths := publicPaths(b); len(paths) > 0 {
		rules = append(rules, routeRule(b, Voting, "PathPrefix", paths...))
	}
	rules = append(rules, routeRule(b, fallbackService(b), "PathPrefix", fallbackPrefixes(b)...))
	routes := []Object{httpRoute(b, b.Name, "", b.Spec.Route.Host, rules)}
	if host := gameHost(b); host != "" {
		rules := []any{routeRule(b, GameLink, "PathPrefix", gamePath)}
		routes = append(routes, httpRoute(b, objectName(b, GameLink), GameLink, host, rules))
	}
	return routes
}

// httpRoute returns one HTTPRoute. It spells out the API's defaults, so that it can be
// compared with the stored object.
func httpRoute(b *v1alpha1.Backend, name, service, host string, rules []any) Object {
	route := &unstructured.Unstructured{Object: jsonObject{"spec": jsonObject{
		"parentRefs": []any{jsonObject{
			"group":     "gateway.networking.k8s.io",
			"kind":      "Gateway",
			"name":      b.Spec.Route.Gateway.Name,
			"namespace": cmp.Or(b.Spec.Route.GatewayNamespace, b.Namespace),
		}},
		"hostnames": []any{host},
		"rules":     rules,
	}}}
	route.SetAPIVersion(HTTPRouteVersion)
	route.SetKind(HTTPRouteKind)
	route.SetNamespace(b.Namespace)
	route.SetName(name)
	route.SetLabels(objectLabels(b, service))
	reference, err := runtime.DefaultUnstructuredConverter.ToUnstructured(ownerReference(b))
	if err != nil {
		panic(err) // a struct of texts
	}
	_ = unstructured.SetNestedSlice(route.Object, []any{reference}, "metadata", "ownerReferences") // metadata is a map
	return Object{Kind: HTTPRouteKind, Name: name, Config: route}
}

func routeRule(b *v1alpha1.Backend, service, how string, paths ...string) jsonObject {
	var matches []any
	for _, path := range paths {
		matches = append(matches, jsonObject{"path": jsonObject{"type": how, "value": path}})
	}
	return jsonObject{
		"matches": matches,
		"backendRefs": []any{jsonObject{
			"group": "", "kind": "Service", "name": objectName(b, service), "port": int64(httpPort), "weight": int64(1),
		}},
	}
}
