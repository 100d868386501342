package backend

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
)

// world is what a decision rests on.
type world struct {
	now     time.Time
	backend *v1alpha1.Backend
	// want is what the Backend should consist of.
	want desired.Set
	// have is what there is with its labels, by kind and name.
	have map[id]client.Object
	// pods are those that are not on their way out, by name.
	pods []corev1.Pod
	// database and registry say whether the Secrets are there, routes whether the
	// cluster knows HTTPRoutes.
	database, registry, routes bool
}

type id struct{ kind, name string }

// deployment returns the one of a service, nil when there is none.
func (w *world) deployment(r desired.Rollout) *appsv1.Deployment {
	d, _ := w.have[id{"Deployment", *r.Deployment.Name}].(*appsv1.Deployment)
	return d
}

// podsOf returns the pods of a service.
func (w *world) podsOf(service string) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(w.pods), func(p corev1.Pod) bool { return p.Labels[desired.ServiceLabel] != service })
}

// gather does all reads.
func (r *Reconciler) gather(ctx context.Context, b *v1alpha1.Backend) (*world, error) {
	uri, found, err := r.secret(ctx, b.Namespace, b.Spec.MongoDB.Name, b.Spec.MongoDB.Key)
	if err != nil {
		return nil, err
	}
	_, registry, err := r.secret(ctx, b.Namespace, desired.RegistrySecret(b.Name), desired.RegistryKey)
	if err != nil {
		return nil, err
	}
	w := &world{
		now:      r.Now(),
		backend:  b,
		want:     desired.Backend(b, digest(b, uri)),
		have:     map[id]client.Object{},
		database: found,
		registry: registry,
		routes:   true,
	}
	mine := []client.ListOption{client.InNamespace(b.Namespace), client.MatchingLabels{
		desired.BackendLabel:  b.Name,
		desired.OperatorLabel: desired.Operator,
	}}
	for _, k := range kinds() {
		if err := r.list(ctx, k, w, mine); err != nil {
			return nil, err
		}
	}
	return w, r.listPods(ctx, w, mine)
}

// secret returns an entry that is not empty, and whether there is one.
func (r *Reconciler) secret(ctx context.Context, namespace, name, key string) (value []byte, found bool, err error) {
	var secret corev1.Secret
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &secret); err != nil {
		return nil, false, client.IgnoreNotFound(err)
	}
	value = secret.Data[key]
	return value, len(value) > 0, nil
}

// digest returns a short name of a secret text that nobody can look up: it is
// another one for each Backend.
func digest(b *v1alpha1.Backend, secret []byte) string {
	sum := sha256.Sum256(append([]byte(b.UID+"/"), secret...))
	return hex.EncodeToString(sum[:8])
}

// list notes down the objects of one kind.
func (r *Reconciler) list(ctx context.Context, k kind, w *world, mine []client.ListOption) error {
	err := r.Client.List(ctx, k.list, mine...)
	if meta.IsNoMatchError(err) && k.name == desired.HTTPRouteKind {
		w.routes = false
		return nil
	}
	if err != nil {
		return fmt.Errorf("list objects of kind %s: %w", k.name, err)
	}
	return meta.EachListItem(k.list, func(o runtime.Object) error {
		object := o.(client.Object)
		w.have[id{k.name, object.GetName()}] = object
		return nil
	})
}

func (r *Reconciler) listPods(ctx context.Context, w *world, mine []client.ListOption) error {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, mine...); err != nil {
		return err
	}
	w.pods = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool {
		return p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	})
	slices.SortFunc(w.pods, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}
