package poll

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	acclaim "github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
	"github.com/acclaim-dev/acclaim/operator/internal/secrets"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// pollTarget is the service that a Poll's configuration belongs to, and the poll
// in it.
type pollTarget struct {
	backend   *v1alpha1.Backend
	namespace string // of the Poll
	service   *acclaim.Client
	// clientID names the extension.
	clientID string
	poll     string // its id
	// awaited is the problem of an Extension whose keys pods have yet to accept, nil without.
	awaited *status.Problem
	// registered is the time from which the Backend's registry has the Extension.
	registered time.Time
}

func newBackendProblem(reason, format string, args ...any) *status.Problem {
	return status.NewProblem(v1alpha1.ServicesAvailable, reason, format, args...)
}

func newConfigProblem(reason, format string, args ...any) *status.Problem {
	return status.NewProblem(v1alpha1.Configured, reason, format, args...)
}

// concealed returns a problem as an object of another namespace than the Backend's may
// have it: that the Backend does not serve, not why.
func concealed(problem *status.Problem, b *v1alpha1.Backend, namespace string) *status.Problem {
	if problem == nil || b == nil || b.Namespace == namespace {
		return problem
	}
	switch problem.Reason {
	case v1alpha1.ReasonBackendNotReady, v1alpha1.ReasonServiceUnreachable, v1alpha1.ReasonTLSSecretMissing:
		hidden := newBackendProblem(v1alpha1.ReasonBackendNotReady, "Backend %q does not serve now; its own conditions have the reason", sharing.NameFrom(b, namespace))
		hidden.Retry = problem.Retry
		return hidden
	}
	return problem
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

// backendChoice holds the objects that decide which Backend serves a Poll.
type backendChoice struct {
	extension *v1alpha1.Extension   // of the Poll; nil if it does not exist
	named     *types.NamespacedName // the Backend that the Poll or its Extension names, nil for none
	backends  []v1alpha1.Backend    // the candidates
}

// gatherChoice reads the Extension of a Poll and the Backends that may serve the Poll: those
// of its namespace, or the one of another that is named and allows the namespace.
func (r *Reconciler) gatherChoice(ctx context.Context, p *v1alpha1.Poll) (backendChoice, error) {
	var c backendChoice
	var e v1alpha1.Extension
	switch err := r.Client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: p.Spec.ExtensionRef.Name}, &e); {
	case err == nil:
		c.extension = &e
	case !apierrors.IsNotFound(err):
		return c, err
	}
	c.named = findReference(p, c.extension)
	if c.named == nil || c.named.Namespace == p.Namespace {
		backends, err := r.listBackends(ctx, p.Namespace)
		c.backends = backends
		return c, err
	}
	backend, err := r.consent().Find(ctx, *c.named, p.Namespace)
	if backend != nil {
		c.backends = []v1alpha1.Backend{*backend}
	}
	return c, err
}

func (r *Reconciler) consent() sharing.Consent {
	return sharing.Consent{Client: r.Client, Watched: r.Watched, Labels: r.Labels}
}

// findReference returns the Backend that a Poll names or, where it names none, its
// Extension: that of production, unless the Extension is for the sandbox alone.
func findReference(p *v1alpha1.Poll, e *v1alpha1.Extension) *types.NamespacedName {
	ref := p.Spec.BackendRef
	if ref == nil && e != nil {
		ref = e.Spec.BackendRef
		if ref == nil && len(e.Spec.Keys) == 0 {
			ref = sharing.ReferenceOf(e, string(registry.Sandbox))
		}
	}
	if ref == nil {
		return nil
	}
	return new(sharing.Resolve(ref, p.Namespace))
}

// ensureBackend creates the operator's default Backend where a Poll of an Extension has
// none: neither in its namespace nor by name. It waits for the Extension, which may name
// one.
func (r *Reconciler) ensureBackend(ctx context.Context, p *v1alpha1.Poll, c *backendChoice) error {
	if len(c.backends) > 0 || c.named != nil || c.extension == nil || r.DefaultBackend == nil {
		return nil
	}
	created := v1alpha1.Backend{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: defaultBackend},
		Spec:       *r.DefaultBackend.DeepCopy(),
	}
	r.Instance.Mark(&created)
	err := r.Client.Create(ctx, &created)
	c.backends = []v1alpha1.Backend{created}
	return client.IgnoreAlreadyExists(err)
}

func (r *Reconciler) listBackends(ctx context.Context, namespace string) ([]v1alpha1.Backend, error) {
	var list v1alpha1.BackendList
	err := r.Client.List(ctx, &list, client.InNamespace(namespace))
	return list.Items, err
}

// findTarget finds the service, the poll in it and the keys to sign with.
func (r *Reconciler) findTarget(ctx context.Context, p *v1alpha1.Poll, c backendChoice) (pollTarget, *status.Problem, error) {
	backend, problem := r.findBackend(p, c)
	// Without a Backend that is named, a missing Extension counts first: it may name one.
	if problem != nil && (c.extension != nil || c.named != nil) {
		return pollTarget{}, problem, nil
	}
	if c.extension == nil {
		return pollTarget{}, newConfigProblem(v1alpha1.ReasonExtensionNotFound, "Extension %q does not exist", p.Spec.ExtensionRef.Name), nil
	}
	if problem := findAdmission(p, c.extension, backend); problem != nil {
		return pollTarget{}, problem, nil
	}
	if problem, err := r.findConflict(ctx, p, c, backend); problem != nil || err != nil {
		return pollTarget{}, problem, err
	}
	keys, problem, err := r.findSigningKeys(ctx, p, c.extension, backend)
	if problem != nil || err != nil {
		return pollTarget{}, problem, err
	}
	service, problem, err := r.clientFor(ctx, backend)
	if problem != nil || err != nil {
		return pollTarget{}, concealed(problem, backend, p.Namespace), err
	}
	signer := acclaim.Signer{ClientID: string(c.extension.Spec.ClientID), Keys: keys, Channel: p.Spec.Channel, Now: r.Now}
	return pollTarget{
		backend:   backend,
		namespace: p.Namespace,
		// The controller repeats what fails.
		service:    acclaim.New(r.Endpoint(backend), signer.Credentials, acclaim.Options{HTTP: service, Attempts: 1}),
		clientID:   signer.ClientID,
		poll:       p.PollID(),
		awaited:    awaitExtension(c.extension),
		registered: r.registeredAt(c.extension),
	}, nil, nil
}

// findAdmission returns the reason why an Extension is not in the registry of a Backend
// that has others of other namespaces. A team with the key of one of those could write to its
// polls, so such a Poll waits until the Extension is known to be admitted.
func findAdmission(p *v1alpha1.Poll, e *v1alpha1.Extension, b *v1alpha1.Backend) *status.Problem {
	if !p.DeletionTimestamp.IsZero() || b.Namespace == p.Namespace && !sharing.IsShared(b) && e.Spec.BackendRef == nil {
		return nil
	}
	if !sharing.Wants(e, b) {
		return newConfigProblem(v1alpha1.ReasonNoKey, "Extension %q names another Backend than %q", e.Name, sharing.NameFrom(b, p.Namespace))
	}
	registered := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.Registered)
	if registered == nil {
		return newConfigProblem(v1alpha1.ReasonWaitingForRegistry, "Extension %q is not in the registry yet", e.Name)
	}
	switch registered.Reason {
	case v1alpha1.ReasonConflict:
		return newConfigProblem(v1alpha1.ReasonConflict, "Extension %q is not in the registry: %s", e.Name, registered.Message)
	case v1alpha1.ReasonTooManyExtensions, v1alpha1.ReasonRegistryFull, v1alpha1.ReasonRefNotPermitted, v1alpha1.ReasonNoBackend:
		return newConfigProblem(v1alpha1.ReasonWaitingForRegistry, "Extension %q is not in the registry: %s", e.Name, registered.Message)
	}
	return nil
}

// awaitExtension returns a problem until every ready pod is known to accept the keys of an
// Extension: one pod that takes the operator's token says nothing about the next one, which
// gets a viewer's.
func awaitExtension(e *v1alpha1.Extension) *status.Problem {
	registered := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.Registered)
	if registered != nil && registered.Reason != v1alpha1.ReasonWaitingForRegistry {
		return nil
	}
	return status.NewProblem(v1alpha1.Ready, v1alpha1.ReasonWaitingForExtension,
		"Pods have yet to accept the keys of Extension %q: see its condition %s", e.Name, v1alpha1.Registered)
}

// findSigningKeys returns the keys of an Extension. For a Poll that is being deleted they
// are preceded by those that its Backend still has, where these may be others: a service that
// has not read the registry yet knows the Extension's own.
func (r *Reconciler) findSigningKeys(ctx context.Context, p *v1alpha1.Poll, extension *v1alpha1.Extension, backend *v1alpha1.Backend) ([][]byte, *status.Problem, error) {
	keys, problem, err := r.findKeys(ctx, extension, registry.Environment(backend.Spec.Environment))
	if err != nil || p.DeletionTimestamp.IsZero() || problem == nil && meta.IsStatusConditionTrue(extension.Status.Conditions, v1alpha1.Registered) {
		return keys, problem, err
	}
	published, err := r.findPublishedKeys(ctx, extension, backend)
	if len(published) > 0 {
		keys, problem = slices.Concat(published, keys), nil
	}
	return keys, problem, err
}

// findBackend returns the Backend that serves a Poll.
func (r *Reconciler) findBackend(p *v1alpha1.Poll, c backendChoice) (*v1alpha1.Backend, *status.Problem) {
	backend := chooseBackend(p, c)
	if backend != nil {
		if problem := r.checkBackend(p, backend); problem != nil {
			return nil, problem
		}
		return backend, nil
	}
	switch {
	case c.named != nil && c.named.Namespace != p.Namespace:
		return nil, newBackendProblem(v1alpha1.ReasonRefNotPermitted, "%s", r.consent().DescribeMissing(*c.named, p.Namespace))
	case c.named != nil:
		return nil, newBackendProblem(v1alpha1.ReasonBackendNotFound, "%s", r.consent().DescribeMissing(*c.named, p.Namespace))
	case len(c.backends) > 0:
		return nil, newBackendProblem(v1alpha1.ReasonBackendAmbiguous, "The namespace has several Backends, none of them named %q: set backendRef", defaultBackend)
	}
	return nil, newBackendProblem(v1alpha1.ReasonBackendNotFound, "The namespace has no Backend")
}

// checkBackend returns why a Backend cannot serve a Poll, nil if it can. A Poll that is being
// deleted needs neither the voting service nor pods to be declared.
func (r *Reconciler) checkBackend(p *v1alpha1.Poll, b *v1alpha1.Backend) *status.Problem {
	name, stays := sharing.NameFrom(b, p.Namespace), p.DeletionTimestamp.IsZero()
	switch {
	case stays && !slices.Contains(desired.Services(b), desired.Voting):
		return newBackendProblem(v1alpha1.ReasonServiceDisabled, "Backend %q runs no voting service", name)
	case !r.consent().Sees(b.Namespace): // nor the Poll's
		return newBackendProblem(v1alpha1.ReasonNotWatched, "The operator does not watch the namespace of Backend %q", name)
	case stays && b.Spec.Suspend:
		return newBackendProblem(v1alpha1.ReasonBackendSuspended, "Backend %q is suspended: it runs no pods until that ends", name)
	}
	return nil
}

// chooseBackend returns the Backend that is named. If none is, it is the only one, the
// one that holds the Poll's configuration, or the default one, in this order; nil if none
// of these exists.
func chooseBackend(p *v1alpha1.Poll, c backendChoice) *v1alpha1.Backend {
	names := []types.NamespacedName{sharing.HolderOf(p), {Namespace: p.Namespace, Name: defaultBackend}}
	if c.named != nil {
		names = []types.NamespacedName{*c.named}
	} else if len(c.backends) == 1 {
		return &c.backends[0]
	}
	for _, name := range names {
		i := slices.IndexFunc(c.backends, func(b v1alpha1.Backend) bool { return client.ObjectKeyFromObject(&b) == name })
		if i >= 0 {
			return &c.backends[i]
		}
	}
	return nil
}

// setHolder notes the Backend that holds a Poll's configuration.
func setHolder(p *v1alpha1.Poll, b *v1alpha1.Backend) {
	p.Status.Backend, p.Status.BackendNamespace = b.Name, ""
	if b.Namespace != p.Namespace {
		p.Status.BackendNamespace = b.Namespace
	}
}

// findKeys returns the active keys of an Extension that can be used, oldest first.
func (r *Reconciler) findKeys(ctx context.Context, extension *v1alpha1.Extension, environment registry.Environment) ([][]byte, *status.Problem, error) {
	active := registry.ActiveKeys(extension, environment, r.Now())
	contents, err := secrets.ReadAll(ctx, r.Client, extension.Namespace, active.SecretNames(), secrets.IsUnreadable)
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
