package poll

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	acclaim "github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
	"github.com/acclaim-dev/acclaim/operator/internal/secrets"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// pollTarget is the service that a Poll's configuration belongs to, and the poll
// in it.
type pollTarget struct {
	backend *v1alpha1.Backend
	service *acclaim.Client
	// clientID is that of the extension.
	clientID string
	poll     string // its id
	// registered is the time from which the Backend's registry has the Extension.
	registered time.Time
}

func newBackendProblem(reason, format string, args ...any) *status.Problem {
	return status.NewProblem(v1alpha1.ServicesAvailable, reason, format, args...)
}

func newConfigProblem(reason, format string, args ...any) *status.Problem {
	return status.NewProblem(v1alpha1.Configured, reason, format, args...)
}

// newServiceProblem returns the problem of a service that should answer and did
// not. The message is the same for every attempt: each change is a write.
func newServiceProblem(backend *v1alpha1.Backend, err error) *status.Problem {
	problem := newBackendProblem(v1alpha1.ReasonServiceUnreachable, "The voting service does not answer")
	ready := meta.FindStatusCondition(backend.Status.Conditions, v1alpha1.Ready)
	switch {
	case ready != nil && ready.Status != metav1.ConditionTrue:
		problem = newBackendProblem(v1alpha1.ReasonBackendNotReady, "Backend %q: %s: %s", backend.Name, ready.Reason, ready.Message)
	case isUntrusted(err):
		problem.Message = fmt.Sprintf("The certificate of the voting service is not valid for its name and the authority in Secret %q", backend.Spec.TLSSecretName)
	case acclaim.StatusOf(err) != 0:
		problem.Message = err.Error()
	}
	problem.Retry = err
	return problem
}

// defaultBackend is the name of the Backend that serves Polls that name none.
const defaultBackend = "default"

// ensureBackend returns the Backends of a Poll's namespace. If there is none, and
// the Poll does not name one, it creates the operator's default.
func (r *Reconciler) ensureBackend(ctx context.Context, p *v1alpha1.Poll) ([]v1alpha1.Backend, error) {
	backends, err := r.listBackends(ctx, p.Namespace)
	if err != nil || len(backends) > 0 || p.Spec.BackendRef != nil || r.DefaultBackend == nil {
		return backends, err
	}
	created := v1alpha1.Backend{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: defaultBackend},
		Spec:       *r.DefaultBackend.DeepCopy(),
	}
	r.Instance.Mark(&created)
	err = r.Client.Create(ctx, &created)
	return []v1alpha1.Backend{created}, client.IgnoreAlreadyExists(err)
}

func (r *Reconciler) listBackends(ctx context.Context, namespace string) ([]v1alpha1.Backend, error) {
	var list v1alpha1.BackendList
	err := r.Client.List(ctx, &list, client.InNamespace(namespace))
	return list.Items, err
}

// findTarget finds the service, the poll in it and the keys to sign with.
func (r *Reconciler) findTarget(ctx context.Context, p *v1alpha1.Poll, backends []v1alpha1.Backend) (pollTarget, *status.Problem, error) {
	backend, problem := findBackend(p, backends)
	if problem != nil {
		return pollTarget{}, problem, nil
	}
	var extension v1alpha1.Extension
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: p.Spec.ExtensionRef.Name}, &extension)
	if apierrors.IsNotFound(err) {
		return pollTarget{}, newConfigProblem(v1alpha1.ReasonExtensionNotFound, "Extension %q does not exist", p.Spec.ExtensionRef.Name), nil
	}
	if err != nil {
		return pollTarget{}, nil, err
	}
	if problem, err := r.findConflict(ctx, p, &extension, backend, backends); problem != nil || err != nil {
		return pollTarget{}, problem, err
	}
	keys, problem, err := r.findSigningKeys(ctx, p, &extension, backend)
	if problem != nil || err != nil {
		return pollTarget{}, problem, err
	}
	service, problem, err := r.clientFor(ctx, backend)
	if problem != nil || err != nil {
		return pollTarget{}, problem, err
	}
	signer := acclaim.Signer{ClientID: string(extension.Spec.ClientID), Keys: keys, Channel: p.Spec.Channel, Now: r.Now}
	return pollTarget{
		backend: backend,
		// The controller repeats what fails.
		service:    acclaim.New(r.Endpoint(backend), signer.Credentials, acclaim.Options{HTTP: service, Attempts: 1}),
		clientID:   signer.ClientID,
		poll:       p.PollID(),
		registered: r.registeredAt(&extension),
	}, nil, nil
}

// findSigningKeys returns the keys of an Extension or, for a Poll that is being deleted,
// those that its Backend still has.
func (r *Reconciler) findSigningKeys(ctx context.Context, p *v1alpha1.Poll, extension *v1alpha1.Extension, backend *v1alpha1.Backend) ([][]byte, *status.Problem, error) {
	keys, problem, err := r.findKeys(ctx, extension, registry.Environment(backend.Spec.Environment))
	if err == nil && problem != nil && !p.DeletionTimestamp.IsZero() {
		if keys, err = r.findPublishedKeys(ctx, extension, backend); len(keys) > 0 {
			problem = nil
		}
	}
	return keys, problem, err
}

// findBackend returns the Backend that serves a Poll.
func findBackend(p *v1alpha1.Poll, backends []v1alpha1.Backend) (*v1alpha1.Backend, *status.Problem) {
	backend := chooseBackend(p, backends)
	switch {
	case backend != nil && p.DeletionTimestamp.IsZero() && !slices.Contains(desired.Services(backend), desired.Voting):
		return nil, newBackendProblem(v1alpha1.ReasonServiceDisabled, "Backend %q runs no voting service", backend.Name)
	case backend != nil:
		return backend, nil
	case p.Spec.BackendRef != nil:
		return nil, newBackendProblem(v1alpha1.ReasonBackendNotFound, "Backend %q does not exist", p.Spec.BackendRef.Name)
	case len(backends) > 0:
		return nil, newBackendProblem(v1alpha1.ReasonBackendAmbiguous, "The namespace has several Backends, none of them named %q: set backendRef", defaultBackend)
	}
	return nil, newBackendProblem(v1alpha1.ReasonBackendNotFound, "The namespace has no Backend")
}

// chooseBackend returns the Backend that a Poll names. If it names none, it is the
// only one, the one that holds the Poll's configuration, or the default one, in
// this order; nil if none of these exists.
func chooseBackend(p *v1alpha1.Poll, backends []v1alpha1.Backend) *v1alpha1.Backend {
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

// findKeys returns the active keys of an Extension that can be used, oldest first.
func (r *Reconciler) findKeys(ctx context.Context, extension *v1alpha1.Extension, environment registry.Environment) ([][]byte, *status.Problem, error) {
	active := registry.ActiveKeys(extension, environment, r.Now())
	contents, err := secrets.ReadAll(ctx, r.Client, extension.Namespace, active.SecretNames(), apierrors.IsNotFound)
	if err != nil {
		return nil, nil, err
	}
	keys := active.Decode(contents)
	if len(keys) == 0 {
		return nil, newConfigProblem(v1alpha1.ReasonNoKey, "Extension %q has no usable %s key", extension.Name, environment), nil
	}
	return keys, nil, nil
}

// registeredAt returns the time from which an Extension is in the registries, now while
// pods have yet to read it, and the zero time if it is not known.
func (r *Reconciler) registeredAt(e *v1alpha1.Extension) (at time.Time) {
	c := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.Registered)
	switch {
	case c == nil:
		return at
	case c.Reason == v1alpha1.ReasonWaitingForRegistry:
		return r.Now()
	case c.Status == metav1.ConditionTrue:
		return c.LastTransitionTime.Time
	}
	return at
}
