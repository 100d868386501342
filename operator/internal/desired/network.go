package desired

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// serviceAccountName is not the Backend's own name: every namespace has a
// ServiceAccount "default", which a Backend may be called as well.
func serviceAccountName(b *v1alpha1.Backend) string { return b.Name + "-services" }

// serviceAccount is who the pods are. They never talk to the API server.
func serviceAccount(b *v1alpha1.Backend) Object {
	account := corev1ac.ServiceAccount(serviceAccountName(b), b.Namespace).
		WithLabels(labels(b, "")).
		WithOwnerReferences(owner(b)).
		WithAutomountServiceAccountToken(false)
	return Object{Kind: "ServiceAccount", Name: serviceAccountName(b), Config: account}
}

// networkPolicy lets anyone reach the API and the probes and metrics, for it
// cannot know where ingress controllers and monitoring run, and only pods of the
// same Backend reach one another's peer port.
func networkPolicy(b *v1alpha1.Backend) Object {
	open := networkingv1ac.NetworkPolicyIngressRule().WithPorts(policyPort(httpPort), policyPort(adminPort))
	peers := networkingv1ac.NetworkPolicyIngressRule().
		WithPorts(policyPort(peerPort)).
		WithFrom(networkingv1ac.NetworkPolicyPeer().WithPodSelector(selector(b, "")))
	policy := networkingv1ac.NetworkPolicy(b.Name, b.Namespace).
		WithLabels(labels(b, "")).
		WithOwnerReferences(owner(b)).
		WithSpec(networkingv1ac.NetworkPolicySpec().
			WithPodSelector(selector(b, "")).
			WithPolicyTypes(networkingv1.PolicyTypeIngress).
			WithIngress(open, peers))
	return Object{Kind: "NetworkPolicy", Name: b.Name, Config: policy}
}

func policyPort(number int32) *networkingv1ac.NetworkPolicyPortApplyConfiguration {
	return networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolTCP).WithPort(intstr.FromInt32(number))
}
