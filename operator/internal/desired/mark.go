package desired

import (
	rbacv1 "k8s.io/api/rbac/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

const (
	accountVolume = "account"
	// Programs expect the files there with which a pod reaches the API server.
	accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"
	// tokenSeconds is the default of the API server, which would add it: the operator would see another
	// object.
	tokenSeconds = 3600
)

// signsResults reports whether a pod of the Backend signs results.
func signsResults(b *v1alpha1.Backend) bool {
	return b.Spec.ResultLog != nil && !declaredService(b, Voting).Disabled
}

// markName returns the name of the ConfigMap with the newest signed checkpoint, and of what grants
// access to it.
func markName(b *v1alpha1.Backend) string { return b.Name + "-result-log-mark" }

// markObjects returns the mark of the log of results, which is outside of the database so that services
// notice one that was rolled back, and the right to change it. The operator sets no data: what the
// services write stays.
func markObjects(b *v1alpha1.Backend) []Object {
	name := markName(b)
	mark := corev1ac.ConfigMap(name, b.Namespace).
		WithLabels(objectLabels(b, Voting)).
		WithOwnerReferences(ownerReference(b))
	role := rbacv1ac.Role(name, b.Namespace).
		WithLabels(objectLabels(b, Voting)).
		WithOwnerReferences(ownerReference(b)).
		WithRules(rbacv1ac.PolicyRule().WithAPIGroups("").WithResources("configmaps").WithResourceNames(name).WithVerbs("get", "patch"))
	binding := rbacv1ac.RoleBinding(name, b.Namespace).
		WithLabels(objectLabels(b, Voting)).
		WithOwnerReferences(ownerReference(b)).
		WithRoleRef(rbacv1ac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("Role").WithName(name)).
		WithSubjects(rbacv1ac.Subject().WithKind(rbacv1.ServiceAccountKind).WithName(serviceAccountName(b)).WithNamespace(b.Namespace))
	return []Object{
		{Kind: "ConfigMap", Name: name, Config: mark},
		{Kind: "Role", Name: name, Config: role},
		{Kind: "RoleBinding", Name: name, Config: binding},
	}
}

// accountFiles returns the volume with a token, which the kubelet replaces before it expires, the
// authority of the API server and the namespace.
func accountFiles() *corev1ac.VolumeApplyConfiguration {
	namespace := corev1ac.ObjectFieldSelector().WithAPIVersion("v1").WithFieldPath("metadata.namespace")
	return corev1ac.Volume().WithName(accountVolume).WithProjected(corev1ac.ProjectedVolumeSource().WithDefaultMode(0o440).WithSources(
		corev1ac.VolumeProjection().WithServiceAccountToken(
			corev1ac.ServiceAccountTokenProjection().WithPath("token").WithExpirationSeconds(tokenSeconds)),
		corev1ac.VolumeProjection().WithConfigMap(
			corev1ac.ConfigMapProjection().WithName("kube-root-ca.crt").WithItems(corev1ac.KeyToPath().WithKey("ca.crt").WithPath("ca.crt"))),
		corev1ac.VolumeProjection().WithDownwardAPI(
			corev1ac.DownwardAPIProjection().WithItems(corev1ac.DownwardAPIVolumeFile().WithPath("namespace").WithFieldRef(namespace)))))
}
