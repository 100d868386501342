// Package sharing decides which Backend an object names, and whether the Backend allows
// the object's namespace: the owner of a Backend consents in its spec.allowedNamespaces.
//
// To a namespace that is not allowed, a Backend that is not there and one that does not
// allow the namespace look the same.
package sharing

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// Consent answers who may use a Backend, from what an operator sees.
type Consent struct {
	// Client reads Backends and the metadata of namespaces.
	Client client.Reader
	// Watched are the namespaces that the operator watches; none means all.
	Watched []string
	// Labels permits the operator of some namespaces to read their labels, as one of all
	// namespaces may.
	Labels bool
}

// Sees reports whether a namespace is among those that are watched; none means all.
func Sees(watched []string, namespace string) bool {
	return len(watched) == 0 || slices.Contains(watched, namespace)
}

// Resolve returns the Backend that a reference in a namespace names.
func Resolve(ref *v1alpha1.BackendReference, namespace string) types.NamespacedName {
	if ref.Namespace != "" {
		namespace = ref.Namespace
	}
	return types.NamespacedName{Namespace: namespace, Name: ref.Name}
}

// ReferenceOf returns the Backend that an Extension names for an environment; nil stands
// for those of its namespace.
func ReferenceOf(e *v1alpha1.Extension, environment string) *v1alpha1.BackendReference {
	if environment != "sandbox" {
		return e.Spec.BackendRef
	}
	if e.Spec.Sandbox == nil {
		return nil
	}
	return e.Spec.Sandbox.BackendRef
}

// References returns the Backends that an Extension names.
func References(e *v1alpha1.Extension) (names []types.NamespacedName) {
	for _, environment := range []string{"production", "sandbox"} {
		if ref := ReferenceOf(e, environment); ref != nil {
			names = append(names, Resolve(ref, e.Namespace))
		}
	}
	return names
}

// HolderOf returns the name of the Backend that holds a Poll's configuration; the one
// without a name is none.
func HolderOf(p *v1alpha1.Poll) types.NamespacedName {
	if p.Status.Backend == "" {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: cmp.Or(p.Status.BackendNamespace, p.Namespace), Name: p.Status.Backend}
}

// Wants reports whether an Extension is one for a Backend, which may not allow it.
func Wants(e *v1alpha1.Extension, b *v1alpha1.Backend) bool {
	ref := ReferenceOf(e, b.Spec.Environment)
	if ref == nil {
		return e.Namespace == b.Namespace
	}
	return Resolve(ref, e.Namespace) == client.ObjectKeyFromObject(b)
}

// IsShared reports whether a Backend may have Extensions of other namespaces.
func IsShared(b *v1alpha1.Backend) bool {
	allowed := b.Spec.AllowedNamespaces
	return allowed != nil && (allowed.From == v1alpha1.FromAll || allowed.From == v1alpha1.FromSelector)
}

// Find returns the Backend of a name that allows a namespace, nil if there is none.
func (c Consent) Find(ctx context.Context, name types.NamespacedName, namespace string) (*v1alpha1.Backend, error) {
	if !c.Sees(name.Namespace) {
		return nil, nil
	}
	var b v1alpha1.Backend
	if err := c.Client.Get(ctx, name, &b); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if allowed, err := c.Allows(ctx, &b, namespace); !allowed || err != nil {
		return nil, err
	}
	return &b, nil
}

// Sees reports whether the operator watches a namespace.
func (c Consent) Sees(namespace string) bool { return Sees(c.Watched, namespace) }

// ReadsLabels reports whether the operator may read labels of namespaces.
func (c Consent) ReadsLabels() bool { return len(c.Watched) == 0 || c.Labels }

// Allows reports whether a Backend allows objects of a namespace to name it.
func (c Consent) Allows(ctx context.Context, b *v1alpha1.Backend, namespace string) (bool, error) {
	if namespace == b.Namespace {
		return true, nil
	}
	if !IsShared(b) {
		return false, nil
	}
	if b.Spec.AllowedNamespaces.From == v1alpha1.FromAll {
		return true, nil
	}
	selector, err := c.Selector(b)
	if err != nil {
		return false, nil //nolint:nilerr // the Backend's own status reports it
	}
	if !c.ReadsLabels() {
		return selector.Matches(labels.Set{corev1.LabelMetadataName: namespace}), nil
	}
	object := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
	if err := c.Client.Get(ctx, client.ObjectKey{Name: namespace}, &object); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return selector.Matches(labels.Set(object.Labels)), nil
}

// Selector returns the selector of a Backend with from: Selector. The error is for the
// owner of the Backend.
func (c Consent) Selector(b *v1alpha1.Backend) (labels.Selector, error) {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.AllowedNamespaces.Selector)
	if err != nil {
		return nil, fmt.Errorf("allowedNamespaces.selector: %w", err)
	}
	requirements, _ := selector.Requirements()
	for _, requirement := range requirements {
		if !c.ReadsLabels() && requirement.Key() != corev1.LabelMetadataName {
			return nil, fmt.Errorf("allowedNamespaces.selector: the operator watches only the namespaces %s and reads no labels of namespaces: select by %s, which is the name, instead of %q",
				strings.Join(c.Watched, ", "), corev1.LabelMetadataName, requirement.Key())
		}
	}
	return selector, nil
}

// DescribeMissing returns the sentence about a Backend that Find does not return.
func (c Consent) DescribeMissing(name types.NamespacedName, namespace string) string {
	if name.Namespace == namespace {
		return fmt.Sprintf("Backend %q does not exist", name.Name)
	}
	sentence := fmt.Sprintf("Backend %q does not exist or does not allow the namespace %q", name, namespace)
	if !c.Sees(name.Namespace) {
		sentence += fmt.Sprintf("; the operator does not watch the namespace %q", name.Namespace)
	}
	return sentence
}

// NameFrom returns the name of an object as those of a namespace name it.
func NameFrom(o client.Object, namespace string) string {
	if o.GetNamespace() == namespace {
		return o.GetName()
	}
	return o.GetNamespace() + "/" + o.GetName()
}
