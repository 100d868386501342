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

type fields = map[string]any

// httpRoute is what ingress is, for a Gateway. Defaults of the API are spelled
// out, so that it can be compared with what is stored.
func httpRoute(b *v1alpha1.Backend) Object {
	var rules []any
	for _, service := range Services(b) {
		if paths := exactPaths(b, service); len(paths) > 0 {
			rules = append(rules, routeRule(b, service, "Exact", paths...))
		}
	}
	rules = append(rules, routeRule(b, lastResort(b), "PathPrefix", BasePath(b)))
	route := &unstructured.Unstructured{Object: fields{"spec": fields{
		"parentRefs": []any{fields{
			"group":     "gateway.networking.k8s.io",
			"kind":      "Gateway",
			"name":      b.Spec.Route.Gateway.Name,
			"namespace": cmp.Or(b.Spec.Route.GatewayNamespace, b.Namespace),
		}},
		"hostnames": []any{b.Spec.Route.Host},
		"rules":     rules,
	}}}
	route.SetAPIVersion(HTTPRouteVersion)
	route.SetKind(HTTPRouteKind)
	route.SetNamespace(b.Namespace)
	route.SetName(b.Name)
	route.SetLabels(labels(b, ""))
	reference, err := runtime.DefaultUnstructuredConverter.ToUnstructured(owner(b))
	if err != nil {
		panic(err) // a struct of texts
	}
	_ = unstructured.SetNestedSlice(route.Object, []any{reference}, "metadata", "ownerReferences") // metadata is a map
	return Object{Kind: HTTPRouteKind, Name: b.Name, Config: route}
}

func routeRule(b *v1alpha1.Backend, service, how string, paths ...string) fields {
	var matches []any
	for _, path := range paths {
		matches = append(matches, fields{"path": fields{"type": how, "value": path}})
	}
	return fields{
		"matches": matches,
		"backendRefs": []any{fields{
			"group": "", "kind": "Service", "name": name(b, service), "port": int64(httpPort), "weight": int64(1),
		}},
	}
}
