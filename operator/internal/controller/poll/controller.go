// Package poll makes the configuration of polls in the voting service what Poll
// resources declare.
//
// It talks to the service over its HTTP API alone and may not import any of it.
package poll

import (
	"context"
	"errors"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// Finalizer keeps a Poll until its configuration is removed from the service.
const Finalizer = "acclaim.dev/poll"

// Reconciler brings about what one Poll declares.
type Reconciler struct {
	// Client reads and writes resources. What it reads from has the indexes of Index.
	Client client.Client
	// Live says whether what was read of a Poll is what is stored.
	Live client.Reader
	// Recorder takes Events.
	Recorder events.EventRecorder
	// HTTP asks voting services; its time limit is that of a request.
	HTTP *http.Client
	// Endpoint returns the base address of a Backend's voting service.
	Endpoint func(*v1alpha1.Backend) string
	// DefaultBackend is created in a namespace that has none; nil creates none.
	DefaultBackend *v1alpha1.BackendSpec
	// Now tells the time.
	Now func() time.Time
	// DriftInterval is how often a configuration is compared with the declared one.
	DriftInterval time.Duration
	// GiveUpAfter is how long a deletion waits for a service that does not answer.
	GiveUpAfter time.Duration
	// Metrics counts what was done.
	Metrics *Metrics
}

// Reconcile makes one Poll true and reports on it.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var p v1alpha1.Poll
	if err := r.Client.Get(ctx, request.NamespacedName, &p); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !p.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.remove(ctx, &p)
	}
	if err := r.hold(ctx, &p); err != nil {
		return ctrl.Result{}, err
	}
	before := p.DeepCopy()
	syncErr := r.sync(ctx, &p)
	r.schedule(&p)
	if err := r.report(ctx, before, &p); err != nil {
		return ctrl.Result{}, err
	}
	if syncErr != nil {
		return ctrl.Result{}, syncErr
	}
	if unready(&p) && p.ResourceVersion == before.ResourceVersion {
		// Not written, as the cache has it already: but is it what is stored? What woke
		// this pass does not come again.
		if err := r.current(ctx, &p); err != nil {
			return ctrl.Result{}, err
		}
	}
	return r.next(&p), nil
}

// current returns an error if a Poll is stored otherwise than it was read: the cache
// is late with what an earlier pass wrote, or with what somebody else did.
func (r *Reconciler) current(ctx context.Context, p *v1alpha1.Poll) error {
	var stored v1alpha1.Poll
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(p), &stored); err != nil {
		return err
	}
	if stored.ResourceVersion != p.ResourceVersion {
		return apierrors.NewConflict(schema.GroupResource{Group: v1alpha1.Group, Resource: "polls"}, p.Name, errors.New("the cache is late"))
	}
	return nil
}

// hold adds the finalizer before anything is written to the service.
func (r *Reconciler) hold(ctx context.Context, p *v1alpha1.Poll) error {
	before := p.DeepCopy()
	if !controllerutil.AddFinalizer(p, Finalizer) {
		return nil
	}
	return r.Client.Patch(ctx, p, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// sync asks the service and writes to it what is missing. Its error is one that
// trying again may get rid of; conditions say everything else.
func (r *Reconciler) sync(ctx context.Context, p *v1alpha1.Poll) error {
	t, problem, err := r.target(ctx, p)
	if err != nil {
		return err
	}
	if problem == nil {
		if problem, err = r.configure(ctx, p, t); err != nil {
			return err
		}
	}
	if problem == nil || problem.reason == v1alpha1.ReasonDrifted {
		problem = worse(problem, r.conclude(ctx, p, t))
	}
	setConditions(p, problem)
	if problem != nil {
		return problem.retry
	}
	return nil
}

// report writes the status once, if it changed, and an Event if Ready did. What
// rests on a Poll that the cache was late with is refused, and done again.
func (r *Reconciler) report(ctx context.Context, before, p *v1alpha1.Poll) error {
	if equality.Semantic.DeepEqual(before.Status, p.Status) {
		return nil
	}
	if err := r.Client.Status().Patch(ctx, p, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.announce(before, p)
	return nil
}
