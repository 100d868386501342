package poll

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// remove deletes the poll from the service and releases the object. It waits for
// a service that may still answer, for up to GiveUpAfter, and not at all if
// nothing is left that could confirm the deletion.
func (r *Reconciler) remove(ctx context.Context, p *v1alpha1.Poll) error {
	if !controllerutil.ContainsFinalizer(p, v1alpha1.PollFinalizer) {
		return nil
	}
	problem, err := r.deletePoll(ctx, p)
	if err != nil {
		return err
	}
	if retry := problem.RetryError(); retry != nil && r.Now().Sub(p.DeletionTimestamp.Time) < r.GiveUpAfter {
		before := p.DeepCopy()
		setConditions(p, problem)
		return errors.Join(r.report(ctx, before, p), retry)
	}
	if problem != nil && problem.Reason != v1alpha1.ReasonConflict && p.Status.AppliedHash != "" {
		status.RecordWarning(r.Recorder, p, "LeftBehind", "The configuration was left behind: "+problem.Message)
	}
	return r.removeFinalizer(ctx, p)
}

// leave looks after a Poll that the operator held when it still watched the namespace. One
// that is being deleted goes, from the service as well where that takes no right in its
// namespace: a Backend elsewhere has the keys. Others report that they are not watched.
func (r *Reconciler) leave(ctx context.Context, p *v1alpha1.Poll) error {
	if !r.Instance.Owns(p) {
		return nil
	}
	if !p.DeletionTimestamp.IsZero() {
		return r.remove(ctx, p)
	}
	before := p.DeepCopy()
	status.SetNotWatched(&p.Status.Conditions, p.Generation, p.Namespace)
	return r.report(ctx, before, p)
}

// deletePoll deletes the poll from the service unless the Poll's policy retains it.
// Of a Backend that was deleted before, services may still answer; they are asked
// once.
func (r *Reconciler) deletePoll(ctx context.Context, p *v1alpha1.Poll) (*status.Problem, error) {
	if p.Spec.DeletionPolicy == v1alpha1.DeletionRetain {
		return nil, nil
	}
	choice, err := r.gatherChoice(ctx, p)
	if err != nil {
		return nil, err
	}
	remains, exists, err := r.findRemains(ctx, p, choice.backends)
	if err != nil {
		return nil, err
	}
	if remains != nil {
		choice.named, choice.backends = new(client.ObjectKeyFromObject(remains)), []v1alpha1.Backend{*remains}
	}
	t, problem, err := r.findTarget(ctx, p, choice)
	if problem != nil || err != nil {
		return problem, err
	}
	if err := t.service.DeletePoll(ctx, t.poll); err != nil {
		problem := r.classifyError(t, err)
		if remains != nil && !exists {
			problem = newBackendProblem(v1alpha1.ReasonBackendNotFound, "Backend %q does not exist, and its voting service: %v", sharing.NameFrom(remains, p.Namespace), err)
		}
		return problem, nil
	}
	return nil, nil
}

// findRemains returns the Backend that holds a Poll's configuration if it may not, or
// cannot, serve the Poll any more; else nil. Either the Backend exists and allows the
// namespace no longer, or its registry still describes it.
func (r *Reconciler) findRemains(ctx context.Context, p *v1alpha1.Poll, backends []v1alpha1.Backend) (b *v1alpha1.Backend, exists bool, err error) {
	name := sharing.HolderOf(p)
	if name.Name == "" || !r.consent().Sees(name.Namespace) ||
		slices.ContainsFunc(backends, func(b v1alpha1.Backend) bool { return client.ObjectKeyFromObject(&b) == name }) {
		return nil, false, nil
	}
	b = &v1alpha1.Backend{}
	if err := r.Client.Get(ctx, name, b); !apierrors.IsNotFound(err) {
		return b, true, err
	}
	b = &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
	secret, err := r.readRegistry(ctx, b)
	if secret == nil || err != nil {
		return nil, false, err
	}
	b.Spec.Environment = secret.Annotations[desired.EnvironmentAnnotation]
	b.Spec.Ingress = &v1alpha1.Ingress{Path: secret.Annotations[desired.PathAnnotation]}
	b.Spec.TLSSecretName = secret.Annotations[desired.TLSSecretAnnotation]
	return b, false, nil
}

// readRegistry returns the registry Secret of a Backend, nil if there is none that
// the operator made.
func (r *Reconciler) readRegistry(ctx context.Context, b *v1alpha1.Backend) (*corev1.Secret, error) {
	var secret corev1.Secret
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: desired.RegistrySecret(b.Name)}, &secret)
	if err != nil || secret.Labels[desired.OperatorLabel] != desired.Operator {
		return nil, client.IgnoreNotFound(err)
	}
	return &secret, nil
}

// findPublishedKeys returns the keys that a Backend's registry has of an Extension whose
// Secrets are gone, or which may no longer use the Backend.
func (r *Reconciler) findPublishedKeys(ctx context.Context, extension *v1alpha1.Extension, b *v1alpha1.Backend) ([][]byte, error) {
	secret, err := r.readRegistry(ctx, b)
	if secret == nil || err != nil {
		return nil, err
	}
	return registry.PublishedKeys(secret.Data[desired.RegistryKey], client.ObjectKeyFromObject(extension), extension.Spec.ClientID, r.Now()), nil
}

// removeFinalizer releases the object.
func (r *Reconciler) removeFinalizer(ctx context.Context, p *v1alpha1.Poll) error {
	before := p.DeepCopy()
	controllerutil.RemoveFinalizer(p, v1alpha1.PollFinalizer)
	err := r.Client.Patch(ctx, p, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	return client.IgnoreNotFound(err)
}
