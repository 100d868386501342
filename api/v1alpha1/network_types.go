package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NetworkPolicy declares which peers may reach the pods. Every peer may reach the API,
// and only pods of the same Backend each other.
type NetworkPolicy struct {
	// AdminFrom lists the peers that may reach the admin port, which serves metrics. By
	// default none may; probes come from the pod's own node, which policies do not affect.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	AdminFrom []NetworkPeer `json:"adminFrom,omitempty"`
	// EgressTo lists the peers that the pods may connect to, besides each other and DNS in
	// any namespace: the database, and the webhooks of sinks. Empty: they may connect to
	// any.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	EgressTo []NetworkPeer `json:"egressTo,omitempty"`
}

// NetworkPeer is a peer as a Kubernetes NetworkPolicy has it: pods, or addresses.
// +kubebuilder:validation:XValidation:rule="has(self.ipBlock) != (has(self.podSelector) || has(self.namespaceSelector))",message="a peer has either an ipBlock, or a podSelector or namespaceSelector or both"
type NetworkPeer struct {
	// PodSelector selects pods of the namespaces that namespaceSelector selects, or of the
	// Backend's.
	// +optional
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty"`
	// NamespaceSelector selects namespaces; without podSelector, all of their pods.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// IPBlock is a range of addresses.
	// +optional
	IPBlock *IPBlock `json:"ipBlock,omitempty"`
}

// IPBlock is a range of addresses without some smaller ones. Its bounds keep the cost of its
// rules within that which the API server allows.
// +kubebuilder:validation:XValidation:rule="isCIDR(self.cidr)",message="an ipBlock.cidr is an address and the length of its prefix, such as 10.0.0.0/8"
// +kubebuilder:validation:XValidation:rule="!has(self.except) || !isCIDR(self.cidr) || self.except.all(e, isCIDR(e) && cidr(self.cidr).containsCIDR(e) && cidr(self.cidr).prefixLength() < cidr(e).prefixLength())",message="each ipBlock.except is a smaller range within ipBlock.cidr, such as 10.1.0.0/16 in 10.0.0.0/8"
type IPBlock struct {
	// CIDR is an address and the length of its prefix, such as 10.0.0.0/8 or fd00::/8.
	// +kubebuilder:validation:MaxLength=64
	CIDR string `json:"cidr"`
	// Except lists smaller ranges within that do not belong to it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=64
	Except []string `json:"except,omitempty"`
}
