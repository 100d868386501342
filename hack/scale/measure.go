package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

func httpClientFor(config *rest.Config) (*http.Client, error) { return rest.HTTPClientFor(config) }

// measure takes the world through all phases.
func measure(ctx context.Context, w *world) (r report, err error) {
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
	for _, phase := range []func(context.Context, *world, *readiness, *report) error{measureCreation, measureIdle, measureWake, measureResync} {
		if err := phase(ctx, w, ready, &r); err != nil {
			return r, err
		}
	}
	return r, nil
}

// measureCreation declares all Polls and waits until they are ready.
func measureCreation(ctx context.Context, w *world, ready *readiness, r *report) error {
	w.say("declaring %d Polls of %d Extensions", w.polls, w.extensions)
	apiBefore, err := w.apiRequests(ctx)
	if err != nil {
		return err
	}
	votingBefore, err := w.votingRequests(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := w.declare(ctx, w.polls); err != nil {
		return err
	}
	r.declared = time.Since(began)
	if err := ready.await(ctx, w.bar("ready", w.polls), w.polls); err != nil {
		return err
	}
	r.allReady = time.Since(began)
	if err := w.quiet(ctx, 0); err != nil {
		return err
	}
	api, err := w.apiRequests(ctx)
	if err != nil {
		return err
	}
	voting, err := w.votingRequests(ctx)
	if err != nil {
		return err
	}
	r.api, r.voting = api.since(apiBefore), voting.since(votingBefore)
	delete(r.api, "POST polls") // our own
	if r.reconciles, _, err = w.reconciles(ctx); err != nil {
		return err
	}
	if r.cpu, err = w.cpu(ctx); err != nil {
		return err
	}
	r.resident, r.peak, err = w.operator.memory()
	return err
}

// measureIdle declares new Polls while nothing else happens.
func measureIdle(ctx context.Context, w *world, ready *readiness, r *report) (err error) {
	w.say("declaring %d more one by one while nothing else happens", w.probes)
	r.idle, err = w.probe(ctx, ready, "idle")
	return err
}

// measureWake changes the Backend, and declares new Polls meanwhile.
func measureWake(ctx context.Context, w *world, ready *readiness, r *report) error {
	w.say("changing the Backend, and declaring %d more one by one meanwhile", w.probes)
	if err := w.quiet(ctx, 0); err != nil {
		return err
	}
	before, _, err := w.reconciles(ctx)
	if err != nil {
		return err
	}
	backend := &v1alpha1.Backend{}
	if err := w.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "default"}, backend); err != nil {
		return err
	}
	backend.Spec.Image = "acclaim:next"
	if err := w.api.Update(ctx, backend); err != nil {
		return err
	}
	if r.woken.latency, err = w.probe(ctx, ready, "woken"); err != nil {
		return err
	}
	if err := w.quiet(ctx, 0); err != nil {
		return err
	}
	after, _, err := w.reconciles(ctx)
	r.woken.reconciles = after - before - float64(w.probes)
	return err
}

// measureResync starts the operator anew, which looks at every Poll, and counts
// what it writes. Then it does so again and declares new Polls meanwhile.
func measureResync(ctx context.Context, w *world, ready *readiness, r *report) error {
	w.say("starting the operator anew")
	if err := w.stopOperator(); err != nil {
		return err
	}
	votingBefore, err := w.votingRequests(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := w.startOperator(ctx); err != nil {
		return err
	}
	if err := w.quiet(ctx, w.polls+2*w.probes); err != nil {
		return err
	}
	r.resync = time.Since(began)
	if r.resyncAPI, err = w.operatorWrites(ctx); err != nil {
		return err
	}
	voting, err := w.votingRequests(ctx)
	if err != nil {
		return err
	}
	r.resyncVoting = voting.since(votingBefore)
	if r.resyncCPU, err = w.cpu(ctx); err != nil {
		return err
	}
	if r.resyncResident, r.resyncPeak, err = w.operator.memory(); err != nil {
		return err
	}
	w.say("starting the operator anew, and declaring %d more one by one meanwhile", w.probes)
	if err := w.stopOperator(); err != nil {
		return err
	}
	if err := w.startOperator(ctx); err != nil {
		return err
	}
	r.busy, err = w.probe(ctx, ready, "busy")
	return err
}

// quiet waits until the operator has looked at this many Polls since it began
// and none is left to look at.
func (w *world) quiet(ctx context.Context, atLeast int) error {
	idle := 0
	return w.until(ctx, func() (bool, error) {
		done, waiting, err := w.reconciles(ctx)
		if err != nil || done < float64(atLeast) || waiting > 0 {
			idle = 0
			return false, err
		}
		idle++
		return idle > 5, nil
	})
}

// declare creates Polls from many clients at once, as a pipeline does.
func (w *world) declare(ctx context.Context, n int) error {
	var group errgroup.Group
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error { return w.api.Create(ctx, w.newPoll(fmt.Sprintf("poll-%d", i), i)) })
	}
	return group.Wait()
}

func (w *world) newPoll(name string, i int) *v1alpha1.Poll {
	p := &v1alpha1.Poll{Spec: v1alpha1.PollSpec{
		ExtensionRef: v1alpha1.ObjectReference{Name: extension(i % w.extensions)},
		Channel:      fmt.Sprint(i / w.extensions), Prompt: "Which?", Options: []string{"this", "that"},
	}}
	p.Namespace, p.Name = namespace, name
	return p
}

// probe declares Polls one after the other and returns how long each took to be
// ready, sorted.
func (w *world) probe(ctx context.Context, ready *readiness, name string) ([]time.Duration, error) {
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

// readiness is which Polls are ready, as a watch tells.
type readiness struct {
	mu      sync.Mutex
	names   map[string]bool
	changed chan struct{} // closed and replaced when names grew
}

// watchReady follows the Polls until ctx is done.
func (w *world) watchReady(ctx context.Context) (*readiness, error) {
	r := &readiness{names: map[string]bool{}, changed: make(chan struct{})}
	follower, err := cache.New(w.environment.Config, cache.Options{Scheme: w.api.Scheme()})
	if err != nil {
		return nil, err
	}
	informer, err := follower.GetInformer(ctx, &v1alpha1.Poll{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    r.see,
		UpdateFunc: func(_, o any) { r.see(o) },
	})
	go func() { _ = follower.Start(ctx) }() // it ends with ctx
	return r, err
}

func (r *readiness) see(o any) {
	p := o.(*v1alpha1.Poll)
	if meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.Ready) {
		r.update(func() { r.names[p.Name] = true })
	}
}

func (r *readiness) update(by func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	by()
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *readiness) state(name string) (n int, ready bool, changed chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.names), r.names[name], r.changed
}

// await waits until n Polls are ready.
func (r *readiness) await(ctx context.Context, bar interface{ Set(int) error }, n int) error {
	for {
		got, _, changed := r.state("")
		_ = bar.Set(got)
		if got >= n {
			return nil
		}
		if err := awaitChange(ctx, changed); err != nil {
			return err
		}
	}
}

// awaitOne waits until the Poll of that name is ready.
func (r *readiness) awaitOne(ctx context.Context, name string) error {
	for {
		_, ready, changed := r.state(name)
		if ready {
			return nil
		}
		if err := awaitChange(ctx, changed); err != nil {
			return err
		}
	}
}

func awaitChange(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
