package extension

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// The pause before pods are asked again is a quarter of the time that an Extension has
// waited, within these bounds. A kubelet takes up to two minutes to bring a registry to a
// pod.
const (
	minPodPause = 2 * time.Second
	maxPodPause = time.Minute
)

// confirmation collects the answers of pods about an Extension whose keys not all of them
// have accepted.
type confirmation struct {
	extension *v1alpha1.Extension
	keys      map[types.UID][][]byte // by Backend
	mark      [sha256.Size]byte      // of the keys and the Backends
	refused   *status.Problem        // by a pod that does not have a key
	unknown   *status.Problem        // because pods did not answer
}

// confirm asks the ready pods whether they accept the active keys of the Extensions. It
// asks for each Extension until all pods did, and again when a key or a Backend is new:
// pods that start later read the registry first.
func (r *Reconciler) confirm(ctx context.Context, s namespaceState) ([]*confirmation, error) {
	if r.Pods == nil {
		return nil, nil
	}
	open := r.findUnconfirmed(s)
	for _, b := range s.backends {
		questions := slices.DeleteFunc(slices.Clone(open), func(c *confirmation) bool { return len(c.keys[b.UID]) == 0 })
		if len(questions) == 0 || !b.DeletionTimestamp.IsZero() {
			continue
		}
		pods, err := r.readyPods(ctx, b.Backend)
		if err != nil {
			return nil, err
		}
		authority, err := r.readAuthority(ctx, b.Backend)
		if err != nil {
			return nil, err
		}
		r.Pods.ask(ctx, b.Backend, pods, authority, questions)
	}
	return slices.DeleteFunc(open, func(c *confirmation) bool {
		done := c.refused == nil && c.unknown == nil
		if done {
			r.Pods.confirmed.Add(c.extension.UID, c.mark)
		}
		return done
	}), nil
}

// findUnconfirmed returns the Extensions whose active keys not all pods have accepted,
// oldest first: pods get whole registries, so a younger one is no sooner there.
func (r *Reconciler) findUnconfirmed(s namespaceState) (open []*confirmation) {
	for i := range s.extensions {
		e := &s.extensions[i]
		if !r.Instance.Holds(e) || !e.DeletionTimestamp.IsZero() {
			continue
		}
		c := &confirmation{extension: e, keys: map[types.UID][][]byte{}}
		hash := sha256.New()
		for _, b := range s.backends {
			if !b.serves(e) {
				continue
			}
			c.keys[b.UID] = b.rendering.ActiveKeys(client.ObjectKeyFromObject(e), b.environment(), r.Now())
			_, _ = fmt.Fprintf(hash, "%s %x\n", b.UID, c.keys[b.UID]) // a hash takes everything
		}
		hash.Sum(c.mark[:0])
		known, _ := r.Pods.confirmed.Get(e.UID)
		if known != c.mark && slices.ContainsFunc(slices.Collect(maps.Values(c.keys)), func(keys [][]byte) bool { return len(keys) > 0 }) {
			open = append(open, c)
		}
	}
	slices.SortStableFunc(open, func(a, b *confirmation) int {
		return a.extension.CreationTimestamp.Compare(b.extension.CreationTimestamp.Time)
	})
	return open
}

// readyPods returns the pods of a Backend that requests reach, sorted by name.
func (r *Reconciler) readyPods(ctx context.Context, b *v1alpha1.Backend) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := r.Client.List(ctx, &pods, client.InNamespace(b.Namespace), client.MatchingLabels{
		desired.BackendLabel:  b.Name,
		desired.OperatorLabel: desired.Operator,
	})
	ready := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool {
		return p.DeletionTimestamp != nil || p.Status.PodIP == "" || !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	})
	slices.SortFunc(ready, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return ready, err
}

// readAuthority returns the certificates of the authority that a Backend's services have
// theirs from, nil without TLS.
func (r *Reconciler) readAuthority(ctx context.Context, b *v1alpha1.Backend) ([]byte, error) {
	if b.Spec.TLSSecretName == "" {
		return nil, nil
	}
	var secret corev1.Secret
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: b.Spec.TLSSecretName}, &secret)
	return secret.Data[desired.AuthorityKey], client.IgnoreNotFound(err)
}

// findPodProblem returns what pods lack of an Extension. Without an answer, an Extension that
// they had before stays registered.
func findPodProblem(e *v1alpha1.Extension, open []*confirmation) *status.Problem {
	i := slices.IndexFunc(open, func(c *confirmation) bool { return c.extension.Name == e.Name })
	if i < 0 {
		return nil
	}
	before := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.Registered)
	if before != nil && before.Status == metav1.ConditionTrue && before.ObservedGeneration == e.Generation {
		return open[i].refused
	}
	return status.FirstProblem(open[i].refused, open[i].unknown)
}

// untilAsked returns the time until pods are asked again, 0 if none have to be.
func (r *Reconciler) untilAsked(open []*confirmation) (wait time.Duration) {
	for _, c := range open {
		pause := minPodPause
		if ready := meta.FindStatusCondition(c.extension.Status.Conditions, v1alpha1.Ready); ready != nil {
			pause = min(max(r.Now().Sub(ready.LastTransitionTime.Time)/4, minPodPause), maxPodPause)
		}
		if wait == 0 || pause < wait {
			wait = pause
		}
	}
	return wait
}
