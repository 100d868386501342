package poll

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// findConflict returns a problem if an older Poll declares the same poll of a
// Backend. One of another namespace does not: of Extensions with one client id in several
// namespaces a Backend has one, and findAdmission keeps the Polls of the others back.
func (r *Reconciler) findConflict(ctx context.Context, p *v1alpha1.Poll, c backendChoice, backend *v1alpha1.Backend) (*status.Problem, error) {
	polls, err := r.listDuplicates(ctx, p, c.extension)
	if err != nil {
		return nil, err
	}
	for i := range polls {
		other := &polls[i]
		if !isOlder(other, p) {
			continue
		}
		theirs, err := r.gatherChoice(ctx, other)
		if err != nil {
			return nil, err
		}
		in := chooseBackend(other, theirs)
		if in != nil && client.ObjectKeyFromObject(in) == client.ObjectKeyFromObject(backend) ||
			!p.DeletionTimestamp.IsZero() && sharing.HolderOf(other) == client.ObjectKeyFromObject(backend) {
			return newConfigProblem(v1alpha1.ReasonConflict, "Poll %q is older and declares the same poll", other.Name), nil
		}
	}
	return nil, nil
}

// listDuplicatesOf returns the Polls that declare the same poll, the given one
// included, whatever their Backend. It returns none if the Extension is gone.
func (r *Reconciler) listDuplicatesOf(ctx context.Context, p *v1alpha1.Poll) ([]v1alpha1.Poll, error) {
	var extension v1alpha1.Extension
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: p.Spec.ExtensionRef.Name}, &extension)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return r.listDuplicates(ctx, p, &extension)
}

// listDuplicates is listDuplicatesOf for a known Extension. Several Extensions
// may have one client id: to the service they are the same.
func (r *Reconciler) listDuplicates(ctx context.Context, p *v1alpha1.Poll, extension *v1alpha1.Extension) ([]v1alpha1.Poll, error) {
	extensions, err := r.listExtensions(ctx, p.Namespace, extensionsByClientID, string(extension.Spec.ClientID))
	var all []v1alpha1.Poll
	for i := range extensions {
		polls, err := r.listPolls(ctx, p.Namespace, pollsByIdentity, pollIdentity(extensions[i].Name, p))
		if err != nil {
			return nil, err
		}
		all = slices.Concat(all, polls)
	}
	return all, err
}

// isOlder reports whether a was created before b. Of two that were created in the
// same second, the one with the lower UID counts as older.
func isOlder(a, b *v1alpha1.Poll) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.UID < b.UID
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}
