package extension

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
)

// FieldOwner owns what the operator writes.
const FieldOwner = "acclaim-operator"

// RegistryKey is the entry of a registry Secret that holds the file.
const RegistryKey = "extensions.yaml"

// RegistryName returns the name of a Backend's registry Secret.
func RegistryName(backend string) string { return backend + "-registry" }

// The label of what the operator writes.
const (
	managedBy = "app.kubernetes.io/managed-by"
	manager   = "acclaim-operator"
)

// service is how the Backends of one environment were given their registries.
type service struct {
	refused string // why one was not; empty when all were
}

// publish writes the registry of every Backend that does not have it. It returns
// the environments that have a Backend. A registry that cannot be written leaves
// the others alone, and its services with the last one.
func (r *Reconciler) publish(ctx context.Context, backends []v1alpha1.Backend, files map[registry.Environment][]byte) (map[registry.Environment]service, error) {
	served, failed := map[registry.Environment]service{}, []error{}
	for i := range backends {
		b := &backends[i]
		if !b.DeletionTimestamp.IsZero() {
			continue
		}
		environment := registry.Environment(b.Spec.Environment)
		outcome := served[environment]
		if err := r.write(ctx, b, files[environment]); err != nil {
			outcome.refused = refusal(b, err)
			failed = append(failed, fmt.Errorf("registry of Backend %s: %w", b.Name, err))
		}
		served[environment] = outcome
	}
	return served, errors.Join(failed...)
}

// write applies a Backend's registry unless it is there as it should be.
func (r *Reconciler) write(ctx context.Context, b *v1alpha1.Backend, file []byte) error {
	var current corev1.Secret
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: RegistryName(b.Name)}, &current)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err == nil && bytes.Equal(current.Data[RegistryKey], file) && metav1.IsControlledBy(&current, b) && current.Labels[managedBy] == manager {
		return nil
	}
	owner := metav1ac.OwnerReference().
		WithAPIVersion(v1alpha1.Group + "/" + v1alpha1.Version).WithKind("Backend").
		WithName(b.Name).WithUID(b.UID).WithController(true)
	secret := corev1ac.Secret(RegistryName(b.Name), b.Namespace).
		WithLabels(map[string]string{managedBy: manager}).
		WithOwnerReferences(owner).
		WithData(map[string][]byte{RegistryKey: file})
	err = r.Client.Apply(ctx, secret, client.FieldOwner(FieldOwner), client.ForceOwnership)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}

// refusal says for people why a registry was not written. The text is the same
// for every attempt: a changing one would be a write each.
func refusal(b *v1alpha1.Backend, err error) string {
	cause := "the API server does not answer"
	if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		cause = err.Error()
	}
	return fmt.Sprintf("The registry of Backend %q could not be written: %s", b.Name, cause)
}
