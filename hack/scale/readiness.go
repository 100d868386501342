package main

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

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
		AddFunc:    r.recordObject,
		UpdateFunc: func(_, o any) { r.recordObject(o) },
	})
	go func() { _ = follower.Start(ctx) }() // it ends with ctx
	return r, err
}

func (r *readiness) recordObject(o any) {
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

// awaitAll waits until n Polls are ready.
func (r *readiness) awaitAll(ctx context.Context, bar interface{ Set(int) error }, n int) error {
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
