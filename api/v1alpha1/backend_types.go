package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Backend declares the services of one environment: production or the sandbox.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=be,categories=acclaim
// +kubebuilder:printcolumn:name="Environment",type=string,JSONPath=`.spec.environment`
// +kubebuilder:printcolumn:name="Image",type=string,priority=1,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]{0,48}[a-z0-9])?$')",message="the name is part of the names of Services: at most 50 lower-case letters, digits and '-', a letter first and no '-' last"
type Backend struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BackendSpec   `json:"spec"`
	Status BackendStatus `json:"status,omitempty"`
}

// BackendSpec is what a backend should be.
//
// +kubebuilder:validation:XValidation:rule="self.environment == 'sandbox' || !has(self.services) || !has(self.services.sandbox)",message="only a sandbox backend has the sandbox service"
// +kubebuilder:validation:XValidation:rule="!has(self.ingress) || !has(self.route)",message="ingress and route exclude each other"
type BackendSpec struct {
	// Environment is production or sandbox.
	// +kubebuilder:default=production
	// +kubebuilder:validation:Enum=production;sandbox
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="environment is immutable"
	Environment string `json:"environment,omitempty"`

	// Image that all services run.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image"`

	// ImagePullSecrets name Secrets with credentials of the image's registry.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	ImagePullSecrets []ObjectReference `json:"imagePullSecrets,omitempty"`

	// MongoDB says where the entry is that holds the URI of the database.
	MongoDB SecretKeyReference `json:"mongodb"`

	// Services says how each service runs. One that is left out runs with 2 replicas.
	// +optional
	Services Services `json:"services,omitempty"`

	// Ingress puts the services behind an Ingress.
	// +optional
	Ingress *Ingress `json:"ingress,omitempty"`

	// Route puts the services behind a Gateway API HTTPRoute.
	// +optional
	Route *Route `json:"route,omitempty"`

	// NetworkPolicy says who may reach the pods.
	// +optional
	NetworkPolicy NetworkPolicy `json:"networkPolicy,omitempty"`

	// Scheduling says where pods may run.
	// +optional
	Scheduling Scheduling `json:"scheduling,omitempty"`
}

// Services says how each service runs.
type Services struct {
	// Voting counts polls.
	// +optional
	Voting *Service `json:"voting,omitempty"`
	// Accumulation keeps buffers.
	// +optional
	Accumulation *Service `json:"accumulation,omitempty"`
	// Ranking ranks free-text answers.
	// +optional
	Ranking *Service `json:"ranking,omitempty"`
	// State keeps state and configuration.
	// +optional
	State *Service `json:"state,omitempty"`
	// Sandbox issues tokens; only in a sandbox backend.
	// +optional
	Sandbox *Service `json:"sandbox,omitempty"`
}

// Service says how one service runs.
//
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || !has(self.autoscaling)",message="replicas and autoscaling exclude each other"
type Service struct {
	// Disabled leaves the service out.
	// +optional
	Disabled bool `json:"disabled,omitempty"`
	// Replicas is a fixed number of pods.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Replicas *int32 `json:"replicas,omitempty"`
	// Autoscaling lets the number of pods follow the load.
	// +optional
	Autoscaling *Autoscaling `json:"autoscaling,omitempty"`
	// Resources of each pod.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
}

// Autoscaling bounds the number of pods.
//
// +kubebuilder:validation:XValidation:rule="self.minReplicas <= self.maxReplicas",message="minReplicas must not exceed maxReplicas"
type Autoscaling struct {
	// MinReplicas is the least number of pods.
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	MinReplicas int32 `json:"minReplicas,omitempty"`
	// MaxReplicas is the greatest number of pods.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxReplicas int32 `json:"maxReplicas"`
	// TargetCPU is the use of the requested CPU to aim for, in percent.
	// +kubebuilder:default=70
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	TargetCPU int32 `json:"targetCPU,omitempty"`
}

// Ingress is how the services are reached from outside.
type Ingress struct {
	// ClassName of the Ingress; left out, the cluster's default.
	// +optional
	ClassName *string `json:"className,omitempty"`
	// Host name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host"`
	// Path in front of the routes.
	// +kubebuilder:default=/v1
	// +kubebuilder:validation:Pattern=`^(/[A-Za-z0-9._~-]+)+$`
	// +kubebuilder:validation:MaxLength=128
	Path string `json:"path,omitempty"`
	// TLSSecretName names the Secret with the host's certificate.
	// +optional
	TLSSecretName string `json:"tlsSecretName,omitempty"`
	// Annotations of the Ingress.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Route is how a Gateway reaches the services.
type Route struct {
	// Gateway names the Gateway to attach to.
	Gateway ObjectReference `json:"gateway"`
	// GatewayNamespace is the Gateway's namespace; left out, this object's.
	// +optional
	GatewayNamespace string `json:"gatewayNamespace,omitempty"`
	// Host name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host"`
	// Path in front of the routes.
	// +kubebuilder:default=/v1
	// +kubebuilder:validation:Pattern=`^(/[A-Za-z0-9._~-]+)+$`
	// +kubebuilder:validation:MaxLength=128
	Path string `json:"path,omitempty"`
}

// NetworkPolicy says who may reach the pods. Anyone may reach the API, and only
// pods of the same Backend one another.
type NetworkPolicy struct {
	// AdminFrom says who may reach the admin port, which has metrics and the route that
	// erases viewers. Left out, nobody may: probes come from the pod's own node, which
	// no policy keeps away.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	AdminFrom []networkingv1.NetworkPolicyPeer `json:"adminFrom,omitempty"`
}

// Scheduling says where pods may run.
type Scheduling struct {
	// NodeSelector that nodes must match.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Tolerations of taints.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// PriorityClassName of the pods.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// BackendStatus is what the operator last saw and did.
type BackendStatus struct {
	// ObservedGeneration is the generation of the spec that the rest speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions say how the Backend is.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BackendList is a list of Backends.
//
// +kubebuilder:object:root=true
type BackendList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Backend `json:"items"`
}
