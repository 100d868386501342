package test

import (
	"path/filepath"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	psaapi "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// objects returns what a case renders, read with the types of Kubernetes, of the
// Prometheus operator and our own: a field that there is not is an error.
func objects(t *testing.T, folder string) []runtime.Object {
	t.Helper()
	r, err := render(readValues(t, folder))
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, manifests(r))
}

func decode(t *testing.T, manifests []string) (all []runtime.Object) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, monitoringv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, manifest := range manifests {
		object, _, err := decoder.Decode([]byte(manifest), nil, nil)
		if err != nil {
			t.Errorf("%v\n%s", err, manifest)
			continue
		}
		all = append(all, object)
	}
	return all
}

// Kubernetes knows every rendered object; each has a name and labels.
func TestObjects(t *testing.T) {
	for _, folder := range cases(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			for _, object := range objects(t, folder) {
				meta, ok := object.(metav1.Object)
				if !ok {
					t.Errorf("%T has no name", object)
					continue
				}
				for _, label := range []string{"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "helm.sh/chart"} {
					if meta.GetLabels()[label] == "" {
						t.Errorf("%T %s has no label %s", object, meta.GetName(), label)
					}
				}
			}
		})
	}
}

// Every pod may run where the strictest standard is enforced, and writes to no
// image.
func TestPodsAreRestricted(t *testing.T) {
	pods := 0
	for _, folder := range cases(t) {
		for _, object := range objects(t, folder) {
			meta, spec := pod(object)
			if spec == nil {
				continue
			}
			pods++
			checkRestricted(t, folder, meta, spec)
		}
	}
	if pods == 0 {
		t.Error("no pods")
	}
}

// checkRestricted reports what of a pod the strictest standard forbids.
func checkRestricted(t *testing.T, folder string, meta *metav1.ObjectMeta, spec *corev1.PodSpec) {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := psaapi.LevelVersion{Level: psaapi.LevelRestricted, Version: psaapi.LatestVersion()}
	for _, result := range evaluator.EvaluatePod(level, meta, spec) {
		if !result.Allowed {
			t.Errorf("%s: %s %s: %s", folder, meta.Labels["app.kubernetes.io/component"], result.ForbiddenReason, result.ForbiddenDetail)
		}
	}
	for _, container := range spec.Containers {
		if root := container.SecurityContext.ReadOnlyRootFilesystem; root == nil || !*root {
			t.Errorf("%s: %s may write to its image", folder, container.Name)
		}
	}
}

func pod(object runtime.Object) (*metav1.ObjectMeta, *corev1.PodSpec) {
	switch object := object.(type) {
	case *appsv1.Deployment:
		return &object.Spec.Template.ObjectMeta, &object.Spec.Template.Spec
	case *appsv1.StatefulSet:
		return &object.Spec.Template.ObjectMeta, &object.Spec.Template.Spec
	case *batchv1.Job:
		return &object.Spec.Template.ObjectMeta, &object.Spec.Template.Spec
	case *batchv1.CronJob:
		return &object.Spec.JobTemplate.Spec.Template.ObjectMeta, &object.Spec.JobTemplate.Spec.Template.Spec
	case *corev1.Pod:
		return &object.ObjectMeta, &object.Spec
	}
	return nil, nil
}
