package extension

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// extensionRefField is the field by which the API server and the cache select Polls.
const extensionRefField = "spec.extensionRef.name"

// pollHold lists the Polls that still need the keys of an Extension whose keys are
// going.
type pollHold struct {
	polls []string // names, sorted
	// until is the time from which Polls that are not being deleted no longer count;
	// zero if there are none.
	until time.Time
}

// findHolds returns the holds of the Extensions that are being deleted or miss a
// Secret: whatever goes first, their Polls can still be deleted from the services.
func (r *Reconciler) findHolds(ctx context.Context, s namespaceState) (map[types.NamespacedName]pollHold, error) {
	holds := map[types.NamespacedName]pollHold{}
	for _, extensions := range [][]v1alpha1.Extension{s.extensions, s.others} {
		for i := range extensions {
			e := &extensions[i]
			since, going := r.findLoss(e, s.secrets[e.Namespace])
			if !going {
				continue
			}
			hold, err := r.findHold(ctx, e, since.Add(r.GiveUpAfter))
			if err != nil {
				return nil, err
			}
			if len(hold.polls) > 0 {
				holds[client.ObjectKeyFromObject(e)] = hold
			}
		}
	}
	return holds, nil
}

// findLoss reports whether keys of an Extension are going, and since when.
func (r *Reconciler) findLoss(e *v1alpha1.Extension, contents registry.SecretContents) (since time.Time, going bool) {
	if !e.DeletionTimestamp.IsZero() {
		return e.DeletionTimestamp.Time, true
	}
	since = r.Now()
	if c := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.KeysUsable); c != nil && c.Status == metav1.ConditionFalse {
		since = c.LastTransitionTime.Time
	}
	return since, slices.ContainsFunc(registry.SecretNames(e), func(name string) bool {
		_, exists := contents[name]
		return !exists
	})
}

// findHold lists the Polls whose configuration is to be removed from a service. One
// that is being deleted gives up by itself; the others count until a time.
func (r *Reconciler) findHold(ctx context.Context, e *v1alpha1.Extension, until time.Time) (pollHold, error) {
	polls, err := r.listConfigured(ctx, e)
	if err != nil {
		return pollHold{}, err
	}
	var hold pollHold
	for _, p := range polls {
		if p.DeletionTimestamp.IsZero() {
			if !r.Now().Before(until) {
				continue
			}
			hold.until = until
		}
		hold.polls = append(hold.polls, p.Name)
	}
	slices.Sort(hold.polls)
	return hold, nil
}

// listConfigured returns the Polls of an Extension that may be in a service and are to be
// removed from it. The caller must not change them.
func (r *Reconciler) listConfigured(ctx context.Context, e *v1alpha1.Extension) ([]v1alpha1.Poll, error) {
	var polls v1alpha1.PollList
	err := r.Client.List(ctx, &polls, client.InNamespace(e.Namespace), client.MatchingFields{extensionRefField: e.Name}, client.UnsafeDisableDeepCopy)
	return slices.DeleteFunc(slices.Clone(polls.Items), func(p v1alpha1.Poll) bool {
		return !controllerutil.ContainsFinalizer(&p, v1alpha1.PollFinalizer) || p.Spec.DeletionPolicy == v1alpha1.DeletionRetain
	}), err
}

// findHoldings returns what stays of a Backend's published registry although it is not
// rendered.
func (r *Reconciler) findHoldings(ctx context.Context, s namespaceState, b *servedBackend, published []byte) (held []registry.Holding, err error) {
	hold := func(e *v1alpha1.Extension, withdrawn bool) {
		held = append(held, registry.Holding{Extension: client.ObjectKeyFromObject(e), ClientID: e.Spec.ClientID, Withdrawn: withdrawn})
	}
	for _, extensions := range [][]v1alpha1.Extension{s.extensions, s.others} {
		for i := range extensions {
			e := &extensions[i]
			if _, going := s.holds[client.ObjectKeyFromObject(e)]; going && b.serves(e) {
				hold(e, false)
			}
		}
	}
	for i := range s.paused {
		if b.serves(&s.paused[i]) {
			hold(&s.paused[i], false)
		}
	}
	for _, name := range registry.DeclaredBy(published) {
		if name.Namespace == b.Namespace {
			continue
		}
		e, withdrawn, err := r.findUnrendered(ctx, b, name)
		if err != nil {
			return nil, err
		}
		if e != nil {
			hold(e, withdrawn)
		}
	}
	return held, nil
}

// findUnrendered returns an Extension of another namespace whose entry in the registry of a
// Backend stays although it is not rendered; else nil. Either the operator does not watch its
// namespace, so that its keys cannot be read; or consent is withdrawn, and Polls of it still
// have to be deleted from the services.
func (r *Reconciler) findUnrendered(ctx context.Context, b *servedBackend, name types.NamespacedName) (e *v1alpha1.Extension, withdrawn bool, err error) {
	e = &v1alpha1.Extension{}
	if err := r.Client.Get(ctx, name, e); err != nil {
		return nil, false, client.IgnoreNotFound(err)
	}
	if b.serves(e) && !r.consent().Sees(name.Namespace) {
		return e, false, nil
	}
	stays, err := r.isWithdrawn(ctx, b, e)
	if !stays || err != nil {
		return nil, false, err
	}
	return e, true, nil
}

// isWithdrawn reports whether a Backend served an Extension of another namespace and may no
// longer serve it, and Polls of it still have to be deleted from the services. Where a
// service gives out tokens that it signs with the keys of the registry, it is false: such a
// token would let others in.
func (r *Reconciler) isWithdrawn(ctx context.Context, b *servedBackend, e *v1alpha1.Extension) (bool, error) {
	if slices.ContainsFunc(desired.Services(b.Backend), desired.IssuesTokens) {
		return false, nil
	}
	finding := b.rendering.Findings[client.ObjectKeyFromObject(e)]
	if !sharing.Wants(e, b.Backend) || b.serves(e) && (finding == nil || !finding.Excess) {
		return false, nil
	}
	polls, err := r.listConfigured(ctx, e)
	stays := slices.ContainsFunc(polls, func(p v1alpha1.Poll) bool {
		return p.Status.Backend == "" || p.Status.Backend == b.Name && p.Status.BackendNamespace == b.Namespace
	})
	return stays, err
}

// leave looks after the Extensions of a namespace that the operator watched before. Those
// that are being deleted go when their Polls have gone. The others report that they are not
// watched.
func (r *Reconciler) leave(ctx context.Context, namespace string) (ctrl.Result, error) {
	s := namespaceState{namespace: namespace}
	var all v1alpha1.ExtensionList
	if err := r.Client.List(ctx, &all, client.InNamespace(namespace)); err != nil {
		return ctrl.Result{}, err
	}
	var failed []error
	for i := range all.Items {
		e := &all.Items[i]
		if !r.Instance.Owns(e) {
			continue
		}
		if !e.DeletionTimestamp.IsZero() {
			s.extensions = append(s.extensions, *e)
			continue
		}
		before := e.DeepCopy()
		status.SetNotWatched(&e.Status.Conditions, e.Generation, namespace)
		if !equality.Semantic.DeepEqual(before.Status, e.Status) {
			_, err := status.Patch(ctx, r.Client, before, e)
			failed = append(failed, err)
		}
	}
	holds, err := r.findHolds(ctx, s)
	if err != nil {
		return ctrl.Result{}, errors.Join(append(failed, err)...)
	}
	s.holds = holds
	failed = append(failed, r.updateFinalizers(ctx, &s))
	return ctrl.Result{RequeueAfter: r.untilNext(s, nil)}, errors.Join(failed...)
}

// updateFinalizers claims the Extensions that have no holder, and removes the
// finalizer from those that are being deleted and that no Poll holds. It drops those
// that are gone from the state. A failure does not keep the others back.
func (r *Reconciler) updateFinalizers(ctx context.Context, s *namespaceState) error {
	var failed []error
	for i := range s.extensions {
		e := &s.extensions[i]
		held, err := r.Instance.Claim(ctx, r.Client, r.Recorder, e, v1alpha1.ExtensionFinalizer)
		before := e.DeepCopy()
		_, waits := s.holds[client.ObjectKeyFromObject(e)]
		if held && !e.DeletionTimestamp.IsZero() && !waits && controllerutil.RemoveFinalizer(e, v1alpha1.ExtensionFinalizer) {
			err = r.Client.Patch(ctx, e, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		}
		failed = append(failed, client.IgnoreNotFound(err))
	}
	s.extensions = slices.DeleteFunc(s.extensions, func(e v1alpha1.Extension) bool {
		return !e.DeletionTimestamp.IsZero() && len(e.Finalizers) == 0
	})
	return errors.Join(failed...)
}

// setPausedAside drops the Extensions that are paused from the state: their entries stay
// as they are published.
func (r *Reconciler) setPausedAside(s *namespaceState) {
	isPaused := func(e v1alpha1.Extension) bool {
		aside := e.DeletionTimestamp.IsZero() && r.Instance.Holds(&e) && r.Instance.IsPaused(r.Recorder, &e)
		if aside {
			s.paused = append(s.paused, e)
		}
		return aside
	}
	s.extensions = slices.DeleteFunc(s.extensions, isPaused)
	s.others = slices.DeleteFunc(s.others, isPaused)
}

// describeWait returns the condition Ready of an Extension that Polls hold. Its
// message stays the same while Polls go: each change is a write.
func describeWait(e *v1alpha1.Extension, hold pollHold) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.Ready, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonWaitingForPolls}
	if stored := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.Ready); stored != nil && stored.Reason == c.Reason {
		c.Message = stored.Message
		return c
	}
	c.Message = "Polls that are signed with its keys still exist: " + status.NameSome(hold.polls)
	return c
}
