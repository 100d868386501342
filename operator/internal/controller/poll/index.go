package poll

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
)

// The indexes of the cache, by which the controller finds related objects without
// reading everything in a namespace.
const (
	pollsByIdentity      = "poll-identity"       // Polls by the poll that they declare
	pollsByExtension     = "poll-extension"      // Polls by the Extension they name
	pollsByBackend       = "poll-backend"        // Polls by the namespace and name of the Backend they name, "" for none
	extensionsByBackend  = "poll-extension-refs" // Extensions by the namespaces and names of the Backends they name
	extensionsByClientID = "poll-client-id"      // Extensions by client id
	extensionsBySecret   = "poll-extension-keys" // Extensions by the Secrets that hold their keys
)

// AddIndexes adds the indexes that a Reconciler's client needs to a cache.
func AddIndexes(ctx context.Context, cache client.FieldIndexer) error {
	for _, index := range []struct {
		object client.Object
		name   string
		keys   client.IndexerFunc
	}{
		{&v1alpha1.Poll{}, pollsByIdentity, newIndexer(func(p *v1alpha1.Poll) []string { return []string{pollIdentity(p.Spec.ExtensionRef.Name, p)} })},
		{&v1alpha1.Poll{}, pollsByExtension, newIndexer(func(p *v1alpha1.Poll) []string { return []string{p.Spec.ExtensionRef.Name} })},
		{&v1alpha1.Poll{}, pollsByBackend, newIndexer(func(p *v1alpha1.Poll) []string { return []string{backendName(p)} })},
		{&v1alpha1.Extension{}, extensionsByClientID, newIndexer(func(e *v1alpha1.Extension) []string { return []string{string(e.Spec.ClientID)} })},
		{&v1alpha1.Extension{}, extensionsBySecret, newIndexer(registry.SecretNames)},
		{&v1alpha1.Extension{}, extensionsByBackend, newIndexer(func(e *v1alpha1.Extension) (names []string) {
			for _, name := range sharing.References(e) {
				names = append(names, name.String())
			}
			return names
		})},
	} {
		if err := cache.IndexField(ctx, index.object, index.name, index.keys); err != nil {
			return err
		}
	}
	return nil
}

// newIndexer returns an indexer that computes keys from a known kind of object.
func newIndexer[T client.Object](keys func(T) []string) client.IndexerFunc {
	return func(o client.Object) []string { return keys(o.(T)) }
}

// pollIdentity identifies the poll that a Poll declares for an Extension. Neither
// the name of an Extension has a slash nor the id of a poll a dot.
func pollIdentity(extension string, p *v1alpha1.Poll) string {
	return extension + "/" + p.PollID() + "." + p.Spec.Channel
}

func backendName(p *v1alpha1.Poll) string {
	if p.Spec.BackendRef == nil {
		return ""
	}
	return sharing.Resolve(p.Spec.BackendRef, p.Namespace).String()
}

// listPolls returns the Polls that the cache holds under a key of an index, of all
// namespaces if none is given. The
// caller must not change them.
func (r *Reconciler) listPolls(ctx context.Context, namespace, index, key string) ([]v1alpha1.Poll, error) {
	var list v1alpha1.PollList
	err := r.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{index: key}, client.UnsafeDisableDeepCopy)
	return list.Items, err
}

// listExtensions is listPolls for Extensions.
func (r *Reconciler) listExtensions(ctx context.Context, namespace, index, key string) ([]v1alpha1.Extension, error) {
	var list v1alpha1.ExtensionList
	err := r.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{index: key}, client.UnsafeDisableDeepCopy)
	return list.Items, err
}
