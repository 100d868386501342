package extension

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
)

// service is how the Backends of one environment were given their registries.
type service struct {
	refused string // why one was not; empty when all were
}

// publish writes the registry of every Backend that does not have it. It returns
// the environments that have a Backend, and what was refused. A registry that
// cannot be written leaves the others alone, and its services with the last one.
func (r *Reconciler) publish(ctx context.Context, backends []v1alpha1.Backend, files map[registry.Environment][]byte) (served map[registry.Environment]service, refused, err error) {
	served = map[registry.Environment]service{}
	for i := range backends {
		b := &backends[i]
		if !b.DeletionTimestamp.IsZero() {
			continue
		}
		environment := registry.Environment(b.Spec.Environment)
		outcome := served[environment]
		if failure := r.write(ctx, b, files[environment]); failure != nil {
			failure = fmt.Errorf("the registry of Backend %q could not be written: %w", b.Name, failure)
			if isRefusal(failure) {
				outcome.refused = failure.Error()
				refused = errors.Join(refused, failure)
			} else {
				err = errors.Join(err, failure)
			}
		}
		served[environment] = outcome
	}
	return served, refused, err
}

// write applies a Backend's registry unless it is there as it should be.
func (r *Reconciler) write(ctx context.Context, b *v1alpha1.Backend, file []byte) error {
	var current corev1.Secret
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: desired.RegistrySecret(b.Name)}, &current)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err == nil && bytes.Equal(current.Data[desired.RegistryKey], file) && metav1.IsControlledBy(&current, b) && current.Labels[desired.OperatorLabel] == desired.Operator {
		return nil
	}
	owner := metav1ac.OwnerReference().
		WithAPIVersion(v1alpha1.Group + "/" + v1alpha1.Version).WithKind("Backend").
		WithName(b.Name).WithUID(b.UID).WithController(true)
	secret := corev1ac.Secret(desired.RegistrySecret(b.Name), b.Namespace).
		WithLabels(map[string]string{desired.OperatorLabel: desired.Operator}).
		WithOwnerReferences(owner).
		WithData(map[string][]byte{desired.RegistryKey: file})
	err = r.Client.Apply(ctx, secret, client.FieldOwner(desired.Operator), client.ForceOwnership)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}

// isRefusal reports whether an error is the API server's last word, so that the
// same request would have the same answer.
func isRefusal(err error) bool {
	answer, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return false
	}
	switch code := answer.Status().Code; code {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		return code/100 == 4
	}
}
