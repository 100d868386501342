package desired

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	autoscalingv2ac "k8s.io/client-go/applyconfigurations/autoscaling/v2"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// clusterService is the address of a service inside the cluster.
func clusterService(b *v1alpha1.Backend, service string) Object {
	port := corev1ac.ServicePort().
		WithName("http").
		WithPort(httpPort).
		WithProtocol(corev1.ProtocolTCP).
		WithAppProtocol("http").
		WithTargetPort(intstr.FromString("http"))
	s := corev1ac.Service(name(b, service), b.Namespace).
		WithLabels(labels(b, service)).
		WithOwnerReferences(owner(b)).
		WithSpec(corev1ac.ServiceSpec().WithSelector(selectorLabels(b, service)).WithPorts(port))
	return Object{Kind: "Service", Name: name(b, service), Config: s}
}

// metricsService lets monitoring find the admin port of every pod. It has no
// address of its own, and nothing leads to it from outside.
func metricsService(b *v1alpha1.Backend) Object {
	port := corev1ac.ServicePort().
		WithName("admin").
		WithPort(adminPort).
		WithProtocol(corev1.ProtocolTCP).
		WithTargetPort(intstr.FromString("admin"))
	s := corev1ac.Service(name(b, metrics), b.Namespace).
		WithLabels(labels(b, metrics)).
		WithOwnerReferences(owner(b)).
		WithSpec(corev1ac.ServiceSpec().
			WithClusterIP(corev1.ClusterIPNone).
			WithSelector(selectorLabels(b, "")).
			WithPorts(port))
	return Object{Kind: "Service", Name: name(b, metrics), Config: s}
}

// disruptionBudget lets pods be evicted one at a time, those that do not work at
// any time.
func disruptionBudget(b *v1alpha1.Backend, service string) Object {
	budget := policyv1ac.PodDisruptionBudget(name(b, service), b.Namespace).
		WithLabels(labels(b, service)).
		WithOwnerReferences(owner(b)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithSelector(selector(b, service)).
			WithMaxUnavailable(intstr.FromInt32(1)).
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow))
	return Object{Kind: "PodDisruptionBudget", Name: name(b, service), Config: budget}
}

// autoscaler lets the number of pods follow their use of the CPU they request.
func autoscaler(b *v1alpha1.Backend, service string, s *v1alpha1.Autoscaling) Object {
	target := autoscalingv2ac.CrossVersionObjectReference().
		WithAPIVersion("apps/v1").WithKind("Deployment").WithName(name(b, service))
	cpu := autoscalingv2ac.MetricSpec().
		WithType(autoscalingv2.ResourceMetricSourceType).
		WithResource(autoscalingv2ac.ResourceMetricSource().
			WithName(corev1.ResourceCPU).
			WithTarget(autoscalingv2ac.MetricTarget().
				WithType(autoscalingv2.UtilizationMetricType).
				WithAverageUtilization(s.TargetCPU)))
	scaler := autoscalingv2ac.HorizontalPodAutoscaler(name(b, service), b.Namespace).
		WithLabels(labels(b, service)).
		WithOwnerReferences(owner(b)).
		WithSpec(autoscalingv2ac.HorizontalPodAutoscalerSpec().
			WithScaleTargetRef(target).
			WithMinReplicas(s.MinReplicas).
			WithMaxReplicas(s.MaxReplicas).
			WithMetrics(cpu))
	return Object{Kind: "HorizontalPodAutoscaler", Name: name(b, service), Config: scaler}
}
