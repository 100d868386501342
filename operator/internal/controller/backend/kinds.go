package backend

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv2ac "k8s.io/client-go/applyconfigurations/autoscaling/v2"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/acclaim-dev/acclaim/operator/internal/desired"
)

// FieldOwner is the field owner of everything that the operator applies.
const FieldOwner = desired.Operator

// objectKind is a kind of the objects that Backends consist of.
type objectKind struct {
	name, apiVersion string
	object           client.Object
	list             client.ObjectList
	// isSame reports whether applying an object would change nothing.
	isSame func(want any, have client.Object) (bool, error)
}

// markKind is the kind of the mark of the log of results, whose content is not the operator's.
const markKind = "ConfigMap"

// changes selects the changes of the kind that matter. The services write the mark once a second while
// polls move.
func (k objectKind) changes() predicate.Predicate {
	if k.name != markKind {
		return predicate.Funcs{}
	}
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld, e.ObjectNew
		return !maps.Equal(before.GetLabels(), after.GetLabels()) || !equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences())
	}}
}

func (k objectKind) groupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(k.apiVersion, k.name)
}

// kindOf returns the kind of an object.
func kindOf(o desired.Object) objectKind {
	all := objectKinds()
	return all[slices.IndexFunc(all, func(k objectKind) bool { return k.name == o.Kind })]
}

// objectKinds returns all kinds. The last is one that a cluster may not have.
func objectKinds() []objectKind {
	return []objectKind{
		{"Deployment", "apps/v1", &appsv1.Deployment{}, &appsv1.DeploymentList{}, compareOwned(appsv1ac.ExtractDeployment)},
		{"Service", "v1", &corev1.Service{}, &corev1.ServiceList{}, compareOwned(corev1ac.ExtractService)},
		{"ServiceAccount", "v1", &corev1.ServiceAccount{}, &corev1.ServiceAccountList{}, compareOwned(corev1ac.ExtractServiceAccount)},
		{markKind, "v1", &corev1.ConfigMap{}, &corev1.ConfigMapList{}, compareOwned(corev1ac.ExtractConfigMap)},
		{"Role", "rbac.authorization.k8s.io/v1", &rbacv1.Role{}, &rbacv1.RoleList{}, compareOwned(rbacv1ac.ExtractRole)},
		{"RoleBinding", "rbac.authorization.k8s.io/v1", &rbacv1.RoleBinding{}, &rbacv1.RoleBindingList{}, compareOwned(rbacv1ac.ExtractRoleBinding)},
		{"PodDisruptionBudget", "policy/v1", &policyv1.PodDisruptionBudget{}, &policyv1.PodDisruptionBudgetList{}, compareOwned(policyv1ac.ExtractPodDisruptionBudget)},
		{"HorizontalPodAutoscaler", "autoscaling/v2", &autoscalingv2.HorizontalPodAutoscaler{}, &autoscalingv2.HorizontalPodAutoscalerList{}, compareOwned(autoscalingv2ac.ExtractHorizontalPodAutoscaler)},
		{"NetworkPolicy", "networking.k8s.io/v1", &networkingv1.NetworkPolicy{}, &networkingv1.NetworkPolicyList{}, compareOwned(networkingv1ac.ExtractNetworkPolicy)},
		{"Ingress", "networking.k8s.io/v1", &networkingv1.Ingress{}, &networkingv1.IngressList{}, compareOwned(networkingv1ac.ExtractIngress)},
		{desired.HTTPRouteKind, desired.HTTPRouteVersion, newHTTPRoute(), newHTTPRouteList(), compareContent},
	}
}

// Kinds returns an object of each kind that the controller watches besides Backends and
// Secrets. A cluster may not know the last.
func Kinds() []client.Object {
	kinds := []client.Object{&corev1.Pod{}}
	for _, k := range objectKinds() {
		kinds = append(kinds, k.object)
	}
	return kinds
}

func newHTTPRoute() *unstructured.Unstructured {
	var route unstructured.Unstructured
	route.SetAPIVersion(desired.HTTPRouteVersion)
	route.SetKind(desired.HTTPRouteKind)
	return &route
}

func newHTTPRouteList() *unstructured.UnstructuredList {
	var routes unstructured.UnstructuredList
	routes.SetAPIVersion(desired.HTTPRouteVersion)
	routes.SetKind(desired.HTTPRouteKind + "List")
	return &routes
}

// compareOwned compares the fields that the API server records as the operator's
// with those that the operator wants. A field that another owner took over or
// changed is no longer the operator's; one that it no longer wants still is.
func compareOwned[O client.Object, A any](extract func(O, string) (*A, error)) func(any, client.Object) (bool, error) {
	return func(want any, have client.Object) (bool, error) {
		applied, err := extract(have.(O), FieldOwner)
		return err == nil && equality.Semantic.DeepEqual(want, applied), err
	}
}

// compareContent compares values, for a kind whose schema the program does not have.
func compareContent(want any, have client.Object) (bool, error) {
	return contains(have.(*unstructured.Unstructured).Object, want.(*unstructured.Unstructured).Object), nil
}

// contains reports whether all of want is in have. Lists are compared as a whole.
func contains(have, want any) bool {
	wanted, isMap := want.(map[string]any)
	if !isMap {
		return equality.Semantic.DeepEqual(have, want)
	}
	all, isMap := have.(map[string]any)
	for key, value := range wanted {
		if !isMap || !contains(all[key], value) {
			return false
		}
	}
	return isMap
}
