package poll_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/services/votingclient"
)

func TestPoll(t *testing.T) {
	_, api := cluster(t)
	base := startService(t)
	for name, test := range map[string]func(*world){
		"life":               testLife,
		"drift":              testDrift,
		"conflict":           testConflict,
		"schedule":           testSchedule,
		"problems":           testProblems,
		"service in trouble": testTrouble,
		"retain":             testRetain,
		"nothing left":       testNothingLeft,
		"gives up":           testGivesUp,
		"every call fails":   testEveryCallFails,
	} {
		t.Run(name, func(t *testing.T) { test(newWorld(t, api, base)) })
	}
}

func want(w *world, p *v1alpha1.Poll, condition, reason string) {
	w.t.Helper()
	c := meta.FindStatusCondition(p.Status.Conditions, condition)
	if c == nil || c.Reason != reason || c.ObservedGeneration != p.Generation {
		w.t.Errorf("condition %s is %+v, want the reason %s at generation %d", condition, c, reason, p.Generation)
	}
}

func wantReady(w *world, p *v1alpha1.Poll) {
	w.t.Helper()
	if !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.Ready) || p.Status.ObservedGeneration != p.Generation {
		w.t.Errorf("not ready: %+v", p.Status)
	}
}

func wantWrites(w *world, writes ...string) {
	w.t.Helper()
	if diff := cmp.Diff(writes, w.writes); diff != "" {
		w.t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func testLife(w *world) {
	p := w.poll("life")
	w.create(p)
	w.settle(p)
	wantReady(w, p)
	// The Backend is the default one; the Poll itself costs two writes.
	wantWrites(w, "patch *v1alpha1.Poll", "create *v1alpha1.Backend", "http POST", "patch status *v1alpha1.Poll")
	got, _ := w.config(p)
	if got.TotalVotesPerUser != 3 || len(got.Options) != 2 {
		w.t.Errorf("the service holds %+v", got)
	}
	w.settle(p)
	wantWrites(w)

	w.change(p, func(p *v1alpha1.Poll) { p.Spec.Prompt = "Which one?" }) // not returned by the service
	w.settle(p)
	wantReady(w, p)
	wantWrites(w, "http POST", "patch status *v1alpha1.Poll")

	w.delete(p)
	w.settle(p)
	if _, found := w.config(p); found || !w.gone(p) {
		w.t.Error("something of the poll was left behind")
	}
}

func testDrift(w *world) {
	for _, test := range []struct {
		policy   v1alpha1.DriftPolicy
		reason   string
		restored bool
	}{
		{v1alpha1.DriftEnforce, v1alpha1.ReasonInSync, true},
		{v1alpha1.DriftObserve, v1alpha1.ReasonDrifted, false},
		{v1alpha1.DriftInitOnly, v1alpha1.ReasonInSync, false},
	} {
		p := w.poll(strings.ToLower(string(test.policy)))
		p.Spec.DriftPolicy = test.policy
		w.create(p)
		if after := w.settle(p).RequeueAfter; after != time.Minute {
			w.t.Errorf("looks again after %v", after)
		}
		changed := votingclient.Config{DistinctOptionsPerUser: 1, TotalVotesPerUser: 9, VotesPerOption: 1}
		if err := w.service.Configure(w.t.Context(), w.key(p), changed); err != nil {
			w.t.Fatal(err)
		}
		w.settle(p)
		want(w, p, v1alpha1.Configured, test.reason)
		if got, _ := w.config(p); (got.TotalVotesPerUser == 3) != test.restored {
			w.t.Errorf("%s leaves %+v", test.policy, got)
		}
	}
}

func testConflict(w *world) {
	id := "same"
	first, second := w.poll("first"), w.poll("second")
	first.Spec.ID, second.Spec.ID = &id, &id
	w.create(first)
	w.settle(first)
	w.createYounger(second, first)
	w.settle(second)
	want(w, second, v1alpha1.Configured, v1alpha1.ReasonConflict)
	w.settle(first)
	wantReady(w, first)

	w.delete(second)
	w.settle(second)
	if _, found := w.config(first); !found || !w.gone(second) {
		w.t.Error("the younger Poll took the older one's configuration with it")
	}
}

func testSchedule(w *world) {
	p := w.poll("schedule")
	start, end := metav1.NewTime(w.now.Add(10*time.Second)), metav1.NewTime(w.now.Add(30*time.Second))
	p.Spec.StartsAt, p.Spec.EndsAt = &start, &end
	w.create(p)
	for _, step := range []struct {
		status string
		next   time.Duration
		moved  time.Duration
	}{
		{"pending", 10 * time.Second, 0},
		{"active", 20 * time.Second, 10 * time.Second},
		{"expired", 2 * time.Second, 20 * time.Second},
	} {
		w.now = w.now.Add(step.moved)
		if next := w.settle(p).RequeueAfter; next != step.next || p.Status.PollStatus != step.status {
			w.t.Errorf("status %q and again after %v, want %q and %v", p.Status.PollStatus, next, step.status, step.next)
		}
		if p.Status.Statistics != nil {
			w.t.Error("there are final statistics before the end")
		}
	}
	w.now = w.now.Add(2 * time.Second)
	w.settle(p)
	if p.Status.Statistics == nil || len(p.Status.Statistics.Specific) != 32 {
		w.t.Errorf("final statistics are %+v", p.Status.Statistics)
	}
	asked := 0
	w.intercept = func(kind, _ string) error {
		if kind == "http" {
			asked++
		}
		return nil
	}
	w.settle(p)
	wantWrites(w)
	if asked != 1 { // for the configuration
		w.t.Errorf("%d requests after the numbers were final", asked)
	}
}

func testProblems(w *world) {
	p := w.poll("problems")
	p.Spec.UserData = &apiextensionsv1.JSON{Raw: []byte(`"` + strings.Repeat("a", 1023) + `"`)}
	w.create(p)
	w.settle(p)
	want(w, p, v1alpha1.Configured, v1alpha1.ReasonInvalidConfiguration)
	w.change(p, func(p *v1alpha1.Poll) { p.Spec.UserData.Raw = []byte(`{"fits": true}`) })
	w.settle(p)
	wantReady(w, p)

	w.delete(w.secret())
	w.settle(p)
	want(w, p, v1alpha1.Configured, v1alpha1.ReasonNoKey)
	w.create(w.secret())
	w.settle(p)
	wantReady(w, p)

	w.delete(w.extension())
	w.settle(p)
	want(w, p, v1alpha1.Configured, v1alpha1.ReasonExtensionNotFound)

	other := w.poll("other")
	other.Spec.BackendRef = &v1alpha1.ObjectReference{Name: "nowhere"}
	w.create(other)
	w.settle(other)
	want(w, other, v1alpha1.ServicesAvailable, v1alpha1.ReasonBackendNotFound)
}

// testTrouble lets the service refuse the operator's key and not answer at all.
func testTrouble(w *world) {
	p := w.poll("trouble")
	w.create(p)
	wrong := w.secret()
	wrong.Data["key"] = []byte("d3Jvbmc=")
	if err := w.api.Update(w.t.Context(), wrong); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.reconcile(p); votingclient.StatusOf(err) != http.StatusUnauthorized {
		w.t.Errorf("error is %v", err)
	}
	want(w, p, v1alpha1.Configured, v1alpha1.ReasonNotAuthorized)
	if err := w.api.Update(w.t.Context(), w.secret()); err != nil {
		w.t.Fatal(err)
	}
	w.intercept = func(kind, _ string) error {
		if kind == "http" {
			return errors.New("connection refused")
		}
		return nil
	}
	for range 2 {
		if _, err := w.reconcile(p); err == nil {
			w.t.Error("a service that does not answer is not tried again")
		}
		want(w, p, v1alpha1.ServicesAvailable, v1alpha1.ReasonServiceUnreachable)
		want(w, p, v1alpha1.Configured, v1alpha1.ReasonWaiting)
	}
	wantWrites(w) // the second time nothing was new
	w.intercept = nil
	w.settle(p)
	wantReady(w, p)
}

func testRetain(w *world) {
	p := w.poll("retain")
	p.Spec.DeletionPolicy = v1alpha1.DeletionRetain
	w.create(p)
	w.settle(p)
	w.delete(p)
	w.settle(p)
	if _, found := w.config(p); !found || !w.gone(p) {
		w.t.Error("the configuration should be there and the Poll gone")
	}
}

func testNothingLeft(w *world) {
	p := w.poll("orphan")
	w.create(p)
	w.settle(p)
	w.delete(w.extension())
	w.delete(w.secret())
	w.delete(p)
	w.settle(p)
	if !w.gone(p) {
		w.t.Error("a Poll without an Extension is not let go")
	}
}

func testGivesUp(w *world) {
	p := w.poll("stuck")
	w.create(p)
	w.settle(p)
	w.delete(p)
	w.intercept = func(kind, _ string) error {
		if kind == "http" {
			return errors.New("connection refused")
		}
		return nil
	}
	if _, err := w.reconcile(p); err == nil || w.gone(p) {
		w.t.Fatalf("let go at once: %v", err)
	}
	w.now = w.now.Add(6 * time.Minute)
	w.settle(p)
	if !w.gone(p) {
		w.t.Error("a service that is gone for good blocks the Poll")
	}
}

// testEveryCallFails fails the n-th request to either server, for every n, as if
// the operator had been killed there, and lets it converge afterwards.
func testEveryCallFails(w *world) {
	for n := 1; ; n++ {
		p := w.poll("nth")
		w.create(p)
		reached := w.fail(n, p)
		w.settle(p)
		wantReady(w, p)
		if _, found := w.config(p); !found {
			w.t.Fatalf("call %d failed and the poll never came", n)
		}
		w.delete(p)
		reached = w.fail(n, p) || reached
		w.settle(p)
		if _, found := w.config(p); found || !w.gone(p) {
			w.t.Fatalf("call %d failed and the poll never went", n)
		}
		if !reached {
			if n < 8 {
				w.t.Errorf("only %d calls were made", n)
			}
			return
		}
	}
}

// fail reconciles with the n-th request failing and reports whether there was one.
func (w *world) fail(n int, p *v1alpha1.Poll) (reached bool) {
	w.intercept = func(string, string) error {
		if n--; n == 0 {
			reached = true
			return errors.New("cut off")
		}
		return nil
	}
	_, err := w.reconcile(p)
	w.intercept = nil
	if reached != (err != nil) {
		w.t.Errorf("a failed call gave the error %v", err)
	}
	return reached
}
