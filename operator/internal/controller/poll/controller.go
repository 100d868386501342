// Package poll configures the polls in the voting service as Poll resources
// declare them.
//
// It talks to the service over its HTTP API alone and may not import any of it.
package poll

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/holder"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// Reconciler configures in the service what one Poll declares.
type Reconciler struct {
	// Client reads and writes resources. Its cache has the indexes of AddIndexes.
	Client client.Client
	// APIReader reads uncached, to find out whether a cached Poll is stale.
	APIReader client.Reader
	// Recorder writes Events.
	Recorder events.EventRecorder
	// HTTP sends requests to voting services.
	HTTP *Clients
	// Endpoint returns the base address of a Backend's voting service.
	Endpoint func(*v1alpha1.Backend) string
	// DefaultBackend is created in a namespace that has none; nil creates none.
	DefaultBackend *v1alpha1.BackendSpec
	// Now returns the time.
	Now func() time.Time
	// DriftInterval is the time between two comparisons of a configuration with the
	// declared one.
	DriftInterval time.Duration
	// GiveUpAfter limits how long a deletion waits for a service that does not answer.
	GiveUpAfter time.Duration
	// Metrics counts requests and corrections.
	Metrics *Metrics
	// Watched are the namespaces that the operator watches; none means all. The Client has
	// Polls, Extensions and Backends of all namespaces.
	Watched []string
	// Labels permits reading the labels of namespaces although Watched limits the operator.
	Labels bool
	// SecretsByName is set where it may only get Secrets that its role names, and watches none.
	SecretsByName bool
	// Instance tells the operator's Polls from those of others.
	Instance *holder.Instance
}

// Reconcile configures one Poll and reports on it.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var p v1alpha1.Poll
	if err := r.Client.Get(ctx, request.NamespacedName, &p); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !sharing.Sees(r.Watched, p.Namespace) {
		return ctrl.Result{}, r.leave(ctx, &p)
	}
	return r.lookAfter(ctx, &p)
}

// lookAfter configures a Poll of a namespace that is watched.
func (r *Reconciler) lookAfter(ctx context.Context, p *v1alpha1.Poll) (ctrl.Result, error) {
	// The finalizer comes before anything is written to the service.
	if held, err := r.Instance.Claim(ctx, r.Client, r.Recorder, p, v1alpha1.PollFinalizer); !held || err != nil {
		return ctrl.Result{}, err
	}
	if !p.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.remove(ctx, p)
	}
	if r.Instance.IsPaused(r.Recorder, p) {
		return ctrl.Result{}, nil
	}
	before := p.DeepCopy()
	setStrictByDefault(p)
	problem, err := r.sync(ctx, p)
	if err != nil {
		return ctrl.Result{}, err // what is known of it is half a report, about a copy that may be stale
	}
	setConditions(p, problem)
	r.updateSchedule(p)
	setEnded(p)
	if err := r.report(ctx, before, p); err != nil {
		return ctrl.Result{}, err
	}
	if retry := problem.RetryError(); retry != nil {
		return ctrl.Result{}, retry
	}
	if isUnready(p) && p.ResourceVersion == before.ResourceVersion {
		// The status is not written because the cached one says the same. If that one is
		// stale, the stored one may be wrong, and what woke the controller does not come
		// again.
		if err := status.CheckFresh(ctx, r.APIReader, p); err != nil {
			return ctrl.Result{}, err
		}
	}
	return r.nextResult(p), nil
}

// sync compares the service with the Poll and writes what is missing. The conditions
// report the problem. After an error it is not known where the Poll stands.
func (r *Reconciler) sync(ctx context.Context, p *v1alpha1.Poll) (*status.Problem, error) {
	choice, err := r.gatherChoice(ctx, p)
	if err == nil {
		err = r.ensureBackend(ctx, p, &choice)
	}
	if err != nil {
		return nil, err
	}
	t, problem, err := r.findTarget(ctx, p, choice)
	if err != nil {
		return nil, err
	}
	if problem == nil {
		if problem, err = r.configure(ctx, p, t); err != nil {
			return nil, err
		}
	}
	if problem == nil || problem.Reason == v1alpha1.ReasonDrifted {
		problem = status.FirstProblem(problem, r.recordStatistics(ctx, p, t), r.reportLive(ctx, p, t), t.awaited)
	}
	return problem, nil
}

// report writes the status once if it changed, and an Event if Ready did.
func (r *Reconciler) report(ctx context.Context, before, p *v1alpha1.Poll) error {
	if equality.Semantic.DeepEqual(before.Status, p.Status) {
		return nil
	}
	written, err := status.Patch(ctx, r.Client, before, p)
	if written {
		r.recordReady(before, p)
		r.recordPhase(before, p)
	}
	return err
}
