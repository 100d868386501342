package poll

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
	"github.com/acclaim-dev/acclaim/services/votingclient"
)

// target is where a Poll's configuration belongs.
type target struct {
	backend *v1alpha1.Backend
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

// worse returns the first problem there is.
func worse(problems ...*problem) *problem {
	for _, p := range problems {
		if p != nil {
			return p
		}
	}
	return nil
}

// unanswered says why a service that should answer did not. The message is the
// same for every attempt: a changing one would be a write each.
func unanswered(backend *v1alpha1.Backend, err error) *problem {
	p := unavailable(v1alpha1.ReasonServiceUnreachable, "The voting service does not answer")
	ready := meta.FindStatusCondition(backend.Status.Conditions, v1alpha1.Ready)
	switch {
	case ready != nil && ready.Status != metav1.ConditionTrue:
		p = unavailable(v1alpha1.ReasonBackendNotReady, "Backend %q: %s: %s", backend.Name, ready.Reason, ready.Message)
	case votingclient.StatusOf(err) != 0:
		p.message = err.Error()
	}
	p.retry = err
	return p
}

// target finds the service, the poll in it and the keys that open it.
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
	if problem, err := r.conflict(ctx, p, &extension, backend); problem != nil || err != nil {
		return target{}, problem, err
	}
	keys, problem, err := r.keys(ctx, &extension, backend.Spec.Environment)
	if problem != nil || err != nil {
		return target{}, problem, err
	}
	return target{
		backend: backend,
		service: votingclient.New(r.Endpoint(backend), r.HTTP, r.Now),
		poll: votingclient.Poll{
			ClientID: string(extension.Spec.ClientID),
			Keys:     keys,
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

// choose returns the Backend that a Poll names or, when it names none, the one
// that it is in already, the default one or the only one. It returns nil when
// there is none of these.
func choose(p *v1alpha1.Poll, backends []v1alpha1.Backend) *v1alpha1.Backend {
	names := []string{p.Status.Backend, defaultBackend}
	if p.Spec.BackendRef != nil {
		names = []string{p.Spec.BackendRef.Name}
	} else if len(backends) == 1 {
		return &backends[0]
	}
	for _, name := range names {
		i := slices.IndexFunc(backends, func(b v1alpha1.Backend) bool { return b.Name == name })
		if i >= 0 {
			return &backends[i]
		}
	}
	return nil
}

// keys returns the active keys of an Extension that can be used, the oldest
// first: while keys are exchanged it is the one that every pod of the service
// knows.
func (r *Reconciler) keys(ctx context.Context, extension *v1alpha1.Extension, environment string) ([][]byte, *problem, error) {
	declared := extension.Spec.Keys
	if environment == "sandbox" {
		declared = nil
		if extension.Spec.Sandbox != nil {
			declared = extension.Spec.Sandbox.Keys
		}
	}
	active := slices.DeleteFunc(slices.Clone(declared), func(k v1alpha1.Key) bool { return activeFrom(k).After(r.Now()) })
	slices.SortStableFunc(active, func(a, b v1alpha1.Key) int { return activeFrom(a).Compare(activeFrom(b)) })
	var usable [][]byte
	for _, key := range active {
		value, err := r.secret(ctx, extension.Namespace, key.SecretRef)
		if err != nil {
			return nil, nil, err
		}
		if value != nil {
			usable = append(usable, value)
		}
	}
	if usable == nil {
		return nil, unconfigured(v1alpha1.ReasonNoKey, "Extension %q has no usable %s key", extension.Name, environment), nil
	}
	return usable, nil, nil
}

// activeFrom returns when a key comes into force, the zero time for always.
func activeFrom(k v1alpha1.Key) (from time.Time) {
	if k.ActiveFrom != nil {
		from = k.ActiveFrom.Time
	}
	return from
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
