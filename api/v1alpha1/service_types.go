package v1alpha1

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

// Services declares how each service runs.
type Services struct {
	// Voting counts votes of polls.
	// +optional
	Voting *Service `json:"voting,omitempty"`
	// Accumulation stores buffers of submitted objects.
	// +optional
	Accumulation *Service `json:"accumulation,omitempty"`
	// Ranking ranks free-text answers.
	// +optional
	Ranking *Service `json:"ranking,omitempty"`
	// State stores state and configuration documents.
	// +optional
	State *Service `json:"state,omitempty"`
	// GameLink serves games over WebSockets. Unlike the others it runs only where it is set.
	// +optional
	GameLink *Service `json:"gamelink,omitempty"`
	// Sandbox issues tokens; only in a sandbox backend.
	// +optional
	Sandbox *Service `json:"sandbox,omitempty"`
}

// Service declares how one service runs.
//
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || !has(self.autoscaling)",message="replicas and autoscaling exclude each other"
type Service struct {
	// Disabled does not run the service.
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
	// Resources of each pod. Without a limit of memory it is 1Gi, or what is requested where
	// that is more: the program bounds what it holds by the limit.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.requests) || !has(self.limits) || ['cpu', 'memory'].all(name, !(name in self.requests) || !(name in self.limits) || quantity(string(self.requests[name])).compareTo(quantity(string(self.limits[name]))) <= 0)",message="a request of cpu or memory must not exceed its limit"
	// +kubebuilder:validation:XValidation:rule="!has(self.limits) || !('memory' in self.limits) || quantity(string(self.limits['memory'])).compareTo(quantity('128Mi')) >= 0",message="a limit of memory must be at least 128Mi, with its unit, such as 512Mi: with less the program does not start"
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
}

// Autoscaling bounds the number of pods.
//
// +kubebuilder:validation:XValidation:rule="self.minReplicas <= self.maxReplicas",message="minReplicas must not exceed maxReplicas"
type Autoscaling struct {
	// MinReplicas is the minimum number of pods.
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	MinReplicas int32 `json:"minReplicas,omitempty"`
	// MaxReplicas is the maximum number of pods.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxReplicas int32 `json:"maxReplicas"`
	// TargetCPU is the target use of the requested CPU, in percent.
	// +kubebuilder:default=70
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	TargetCPU int32 `json:"targetCPU,omitempty"`
	// TargetEntries is the target number of entries (votes, answers and so on) that a pod
	// stores in a second, beside TargetCPU: the larger of both numbers of pods counts. It
	// needs the metric `acclaim_entries_per_second` of pods in the cluster's custom metrics.
	// +optional
	// +kubebuilder:validation:Minimum=1
	TargetEntries *int32 `json:"targetEntries,omitempty"`
	// Behavior limits how fast the number of pods changes; by default as Kubernetes does.
	// +optional
	Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior,omitempty"`
}

// Scheduling restricts where pods may run.
type Scheduling struct {
	// NodeSelector that nodes must match.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Tolerations of taints.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.operator) || t.operator != 'Exists' || !has(t.value) || size(t.value) == 0)",message="a toleration with the operator Exists has no value"
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// PriorityClassName of the pods.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// Affinity of the pods. Without podAntiAffinity, pods of a service prefer different
	// zones.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// TopologySpreadConstraints replace the preference of different nodes for the pods of a
	// service. One without labelSelector is for the pods of each service.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
}
