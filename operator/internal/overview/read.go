package overview

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
)

// Reader reads overviews.
type Reader struct {
	Client client.Reader
	Now    time.Time
}

// inventory holds the objects that were read.
type inventory struct {
	client      client.Reader
	now         time.Time
	namespace   string // "" is all of them
	backends    []v1alpha1.Backend
	extensions  []v1alpha1.Extension
	polls       []v1alpha1.Poll
	backups     []unstructured.Unstructured
	deployments []appsv1.Deployment
	pods        []corev1.Pod
	events      []eventsv1.Event
	unread      []string
}

// Read returns the overview of a namespace, "" for all, and of the Backends of other
// namespaces that its objects name. With the name of a Backend it is that of the Backend
// alone, and of its operator.
func (r Reader) Read(ctx context.Context, namespace, backend string) (*Overview, error) {
	in := &inventory{client: r.Client, now: r.Now, namespace: namespace}
	if err := in.read(ctx); err != nil {
		return nil, err
	}
	if backend != "" {
		in.backends = slices.DeleteFunc(in.backends, func(b v1alpha1.Backend) bool { return b.Name != backend || b.Namespace != namespace })
		if len(in.backends) == 0 {
			return nil, fmt.Errorf("the namespace %s has no Backend %q", namespace, backend)
		}
	}
	roots := in.describeBackends()
	if backend == "" {
		roots = append(roots, in.describeRest(roots)...)
	}
	roots = append(roots, in.describeOperators(ctx, roots)...)
	return newOverview(roots, in.unread), nil
}

func (in *inventory) read(ctx context.Context) error {
	var (
		backends   v1alpha1.BackendList
		extensions v1alpha1.ExtensionList
		polls      v1alpha1.PollList
	)
	for _, list := range []client.ObjectList{&backends, &extensions, &polls} {
		if err := in.client.List(ctx, list, client.InNamespace(in.namespace)); meta.IsNoMatchError(err) {
			return fmt.Errorf("the cluster does not know Acclaim's resources, which the chart installs: %w", err)
		} else if err != nil {
			return err
		}
	}
	in.backends, in.extensions, in.polls = backends.Items, extensions.Items, polls.Items
	in.readFurther(ctx)
	in.readBackups(ctx)
	for _, namespace := range in.namespaces() {
		here := client.InNamespace(namespace)
		managed := client.MatchingLabels{desired.OperatorLabel: desired.Operator}
		in.deployments = append(in.deployments, listed[appsv1.Deployment](ctx, in, &appsv1.DeploymentList{}, here, managed)...)
		in.pods = append(in.pods, listed[corev1.Pod](ctx, in, &corev1.PodList{}, here, managed)...)
		in.events = append(in.events, listed[eventsv1.Event](ctx, in, &eventsv1.EventList{}, here)...)
	}
	return nil
}

// listed returns the objects of a list, none where the user may not read them.
func listed[T any](ctx context.Context, in *inventory, list client.ObjectList, options ...client.ListOption) []T {
	if err := in.client.List(ctx, list, options...); err != nil {
		in.miss(err)
		return nil
	}
	var items []T
	_ = meta.EachListItem(list, func(o runtime.Object) error {
		items = append(items, *any(o).(*T))
		return nil
	})
	return items
}

// miss notes an object that cannot be read.
func (in *inventory) miss(err error) { in.unread = append(in.unread, err.Error()) }

// namespaces returns those whose objects are read: "" alone stands for all.
func (in *inventory) namespaces() []string {
	if in.namespace == "" {
		return []string{""}
	}
	names := []string{in.namespace}
	for i := range in.backends {
		names = append(names, in.backends[i].Namespace)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// readFurther reads the Backends of other namespaces that Extensions and Polls name.
func (in *inventory) readFurther(ctx context.Context) {
	if in.namespace == "" {
		return
	}
	var named []types.NamespacedName
	for i := range in.extensions {
		named = append(named, sharing.References(&in.extensions[i])...)
	}
	for i := range in.polls {
		named = append(named, sharing.HolderOf(&in.polls[i]))
		if ref := in.polls[i].Spec.BackendRef; ref != nil {
			named = append(named, sharing.Resolve(ref, in.polls[i].Namespace))
		}
	}
	seen := map[types.NamespacedName]bool{{}: true}
	for _, name := range named {
		if seen[name] || name.Namespace == in.namespace {
			continue
		}
		seen[name] = true
		var b v1alpha1.Backend
		switch err := in.client.Get(ctx, name, &b); {
		case err == nil:
			in.backends = append(in.backends, b)
		case !apierrors.IsNotFound(err): // the object that names it says so
			in.miss(err)
		}
	}
}

// readBackups reads kinds that an older cluster lacks.
func (in *inventory) readBackups(ctx context.Context) {
	for _, kind := range []string{KindScheduledBackup, KindBackup} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: kind + "List"})
		switch err := in.client.List(ctx, list, client.InNamespace(in.namespace)); {
		case err == nil:
			in.backups = append(in.backups, list.Items...)
		case !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err):
			in.miss(err)
		}
	}
}
