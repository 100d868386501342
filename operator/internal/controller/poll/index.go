package poll

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// The indexes of the cache, by which the controller finds what belongs together
// without looking at everything in a namespace.
const (
	pollsByIdentity      = "poll-identity"       // Polls by what they say they are
	pollsByExtension     = "poll-extension"      // Polls by the Extension they name
	pollsByBackend       = "poll-backend"        // Polls by the Backend they name, "" for none
	extensionsByClientID = "poll-client-id"      // Extensions by client id
	extensionsBySecret   = "poll-extension-keys" // Extensions by the Secrets that hold their keys
)

// Index adds the indexes that a Reconciler's client needs to a cache.
func Index(ctx context.Context, cache client.FieldIndexer) error {
	for _, index := range []struct {
		object client.Object
		name   string
		keys   client.IndexerFunc
	}{
		{&v1alpha1.Poll{}, pollsByIdentity, of(func(p *v1alpha1.Poll) []string { return []string{identity(p.Spec.ExtensionRef.Name, p)} })},
		{&v1alpha1.Poll{}, pollsByExtension, of(func(p *v1alpha1.Poll) []string { return []string{p.Spec.ExtensionRef.Name} })},
		{&v1alpha1.Poll{}, pollsByBackend, of(func(p *v1alpha1.Poll) []string { return []string{named(p)} })},
		{&v1alpha1.Extension{}, extensionsByClientID, of(func(e *v1alpha1.Extension) []string { return []string{string(e.Spec.ClientID)} })},
		{&v1alpha1.Extension{}, extensionsBySecret, of(secretsOf)},
	} {
		if err := cache.IndexField(ctx, index.object, index.name, index.keys); err != nil {
			return err
		}
	}
	return nil
}

func of[T client.Object](keys func(T) []string) client.IndexerFunc {
	return func(o client.Object) []string { return keys(o.(T)) }
}

// identity names the poll that a Poll declares, in an Extension. Neither the
// name of an Extension nor the id of a poll holds what ends it here.
func identity(extension string, p *v1alpha1.Poll) string {
	return extension + "/" + p.PollID() + "." + p.Spec.Channel
}

func named(p *v1alpha1.Poll) string {
	if p.Spec.BackendRef == nil {
		return ""
	}
	return p.Spec.BackendRef.Name
}

// secretsOf returns the names of the Secrets that an Extension's keys are in.
func secretsOf(e *v1alpha1.Extension) []string {
	keys := e.Spec.Keys
	if e.Spec.Sandbox != nil {
		keys = slices.Concat(keys, e.Spec.Sandbox.Keys)
	}
	var names []string
	for _, key := range keys {
		names = append(names, key.SecretRef.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// polls returns what the cache holds under a key of an index, not to be changed.
func (r *Reconciler) polls(ctx context.Context, namespace, index, key string) ([]v1alpha1.Poll, error) {
	var list v1alpha1.PollList
	err := r.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{index: key}, client.UnsafeDisableDeepCopy)
	return list.Items, err
}

// extensions is the same for Extensions.
func (r *Reconciler) extensions(ctx context.Context, namespace, index, key string) ([]v1alpha1.Extension, error) {
	var list v1alpha1.ExtensionList
	err := r.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{index: key}, client.UnsafeDisableDeepCopy)
	return list.Items, err
}
