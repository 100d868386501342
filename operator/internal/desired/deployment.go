package desired

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// defaultReplicas is how many pods a service has of which nothing is said.
const defaultReplicas = 2

// deployment runs a service. It takes no pod away before another one serves.
func deployment(b *v1alpha1.Backend, service, databaseHash string) *appsv1ac.DeploymentApplyConfiguration {
	rolling := appsv1ac.RollingUpdateDeployment().
		WithMaxUnavailable(intstr.FromInt32(0)).
		WithMaxSurge(intstr.FromString("25%"))
	spec := appsv1ac.DeploymentSpec().
		WithSelector(selector(b, service)).
		WithStrategy(appsv1ac.DeploymentStrategy().WithType("RollingUpdate").WithRollingUpdate(rolling)).
		WithMinReadySeconds(5). // what crashes at once never counts as ready
		WithProgressDeadlineSeconds(300).
		WithRevisionHistoryLimit(3).
		WithTemplate(podTemplate(b, service, databaseHash))
	switch s := declared(b, service); {
	case s.Autoscaling != nil: // the autoscaler's
	case s.Replicas != nil:
		spec.WithReplicas(*s.Replicas)
	default:
		spec.WithReplicas(defaultReplicas)
	}
	return appsv1ac.Deployment(name(b, service), b.Namespace).
		WithLabels(labels(b, service)).
		WithOwnerReferences(owner(b)).
		WithSpec(spec)
}
