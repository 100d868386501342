package extension

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
	"github.com/acclaim-dev/acclaim/operator/internal/secrets"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
)

// namespaceState is the state of a namespace that a reconciliation depends on.
type namespaceState struct {
	namespace  string
	extensions []v1alpha1.Extension
	others     []v1alpha1.Extension // of other namespaces, for the same Backends
	backends   []*servedBackend     // of the namespace, and those elsewhere that its Extensions may name
	secrets    map[string]registry.SecretContents
	holds      map[types.NamespacedName]pollHold // by Extension
	paused     []v1alpha1.Extension              // set aside
	alone      registry.Rendering                // as if the namespace had one Backend of its own
}

// servedBackend is a Backend and what belongs into its registry.
type servedBackend struct {
	*v1alpha1.Backend
	allowed   map[string]bool // other namespaces with Extensions for it
	rendering registry.Rendering
}

// environment returns that of the Backend.
func (b *servedBackend) environment() registry.Environment {
	return registry.Environment(b.Spec.Environment)
}

// serves reports whether an Extension is for a Backend, and allowed.
func (b *servedBackend) serves(e *v1alpha1.Extension) bool {
	return sharing.Wants(e, b.Backend) && (e.Namespace == b.Namespace || b.allowed[e.Namespace])
}

// backendsOf returns the Backends of an environment that serve an Extension.
func (s namespaceState) backendsOf(e *v1alpha1.Extension, environment registry.Environment) (found []*servedBackend) {
	for _, b := range s.backends {
		if b.environment() == environment && b.serves(e) {
			found = append(found, b)
		}
	}
	return found
}

func (r *Reconciler) consent() sharing.Consent {
	return sharing.Consent{Client: r.Client, Watched: r.Watched, Labels: r.Labels}
}

// gather reads a namespace. An error leaves the registries as they are: without
// the Extensions that could not be read they would break working ones.
func (r *Reconciler) gather(ctx context.Context, namespace string) (namespaceState, error) {
	s := namespaceState{namespace: namespace, secrets: map[string]registry.SecretContents{}}
	var extensions v1alpha1.ExtensionList
	if err := r.Client.List(ctx, &extensions, client.InNamespace(namespace)); err != nil {
		return s, err
	}
	s.extensions = extensions.Items
	err := r.gatherBackends(ctx, &s)
	if err == nil {
		err = r.gatherOthers(ctx, &s)
	}
	if err == nil {
		err = r.gatherSecrets(ctx, &s)
	}
	if err != nil {
		return s, err
	}
	s.holds, err = r.findHolds(ctx, s)
	return s, err
}

// gatherBackends reads the Backends of the namespace, and those elsewhere that its
// Extensions name and that allow it.
func (r *Reconciler) gatherBackends(ctx context.Context, s *namespaceState) error {
	var backends v1alpha1.BackendList
	if err := r.Client.List(ctx, &backends, client.InNamespace(s.namespace)); err != nil {
		return err
	}
	for i := range backends.Items {
		s.backends = append(s.backends, &servedBackend{Backend: &backends.Items[i], allowed: map[string]bool{}})
	}
	seen := map[types.NamespacedName]bool{}
	for i := range s.extensions {
		for _, name := range sharing.References(&s.extensions[i]) {
			if name.Namespace == s.namespace || seen[name] {
				continue
			}
			seen[name] = true
			b, err := r.consent().Find(ctx, name, s.namespace)
			if err != nil {
				return err
			}
			if b != nil {
				s.backends = append(s.backends, &servedBackend{Backend: b, allowed: map[string]bool{s.namespace: true}})
			}
		}
	}
	return nil
}

// gatherOthers reads the Extensions of other namespaces that the same Backends serve.
func (r *Reconciler) gatherOthers(ctx context.Context, s *namespaceState) error {
	if !slices.ContainsFunc(s.backends, func(b *servedBackend) bool { return sharing.IsShared(b.Backend) }) {
		return nil
	}
	var all v1alpha1.ExtensionList
	if err := r.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range all.Items {
		e := &all.Items[i]
		if e.Namespace == s.namespace {
			continue
		}
		served := false
		for _, b := range s.backends {
			if !sharing.Wants(e, b.Backend) {
				continue
			}
			if _, known := b.allowed[e.Namespace]; !known && e.Namespace != b.Namespace {
				allowed, err := r.consent().Allows(ctx, b.Backend, e.Namespace)
				if err != nil {
					return err
				}
				b.allowed[e.Namespace] = allowed
			}
			served = served || b.serves(e)
		}
		if served {
			s.others = append(s.others, *e.DeepCopy())
		}
	}
	// Of a namespace that is not watched the entry stays as it is: see findHoldings.
	s.others = slices.DeleteFunc(s.others, func(e v1alpha1.Extension) bool { return !r.consent().Sees(e.Namespace) })
	return nil
}

// gatherSecrets reads the Secrets of all Extensions, each in its own namespace.
func (r *Reconciler) gatherSecrets(ctx context.Context, s *namespaceState) error {
	names := map[string][]string{}
	for _, extensions := range [][]v1alpha1.Extension{s.extensions, s.others} {
		for i := range extensions {
			e := &extensions[i]
			names[e.Namespace] = append(names[e.Namespace], registry.SecretNames(e)...)
		}
	}
	for namespace, wanted := range names {
		contents, err := secrets.ReadAll(ctx, r.Client, namespace, wanted, secrets.IsUnreadable)
		if err != nil {
			return err
		}
		s.secrets[namespace] = contents
	}
	return nil
}

// findingOf returns what the Backends of an Extension make of it: a key is usable, and
// an id free, where that is so in all of them.
func (s namespaceState) findingOf(e *v1alpha1.Extension) *registry.Finding {
	name := client.ObjectKeyFromObject(e)
	all := s.alone.Findings[name]
	first := true
	for _, b := range s.backends {
		finding := b.rendering.Findings[name]
		if finding == nil {
			continue
		}
		if first {
			all = finding
		} else {
			all = all.Merge(finding)
		}
		first = false
	}
	return all
}
