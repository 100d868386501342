package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// measureAll takes the world through all phases.
func measureAll(ctx context.Context, w *world) (r report, err error) {
	r.options = w.options
	if err := w.startOperator(ctx); err != nil {
		return r, err
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	ready, err := w.watchReady(following)
	if err != nil {
		return r, err
	}
	phases := []func(context.Context, *world, *readiness, *report) error{measureCreation, measureIdle, measureWake, measureResync}
	if w.reportInterval > 0 {
		phases = phases[:1]
		phases = append(phases, measureReports)
	}
	for _, phase := range phases {
		if err := phase(ctx, w, ready, &r); err != nil {
			return r, err
		}
	}
	return r, nil
}

// measureCreation declares all Polls and waits until they are ready.
func measureCreation(ctx context.Context, w *world, ready *readiness, r *report) error {
	w.logf("declaring %d Polls of %d Extensions", w.polls, w.extensions)
	if err := w.awaitQuiet(ctx, 0); err != nil { // until the Extensions and the Backend are done with
		return err
	}
	before, err := w.readMetrics(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := w.declarePolls(ctx, w.polls); err != nil {
		return err
	}
	r.declared = time.Since(began)
	if err := ready.awaitAll(ctx, w.newProgressBar("ready", w.polls), w.polls); err != nil {
		return err
	}
	r.allReady = time.Since(began)
	if err := w.awaitQuiet(ctx, 0); err != nil {
		return err
	}
	after, err := w.readMetrics(ctx)
	r.created = after.since(before)
	delete(r.created.api, "POST polls 201") // our own
	return err
}

// measureReports counts what the reports of one interval cost.
func measureReports(ctx context.Context, w *world, _ *readiness, r *report) error {
	w.logf("counting reports for %v", w.reportInterval)
	before, err := w.readMetrics(ctx)
	if err != nil {
		return err
	}
	select {
	case <-time.After(w.reportInterval):
	case <-ctx.Done():
		return ctx.Err()
	}
	after, err := w.readMetrics(ctx)
	r.reported = after.since(before)
	return err
}

// measureIdle declares new Polls while nothing else happens.
func measureIdle(ctx context.Context, w *world, ready *readiness, r *report) (err error) {
	w.logf("declaring %d more one by one while nothing else happens", w.probes)
	r.idle, err = w.probePoll(ctx, ready, "idle")
	return err
}

// measureWake changes the Backend, and declares new Polls meanwhile.
func measureWake(ctx context.Context, w *world, ready *readiness, r *report) error {
	w.logf("changing the Backend, and declaring %d more one by one meanwhile", w.probes)
	if err := w.awaitQuiet(ctx, 0); err != nil {
		return err
	}
	before, err := w.readMetrics(ctx)
	if err != nil {
		return err
	}
	backend := &v1alpha1.Backend{}
	if err := w.api.Get(ctx, client.ObjectKey{Namespace: w.backendNamespace(), Name: "default"}, backend); err != nil {
		return err
	}
	backend.Spec.Image = "acclaim:next"
	if err := w.api.Update(ctx, backend); err != nil {
		return err
	}
	if r.woken.latency, err = w.probePoll(ctx, ready, "woken"); err != nil {
		return err
	}
	if err := w.awaitQuiet(ctx, 0); err != nil {
		return err
	}
	after, err := w.readMetrics(ctx)
	r.woken.looks = after.looks - before.looks - float64(w.probes)
	return err
}

// measureResync restarts the operator, which reads every Poll, and counts its
// writes. Then it does so again and declares new Polls meanwhile.
func measureResync(ctx context.Context, w *world, ready *readiness, r *report) error {
	w.logf("restarting the operator")
	before, err := w.votingRequests(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := w.restartOperator(ctx); err != nil {
		return err
	}
	if err := w.awaitQuiet(ctx, w.polls+2*w.probes); err != nil {
		return err
	}
	r.resync = time.Since(began)
	if r.resynced, err = w.readMetrics(ctx); err != nil {
		return err
	}
	r.resynced.voting = r.resynced.voting.since(before)
	w.logf("restarting the operator, and declaring %d more one by one meanwhile", w.probes)
	if err := w.restartOperator(ctx); err != nil {
		return err
	}
	r.busy, err = w.probePoll(ctx, ready, "busy")
	return err
}

// awaitQuiet waits until the operator has looked at this many Polls since it began
// and none is left to look at.
func (w *world) awaitQuiet(ctx context.Context, atLeast int) error {
	idle := 0
	return w.awaitCondition(ctx, func() (bool, error) {
		done, waiting, err := w.countReconciles(ctx)
		if err != nil || done < float64(atLeast) || waiting > 0 {
			idle = 0
			return false, err
		}
		idle++
		return idle > 5, nil
	})
}

// declarePolls creates Polls from many clients at once, as a pipeline does.
func (w *world) declarePolls(ctx context.Context, n int) error {
	var group errgroup.Group
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error { return w.api.Create(ctx, w.newPoll(fmt.Sprintf("poll-%d", i), i)) })
	}
	return group.Wait()
}

func (w *world) newPoll(name string, i int) *v1alpha1.Poll {
	p := &v1alpha1.Poll{Spec: v1alpha1.PollSpec{
		ExtensionRef: v1alpha1.ObjectReference{Name: extensionName(i % w.extensions)},
		Channel:      fmt.Sprint(i / w.extensions), Prompt: "Which?", Options: []string{"this", "that"},
	}}
	if w.reportInterval > 0 {
		p.Spec.ReportInterval = &metav1.Duration{Duration: w.reportInterval}
	}
	p.Namespace, p.Name = namespace, name
	return p
}

// probePoll declares Polls one after the other and returns how long each took to be
// ready, sorted.
func (w *world) probePoll(ctx context.Context, ready *readiness, name string) ([]time.Duration, error) {
	var took []time.Duration
	for i := range w.probes {
		p := w.newPoll(fmt.Sprintf("%s-%d", name, i), i)
		began := time.Now()
		if err := w.api.Create(ctx, p); err != nil {
			return nil, err
		}
		if err := ready.awaitOne(ctx, p.Name); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took, nil
}
