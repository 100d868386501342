package desired

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	autoscalingv2ac "k8s.io/client-go/applyconfigurations/autoscaling/v2"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// clusterService returns the Service with the address of a service inside the
// cluster.
func clusterService(b *v1alpha1.Backend, service string) Object {
	port := corev1ac.ServicePort().
		WithName(Scheme(b)).
		WithPort(httpPort).
		WithProtocol(corev1.ProtocolTCP).
		WithAppProtocol(appProtocol(b, service)).
		WithTargetPort(intstr.FromString("http"))
	s := corev1ac.Service(objectName(b, service), b.Namespace).
		WithLabels(objectLabels(b, service)).
		WithOwnerReferences(ownerReference(b)).
		WithSpec(corev1ac.ServiceSpec().WithSelector(selectorLabels(b, service)).WithPorts(port))
	return Object{Kind: "Service", Name: objectName(b, service), Config: s}
}

// appProtocol returns the protocol of a service's port, by which Gateways know that
// connections of games become WebSockets.
func appProtocol(b *v1alpha1.Backend, service string) string {
	if service == GameLink {
		return map[string]string{"http": "kubernetes.io/ws", "https": "kubernetes.io/wss"}[Scheme(b)]
	}
	return Scheme(b)
}

// metricsService returns the Service by which monitoring finds the admin port of
// every pod. It is headless and not reachable from outside.
func metricsService(b *v1alpha1.Backend) Object {
	port := corev1ac.ServicePort().
		WithName("admin").
		WithPort(adminPort).
		WithProtocol(corev1.ProtocolTCP).
		WithTargetPort(intstr.FromString("admin"))
	s := corev1ac.Service(objectName(b, metrics), b.Namespace).
		WithLabels(objectLabels(b, metrics)).
		WithOwnerReferences(ownerReference(b)).
		WithSpec(corev1ac.ServiceSpec().
			WithClusterIP(corev1.ClusterIPNone).
			WithSelector(selectorLabels(b, "")).
			WithPorts(port))
	return Object{Kind: "Service", Name: objectName(b, metrics), Config: s}
}

// disruptionBudget allows the eviction of one pod at a time, and of unhealthy pods at
// any time.
func disruptionBudget(b *v1alpha1.Backend, service string) Object {
	budget := policyv1ac.PodDisruptionBudget(objectName(b, service), b.Namespace).
		WithLabels(objectLabels(b, service)).
		WithOwnerReferences(ownerReference(b)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithSelector(podSelector(b, service)).
			WithMaxUnavailable(intstr.FromInt32(1)).
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow))
	return Object{Kind: "PodDisruptionBudget", Name: objectName(b, service), Config: budget}
}

// EntriesMetric is the custom metric of pods that an autoscaler follows beside the CPU.
const EntriesMetric = "acclaim_entries_per_second"

// autoscaler returns the HorizontalPodAutoscaler, which follows the use of the
// requested CPU, and the entries that the pods store where that is declared.
func autoscaler(b *v1alpha1.Backend, service string, s *v1alpha1.Autoscaling) Object {
	target := autoscalingv2ac.CrossVersionObjectReference().
		WithAPIVersion("apps/v1").WithKind("Deployment").WithName(objectName(b, service))
	cpu := autoscalingv2ac.MetricSpec().
		WithType(autoscalingv2.ResourceMetricSourceType).
		WithResource(autoscalingv2ac.ResourceMetricSource().
			WithName(corev1.ResourceCPU).
			WithTarget(autoscalingv2ac.MetricTarget().
				WithType(autoscalingv2.UtilizationMetricType).
				WithAverageUtilization(s.TargetCPU)))
	spec := autoscalingv2ac.HorizontalPodAutoscalerSpec().
		WithScaleTargetRef(target).
		WithMinReplicas(s.MinReplicas).
		WithMaxReplicas(s.MaxReplicas).
		WithMetrics(cpu)
	if s.TargetEntries != nil {
		spec.WithMetrics(autoscalingv2ac.MetricSpec().
			WithType(autoscalingv2.PodsMetricSourceType).
			WithPods(autoscalingv2ac.PodsMetricSource().
				WithMetric(autoscalingv2ac.MetricIdentifier().WithName(EntriesMetric)).
				WithTarget(autoscalingv2ac.MetricTarget().
					WithType(autoscalingv2.AverageValueMetricType).
					WithAverageValue(*resource.NewQuantity(int64(*s.TargetEntries), resource.DecimalSI)))))
	}
	if s.Behavior != nil {
		spec.WithBehavior(convert[autoscalingv2ac.HorizontalPodAutoscalerBehaviorApplyConfiguration](s.Behavior))
	}
	scaler := autoscalingv2ac.HorizontalPodAutoscaler(objectName(b, service), b.Namespace).
		WithLabels(objectLabels(b, service)).
		WithOwnerReferences(ownerReference(b)).
		WithSpec(spec)
	return Object{Kind: "HorizontalPodAutoscaler", Name: objectName(b, service), Config: scaler}
}
