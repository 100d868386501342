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

// networkPolicy lets anyone reach the API, for it cannot know where ingress
// controllers run, only those who are declared the admin port, and only pods of
// the same Backend one another's peer port. Probes need no rule: they come from
// the pod's own node, which policies leave alone.
func networkPolicy(b *v1alpha1.Backend) Object {
	api := networkingv1ac.NetworkPolicyIngressRule().WithPorts(policyPort(httpPort))
	peers := networkingv1ac.NetworkPolicyIngressRule().
		WithPorts(policyPort(peerPort)).
		WithFrom(networkingv1ac.NetworkPolicyPeer().WithPodSelector(selector(b, "")))
	spec := networkingv1ac.NetworkPolicySpec().
		WithPodSelector(selector(b, "")).
		WithPolicyTypes(networkingv1.PolicyTypeIngress).
		WithIngress(api, peers)
	// A rule that names nobody would let everyone in.
	if from := b.Spec.NetworkPolicy.AdminFrom; len(from) > 0 {
		spec.WithIngress(networkingv1ac.NetworkPolicyIngressRule().WithPorts(policyPort(adminPort)).WithFrom(policyPeers(from)...))
	}
	policy := networkingv1ac.NetworkPolicy(b.Name, b.Namespace).
		WithLabels(labels(b, "")).
		WithOwnerReferences(owner(b)).
		WithSpec(spec)
	return Object{Kind: "NetworkPolicy", Name: b.Name, Config: policy}
}

func policyPort(number int32) *networkingv1ac.NetworkPolicyPortApplyConfiguration {
	return networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolTCP).WithPort(intstr.FromInt32(number))
}

// policyPeers returns what is declared as the operator applies it.
func policyPeers(declared []networkingv1.NetworkPolicyPeer) []*networkingv1ac.NetworkPolicyPeerApplyConfiguration {
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
