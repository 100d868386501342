package extension

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// errNameTaken is a Secret with the name of a registry that the operator must not
// touch.
var errNameTaken = errors.New("a Secret with its name exists and does not belong to this Backend")

// publish writes the registry of every Backend of the namespace that does not have it. It
// returns the problem of each Backend whose registry lacks something, and the refusals. A
// registry that cannot be written does not keep the others back, and its services keep the
// last one. That of a Backend that another operator holds is the other's to write.
func (r *Reconciler) publish(ctx context.Context, s namespaceState) (problems map[types.UID]*status.Problem, refused, err error) {
	problems = map[types.UID]*status.Problem{}
	for _, b := range s.backends {
		if b.Namespace != s.namespace || !b.DeletionTimestamp.IsZero() || !r.Instance.Holds(b) {
			continue
		}
		if failure := r.writeRegistry(ctx, s, b); failure != nil {
			failure = fmt.Errorf("the registry of Backend %q could not be written: %w", b.Name, failure)
			if errors.Is(failure, errNameTaken) || status.IsRefusal(failure) {
				problems[b.UID] = status.NewProblem(v1alpha1.Registered, v1alpha1.ReasonRegistryNotWritten, "%s", failure.Error())
				refused = errors.Join(refused, failure)
			} else {
				err = errors.Join(err, failure)
			}
		}
	}
	return problems, refused, err
}

// writeRegistry applies the registry of a Backend if it differs. It does not
// touch a Secret that belongs to something else: the Backend would become its
// owner, and deleting the Backend would delete it.
func (r *Reconciler) writeRegistry(ctx context.Context, s namespaceState, b *servedBackend) error {
	var current corev1.Secret
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: desired.RegistrySecret(b.Name)}, &current)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	exists := err == nil
	if exists && !desired.BelongsTo(&current, b.Backend) {
		return errNameTaken
	}
	held, err := r.findHoldings(ctx, s, b, current.Data[desired.RegistryKey])
	if err != nil {
		return err
	}
	file := registry.KeepEntries(b.rendering.Files[b.environment()], current.Data[desired.RegistryKey], held)
	annotations := map[string]string{desired.PathAnnotation: desired.BasePath(b.Backend), desired.EnvironmentAnnotation: b.Spec.Environment}
	if b.Spec.TLSSecretName != "" {
		annotations[desired.TLSSecretAnnotation] = b.Spec.TLSSecretName
	}
	if exists && bytes.Equal(current.Data[desired.RegistryKey], file) && isMarked(&current, b.Backend, annotations) {
		return nil
	}
	owner := metav1ac.OwnerReference().
		WithAPIVersion(v1alpha1.Group + "/" + v1alpha1.Version).WithKind("Backend").
		WithName(b.Name).WithUID(b.UID).WithController(true)
	secret := corev1ac.Secret(desired.RegistrySecret(b.Name), b.Namespace).
		WithLabels(map[string]string{desired.OperatorLabel: desired.Operator}).
		WithAnnotations(annotations).
		WithOwnerReferences(owner).
		WithData(map[string][]byte{desired.RegistryKey: file})
	err = r.Client.Apply(ctx, secret, client.FieldOwner(desired.Operator), client.ForceOwnership)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}

// isMarked reports whether a registry has its Backend as owner, the operator's label
// and the annotations.
func isMarked(current *corev1.Secret, b *v1alpha1.Backend, annotations map[string]string) bool {
	for _, name := range []string{desired.PathAnnotation, desired.EnvironmentAnnotation, desired.TLSSecretAnnotation} {
		if current.Annotations[name] != annotations[name] {
			return false
		}
	}
	return metav1.IsControlledBy(current, b) && current.Labels[desired.OperatorLabel] == desired.Operator
}
