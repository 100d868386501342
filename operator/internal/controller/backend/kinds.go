package backend

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv2ac "k8s.io/client-go/applyconfigurations/autoscaling/v2"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/operator/internal/desired"
)

// FieldOwner is in whose name objects are applied.
const FieldOwner = desired.Operator

// kind is a kind of the objects that Backends consist of.
type kind struct {
	name, apiVersion string
	object           client.Object
	list             client.ObjectList
	// same says whether applying an object would leave the stored one as it is.
	same func(want any, have client.Object) (bool, error)
}

func (k kind) groupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(k.apiVersion, k.name)
}

// kindOf returns the kind of an object.
func kindOf(o desired.Object) kind {
	all := kinds()
	return all[slices.IndexFunc(all, func(k kind) bool { return k.name == o.Kind })]
}

// kinds returns all of them. The last is one that a cluster may not have.
func kinds() []kind {
	return []kind{
		{"Deployment", "apps/v1", &appsv1.Deployment{}, &appsv1.DeploymentList{}, owned(appsv1ac.ExtractDeployment)},
		{"Service", "v1", &corev1.Service{}, &corev1.ServiceList{}, owned(corev1ac.ExtractService)},
		{"ServiceAccount", "v1", &corev1.ServiceAccount{}, &corev1.ServiceAccountList{}, owned(corev1ac.ExtractServiceAccount)},
		{"PodDisruptionBudget", "policy/v1", &policyv1.PodDisruptionBudget{}, &policyv1.PodDisruptionBudgetList{}, owned(policyv1ac.ExtractPodDisruptionBudget)},
		{"HorizontalPodAutoscaler", "autoscaling/v2", &autoscalingv2.HorizontalPodAutoscaler{}, &autoscalingv2.HorizontalPodAutoscalerList{}, owned(autoscalingv2ac.ExtractHorizontalPodAutoscaler)},
		{"NetworkPolicy", "networking.k8s.io/v1", &networkingv1.NetworkPolicy{}, &networkingv1.NetworkPolicyList{}, owned(networkingv1ac.ExtractNetworkPolicy)},
		{"Ingress", "networking.k8s.io/v1", &networkingv1.Ingress{}, &networkingv1.IngressList{}, owned(networkingv1ac.ExtractIngress)},
		{desired.HTTPRouteKind, desired.HTTPRouteVersion, httpRoute(), httpRoutes(), contained},
	}
}

func httpRoute() *unstructured.Unstructured {
	var route unstructured.Unstructured
	route.SetAPIVersion(desired.HTTPRouteVersion)
	route.SetKind(desired.HTTPRouteKind)
	return &route
}

func httpRoutes() *unstructured.UnstructuredList {
	var routes unstructured.UnstructuredList
	routes.SetAPIVersion(desired.HTTPRouteVersion)
	routes.SetKind(desired.HTTPRouteKind + "List")
	return &routes
}

// owned compares what the API server has noted down as the operator's with what
// the operator wants. A field that somebody else took over or changed is no
// longer the operator's; one that it no longer wants still is.
func owned[O client.Object, A any](extract func(O, string) (*A, error)) func(any, client.Object) (bool, error) {
	return func(want any, have client.Object) (bool, error) {
		applied, err := extract(have.(O), FieldOwner)
		return err == nil && equality.Semantic.DeepEqual(want, applied), err
	}
}

// contained compares values, for a kind whose schema the program does not have.
func contained(want any, have client.Object) (bool, error) {
	return contains(have.(*unstructured.Unstructured).Object, want.(*unstructured.Unstructured).Object), nil
}

// contains says whether all of want is in have. Lists are taken as a whole.
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
