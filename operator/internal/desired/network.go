package desired

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// serviceAccountName differs from the Backend's name: a Backend may be called
// "default", and every namespace has a ServiceAccount of that name.
func serviceAccountName(b *v1alpha1.Backend) string { return b.Name + "-services" }

// serviceAccount returns the identity of the pods. Only those that sign results talk to the API server:
// the others have no token.
func serviceAccount(b *v1alpha1.Backend) Object {
	account := corev1ac.ServiceAccount(serviceAccountName(b), b.Namespace).
		WithLabels(objectLabels(b, "")).
		WithAnnotations(b.Spec.PodTemplate.ServiceAccountAnnotations).
		WithOwnerReferences(ownerReference(b)).
		WithAutomountServiceAccountToken(false)
	return Object{Kind: "ServiceAccount", Name: serviceAccountName(b), Config: account}
}

// networkPolicy lets pods connect to what is declared, if anything is, and to each other
// and DNS. It admits everything to the API port, because ingress controllers may
// run anywhere, declared peers to the admin port, and pods of the same Backend to
// the peer port. Probes need no rule: they come from the pod's own node, which
// policies do not affect.
func networkPolicy(b *v1alpha1.Backend) Object {
	api := networkingv1ac.NetworkPolicyIngressRule().WithPorts(policyPort(httpPort))
	peers := networkingv1ac.NetworkPolicyIngressRule().
		WithPorts(policyPort(peerPort)).
		WithFrom(networkingv1ac.NetworkPolicyPeer().WithPodSelector(podSelector(b, "")))
	spec := networkingv1ac.NetworkPolicySpec().
		WithPodSelector(podSelector(b, "")).
		WithPolicyTypes(networkingv1.PolicyTypeIngress).
		WithIngress(api, peers)
	// A rule without peers would admit everything.
	if from := b.Spec.NetworkPolicy.AdminFrom; len(from) > 0 {
		spec.WithIngress(networkingv1ac.NetworkPolicyIngressRule().WithPorts(policyPort(adminPort)).WithFrom(policyPeers(from)...))
	}
	if to := b.Spec.NetworkPolicy.EgressTo; len(to) > 0 {
		spec.WithPolicyTypes(networkingv1.PolicyTypeEgress).WithEgress(
			networkingv1ac.NetworkPolicyEgressRule().WithTo(policyPeers(to)...),
			networkingv1ac.NetworkPolicyEgressRule().WithPorts(policyPort(peerPort)).
				WithTo(networkingv1ac.NetworkPolicyPeer().WithPodSelector(podSelector(b, ""))),
			networkingv1ac.NetworkPolicyEgressRule().
				WithPorts(dnsPorts()...).
				WithTo(networkingv1ac.NetworkPolicyPeer().WithNamespaceSelector(metav1ac.LabelSelector())),
		)
	}
	policy := networkingv1ac.NetworkPolicy(b.Name, b.Namespace).
		WithLabels(objectLabels(b, "")).
		WithOwnerReferences(ownerReference(b)).
		WithSpec(spec)
	return Object{Kind: "NetworkPolicy", Name: b.Name, Config: policy}
}

// dnsPorts returns the ports of DNS servers. A policy sees that of the server's pod, which
// is not always that of its Service: OpenShift's is 5353. There it has the names that the
// servers of Kubernetes have, too.
func dnsPorts() []*networkingv1ac.NetworkPolicyPortApplyConfiguration {
	port := func(protocol corev1.Protocol, port intstr.IntOrString) *networkingv1ac.NetworkPolicyPortApplyConfiguration {
		return networkingv1ac.NetworkPolicyPort().WithProtocol(protocol).WithPort(port)
	}
	return []*networkingv1ac.NetworkPolicyPortApplyConfiguration{
		port(corev1.ProtocolTCP, intstr.FromInt32(53)),
		port(corev1.ProtocolUDP, intstr.FromInt32(53)),
		port(corev1.ProtocolTCP, intstr.FromString("dns-tcp")),
		port(corev1.ProtocolUDP, intstr.FromString("dns")),
	}
}

func policyPort(number int32) *networkingv1ac.NetworkPolicyPortApplyConfiguration {
	return networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolTCP).WithPort(intstr.FromInt32(number))
}

// policyPeers converts declared peers to apply configurations.
func policyPeers(declared []v1alpha1.NetworkPeer) []*networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	peers := make([]*networkingv1ac.NetworkPolicyPeerApplyConfiguration, 0, len(declared))
	for _, d := range declared {
		peer := networkingv1ac.NetworkPolicyPeer()
		if d.PodSelector != nil {
			peer.WithPodSelector(labelSelector(d.PodSelector))
		}
		if d.NamespaceSelector != nil {
			peer.WithNamespaceSelector(labelSelector(d.NamespaceSelector))
		}
		if d.IPBlock != nil {
			peer.WithIPBlock(networkingv1ac.IPBlock().WithCIDR(d.IPBlock.CIDR).WithExcept(d.IPBlock.Except...))
		}
		peers = append(peers, peer)
	}
	return peers
}

func labelSelector(declared *metav1.LabelSelector) *metav1ac.LabelSelectorApplyConfiguration {
	s := metav1ac.LabelSelector().WithMatchLabels(declared.MatchLabels)
	for _, e := range declared.MatchExpressions {
		s.WithMatchExpressions(metav1ac.LabelSelectorRequirement().WithKey(e.Key).WithOperator(e.Operator).WithValues(e.Values...))
	}
	return s
}
