package desired

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// defaultReplicas is the number of pods of a service that declares none.
const defaultReplicas = 2

// deployment returns the Deployment of a service. It removes no pod before another
// one serves.
func deployment(b *v1alpha1.Backend, service, databaseVersion string) *appsv1ac.DeploymentApplyConfiguration {
	rolling := appsv1ac.RollingUpdateDeployment().
		WithMaxUnavailable(intstr.FromInt32(0)).
		WithMaxSurge(intstr.FromString("25%"))
	spec := appsv1ac.DeploymentSpec().
		WithSelector(podSelector(b, service)).
		WithStrategy(appsv1ac.DeploymentStrategy().WithType("RollingUpdate").WithRollingUpdate(rolling)).
		WithMinReadySeconds(5). // what crashes at once never counts as ready
		WithProgressDeadlineSeconds(300).
		WithRevisionHistoryLimit(3).
		WithTemplate(podTemplate(b, service, databaseVersion))
	switch s := declaredService(b, service); {
	case b.Spec.Suspend:
		spec.WithReplicas(0)
	case s.Autoscaling != nil: // the autoscaler owns the number
	case s.Replicas != nil:
		spec.WithReplicas(*s.Replicas)
	default:
		spec.WithReplicas(defaultReplicas)
	}
	return appsv1ac.Deployment(objectName(b, service), b.Namespace).
		WithLabels(objectLabels(b, service)).
		WithOwnerReferences(ownerReference(b)).
		WithSpec(spec)
}
