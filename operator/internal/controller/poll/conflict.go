package poll

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// conflict says whether an older Poll declares the same poll of a Backend.
func (r *Reconciler) conflict(ctx context.Context, p *v1alpha1.Poll, extension *v1alpha1.Extension, backend *v1alpha1.Backend) (*problem, error) {
	polls, err := r.sharing(ctx, p, extension)
	if err != nil || len(polls) < 2 {
		return nil, err // itself
	}
	var backends v1alpha1.BackendList
	if err := r.Client.List(ctx, &backends, client.InNamespace(p.Namespace)); err != nil {
		return nil, err
	}
	for i := range polls {
		other := &polls[i]
		if in := choose(other, backends.Items); older(other, p) && in != nil && in.Name == backend.Name {
			return unconfigured(v1alpha1.ReasonConflict, "Poll %q is older and declares the same poll", other.Name), nil
		}
	}
	return nil, nil
}

// alike returns all Polls that declare the same poll as one of them, itself
// included and whatever their Backend.
func (r *Reconciler) alike(ctx context.Context, p *v1alpha1.Poll) ([]v1alpha1.Poll, error) {
	var extension v1alpha1.Extension
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: p.Spec.ExtensionRef.Name}, &extension)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return r.sharing(ctx, p, &extension)
}

// sharing is alike for a Poll whose Extension is known. Several Extensions may
// have one client id: to the service they are one.
func (r *Reconciler) sharing(ctx context.Context, p *v1alpha1.Poll, extension *v1alpha1.Extension) ([]v1alpha1.Poll, error) {
	extensions, err := r.extensions(ctx, p.Namespace, extensionsByClientID, string(extension.Spec.ClientID))
	var all []v1alpha1.Poll
	for i := range extensions {
		polls, err := r.polls(ctx, p.Namespace, pollsByIdentity, identity(extensions[i].Name, p))
		if err != nil {
			return nil, err
		}
		all = slices.Concat(all, polls)
	}
	return all, err
}

// older says which of two Polls was first; of two of the same second, the one
// with the lower UID counts as the first.
func older(a, b *v1alpha1.Poll) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.UID < b.UID
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}
