// Package scope finds out which namespaces an operator can watch. A cache that waits for a
// namespace without rights waits without end, and everything with it; so it must not be given
// one that is gone, not there yet or without the rights of the operator's role.
//
// It reads no resource of the project.
package scope

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A State tells whether a namespace can be watched.
type State string

// The states of a namespace. Only the first can be watched.
const (
	Watched     State = "watched"
	Missing     State = "missing"
	Terminating State = "terminating" // without rights: they went first
	Forbidden   State = "forbidden"
)

// States returns all states.
func States() []State { return []State{Watched, Missing, Terminating, Forbidden} }

// Namespace is one that an operator is to watch.
type Namespace struct {
	Name  string
	State State
	// Lacks is the first right that is missing, such as "list secrets".
	Lacks string
}

// Resolver looks at the namespaces that an operator is to watch. It is not safe for concurrent
// use.
type Resolver struct {
	// Client asks the API server, without a cache.
	Client client.Client
	// Names are namespaces to watch.
	Names []string
	// Selector selects further ones by their labels; nil selects none.
	Selector labels.Selector
	// Rights are those that watching a namespace takes; see RightsTo. Of a namespace that could
	// be watched the last time, only the first is asked for: one RoleBinding grants all, and the
	// API server answers each question separately.
	Rights []authorizationv1.ResourceAttributes

	watched map[string]bool
}

// RightsTo returns the rights to list and watch each kind of some objects. A kind that the
// cluster does not know needs none.
func RightsTo(c client.Client, objects ...client.Object) (rights []authorizationv1.ResourceAttributes, err error) {
	for _, o := range objects {
		gvk, err := c.GroupVersionKindFor(o)
		if err != nil {
			return nil, err
		}
		mapping, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, verb := range []string{"list", "watch"} {
			rights = append(rights, authorizationv1.ResourceAttributes{Group: mapping.Resource.Group, Resource: mapping.Resource.Resource, Verb: verb})
		}
	}
	return rights, nil
}

// Resolve returns the namespaces to watch with their states, by name. It fails when the API
// server does not answer.
func (r *Resolver) Resolve(ctx context.Context) ([]Namespace, error) {
	names := map[string]bool{}
	for _, name := range r.Names {
		names[name] = true
	}
	if r.Selector != nil {
		list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}}
		if err := r.Client.List(ctx, &list, client.MatchingLabelsSelector{Selector: r.Selector}); err != nil {
			return nil, fmt.Errorf("select namespaces: %w", err)
		}
		for i := range list.Items {
			names[list.Items[i].Name] = true
		}
	}
	var all []Namespace
	watched := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		n, err := r.look(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("namespace %q: %w", name, err)
		}
		all = append(all, n)
		watched[name] = n.State == Watched
	}
	r.watched = watched
	return all, nil
}

// look returns the state of a namespace. An operator that may not read the namespace itself
// cannot tell one that is gone from one without rights.
func (r *Resolver) look(ctx context.Context, name string) (Namespace, error) {
	object := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
	err := r.Client.Get(ctx, client.ObjectKey{Name: name}, &object)
	switch {
	case apierrors.IsNotFound(err):
		return Namespace{Name: name, State: Missing}, nil
	case err != nil && !apierrors.IsForbidden(err):
		return Namespace{}, err
	}
	rights := r.Rights
	if r.watched[name] {
		rights = rights[:min(1, len(rights))]
	}
	lacks, err := FindMissing(ctx, r.Client, name, rights)
	if err != nil {
		return Namespace{}, err
	}
	n := Namespace{Name: name, State: Watched, Lacks: lacks}
	switch {
	case lacks != "" && object.DeletionTimestamp != nil:
		n.State = Terminating
	case lacks != "":
		n.State = Forbidden
	}
	return n, nil
}

// FindMissing returns the first of some rights that a client does not have in a namespace,
// such as "list secrets"; "" if it has all. The namespace "" stands for all.
func FindMissing(ctx context.Context, c client.Client, namespace string, rights []authorizationv1.ResourceAttributes) (string, error) {
	for _, right := range rights {
		right.Namespace = namespace
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
		if err := c.Create(ctx, review); err != nil {
			return "", err
		}
		if !review.Status.Allowed {
			return strings.TrimSuffix(fmt.Sprintf("%s %s.%s", right.Verb, right.Resource, right.Group), "."), nil
		}
	}
	return "", nil
}

// WatchedOf returns the names of the namespaces that can be watched.
func WatchedOf(all []Namespace) (names []string) {
	for _, n := range all {
		if n.State == Watched {
			names = append(names, n.Name)
		}
	}
	return names
}
