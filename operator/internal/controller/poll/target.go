package poll

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
	"github.com/acclaim-dev/acclaim/services/votingclient"
)

// target is where a Poll's configuration belongs.
type target struct {
	service *votingclient.Client
	poll    votingclient.Poll
}

// problem is why a Poll is not as declared.
type problem struct {
	condition, reason, message string
	retry                      error // nil when only a change of some resource helps
}

func unavailable(reason, format string, args ...any) *problem {
	return &problem{condition: v1alpha1.ServicesAvailable, reason: reason, message: fmt.Sprintf(format, args...)}
}

func unconfigured(reason, format string, args ...any) *problem {
	return &problem{condition: v1alpha1.Configured, reason: reason, message: fmt.Sprintf(format, args...)}
}

// target finds the service, the poll in it and the key that opens it.
func (r *Reconciler) target(ctx context.Context, p *v1alpha1.Poll) (target, *problem, error) {
	backend, problem, err := r.backend(ctx, p)
	if problem != nil || err != nil {
		return target{}, problem, err
	}
	var extension v1alpha1.Extension
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: p.Spec.ExtensionRef.Name}, &extension)
	if apierrors.IsNotFound(err) {
		return target{}, unconfigured(v1alpha1.ReasonExtensionNotFound, "Extension %q does not exist", p.Spec.ExtensionRef.Name), nil
	}
	if err != nil {
		return target{}, nil, err
	}
	if problem, err := r.conflict(ctx, p); problem != nil || err != nil {
		return target{}, problem, err
	}
	secret, problem, err := r.key(ctx, &extension, backend.Spec.Environment)
	if problem != nil || err != nil {
		return target{}, problem, err
	}
	return target{
		service: votingclient.New(r.Endpoint(backend), r.HTTP, r.Now),
		poll: votingclient.Poll{
			ClientID: string(extension.Spec.ClientID),
			Secret:   secret,
			Channel:  p.Spec.Channel,
			ID:       p.PollID(),
		},
	}, nil, nil
}

// backend returns the Backend that serves a Poll. A namespace without any gets
// the operator's default, unless the Poll is on its way out.
func (r *Reconciler) backend(ctx context.Context, p *v1alpha1.Poll) (*v1alpha1.Backend, *problem, error) {
	var list v1alpha1.BackendList
	if err := r.Client.List(ctx, &list, client.InNamespace(p.Namespace)); err != nil {
		return nil, nil, err
	}
	if found := choose(p, list.Items); found != nil {
		return found, nil, nil
	}
	switch {
	case p.Spec.BackendRef != nil:
		return nil, unavailable(v1alpha1.ReasonBackendNotFound, "Backend %q does not exist", p.Spec.BackendRef.Name), nil
	case len(list.Items) > 0:
		return nil, unavailable(v1alpha1.ReasonBackendAmbiguous, "The namespace has several Backends, none of them named %q: set backendRef", defaultBackend), nil
	case r.DefaultBackend == nil || !p.DeletionTimestamp.IsZero():
		return nil, unavailable(v1alpha1.ReasonBackendNotFound, "The namespace has no Backend"), nil
	}
	created := &v1alpha1.Backend{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: defaultBackend},
		Spec:       *r.DefaultBackend.DeepCopy(),
	}
	return created, nil, client.IgnoreAlreadyExists(r.Client.Create(ctx, created))
}

const defaultBackend = "default"

// choose returns the Backend that a Poll names or means, nil when there is none.
func choose(p *v1alpha1.Poll, backends []v1alpha1.Backend) *v1alpha1.Backend {
	name := defaultBackend
	if p.Spec.BackendRef != nil {
		name = p.Spec.BackendRef.Name
	}
	for i := range backends {
		if backends[i].Name == name {
			return &backends[i]
		}
	}
	if p.Spec.BackendRef == nil && len(backends) == 1 {
		return &backends[0]
	}
	return nil
}

// conflict says whether an older Poll declares the same poll.
func (r *Reconciler) conflict(ctx context.Context, p *v1alpha1.Poll) (*problem, error) {
	var polls v1alpha1.PollList
	err := r.Client.List(ctx, &polls, client.InNamespace(p.Namespace), client.MatchingFields{ExtensionField: p.Spec.ExtensionRef.Name})
	if err != nil {
		return nil, err
	}
	for i := range polls.Items {
		if other := &polls.Items[i]; samePoll(p, other) && older(other, p) {
			return unconfigured(v1alpha1.ReasonConflict, "Poll %q is older and declares the same poll", other.Name), nil
		}
	}
	return nil, nil
}

// samePoll reports whether two Polls of one Extension declare one poll. Naming
// no Backend may mean any.
func samePoll(a, b *v1alpha1.Poll) bool {
	sameBackend := a.Spec.BackendRef == nil || b.Spec.BackendRef == nil || *a.Spec.BackendRef == *b.Spec.BackendRef
	return sameBackend && a.Spec.Channel == b.Spec.Channel && a.PollID() == b.PollID()
}

func older(a, b *v1alpha1.Poll) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.UID < b.UID
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}

// key returns the oldest active key of an Extension that can be used: while keys
// are rotated it is the one that every pod of the service knows.
func (r *Reconciler) key(ctx context.Context, extension *v1alpha1.Extension, environment string) ([]byte, *problem, error) {
	keys := extension.Spec.Keys
	if environment == "sandbox" {
		keys = nil
		if extension.Spec.Sandbox != nil {
			keys = extension.Spec.Sandbox.Keys
		}
	}
	var (
		oldest time.Time
		best   []byte
	)
	for _, key := range keys {
		var from time.Time
		if key.ActiveFrom != nil {
			from = key.ActiveFrom.Time
		}
		if from.After(r.Now()) || best != nil && !from.Before(oldest) {
			continue
		}
		value, err := r.secret(ctx, extension.Namespace, key.SecretRef)
		if err != nil {
			return nil, nil, err
		}
		if value != nil {
			oldest, best = from, value
		}
	}
	if best == nil {
		return nil, unconfigured(v1alpha1.ReasonNoKey, "Extension %q has no usable %s key", extension.Name, environment), nil
	}
	return best, nil, nil
}

// secret returns a decoded key, nil when it is not there or not base64.
func (r *Reconciler) secret(ctx context.Context, namespace string, ref v1alpha1.SecretKeyReference) ([]byte, error) {
	var secret corev1.Secret
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, &secret); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	decoded, err := registry.DecodeKey(secret.Data[ref.Key])
	if err != nil {
		return nil, nil //nolint:nilerr // the Extension's conditions say what is wrong with it
	}
	return decoded, nil
}
