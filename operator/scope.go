package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/census"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/backend"
	"github.com/acclaim-dev/acclaim/operator/internal/scope"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
	"github.com/acclaim-dev/acclaim/operator/internal/task"
)

// errScopeChanged ends a run whose namespaces are no longer those that can be watched.
var errScopeChanged = errors.New("the namespaces that can be watched are others now")

// namespaceWatch looks at the namespaces that the operator is to watch.
type namespaceWatch struct {
	resolver *scope.Resolver
	interval time.Duration
	gauge    *prometheus.GaugeVec
	log      logr.Logger
	watched  []string // none: all
	last     []scope.Namespace
}

// newNamespaceGauge returns the gauge of namespaceWatch.
func newNamespaceGauge() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "acclaim_operator_namespaces",
		Help: "1 for the state of each namespace that the operator is to watch: watched, missing, terminating or forbidden; else 0.",
	}, []string{census.NamespaceLabel, "state"})
}

// newNamespaceWatch looks at the namespaces a first time. It fails when none can be watched.
// That of an operator of all namespaces does nothing.
func (s flagValues) newNamespaceWatch(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, log logr.Logger) (*namespaceWatch, error) {
	w := &namespaceWatch{interval: s.lookInterval, gauge: newNamespaceGauge(), log: log}
	if len(s.namespaces) == 0 {
		return w, nil
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	ours, err := scope.RightsTo(c, ownKinds()...)
	if err != nil {
		return nil, err
	}
	lacks, err := scope.FindMissing(ctx, c, metav1.NamespaceAll, ours)
	if err != nil {
		return nil, err
	}
	if lacks != "" {
		return nil, fmt.Errorf("the operator lacks the right to %s in all namespaces: bind the ClusterRole of config/rbac/finalizers", lacks)
	}
	rights, err := scope.RightsTo(c, s.watchedKinds()...)
	if err != nil {
		return nil, err
	}
	w.resolver = &scope.Resolver{Client: c, Names: s.namespaces, Rights: rights}
	if s.selector != "" {
		if w.resolver.Selector, err = labels.Parse(s.selector); err != nil {
			return nil, fmt.Errorf("--namespace-selector: %w", err)
		}
	}
	if w.watched, err = w.look(ctx); err != nil {
		return nil, err
	}
	if len(w.watched) == 0 {
		return nil, fmt.Errorf("none of the namespaces can be watched: %+v", w.last)
	}
	return w, nil
}

// ownKinds returns an object of each kind that the operator watches in all namespaces.
func ownKinds() []client.Object {
	return []client.Object{&v1alpha1.Poll{}, &v1alpha1.Extension{}, &v1alpha1.Backend{}}
}

// watchedKinds returns an object of each kind that it watches in the namespaces that it is
// limited to.
func (s flagValues) watchedKinds() []client.Object {
	jobs, _ := task.CacheOptions()
	kinds := append([]client.Object{jobs}, backend.Kinds()...)
	if s.secretsByName {
		return kinds
	}
	return append([]client.Object{&corev1.Secret{}}, kinds...)
}

// look returns the namespaces that can be watched. It logs each state that is new and sets
// the gauge.
func (w *namespaceWatch) look(ctx context.Context) ([]string, error) {
	all, err := w.resolver.Resolve(ctx)
	if err != nil {
		return nil, err
	}
	w.gauge.Reset()
	for _, n := range all {
		for _, state := range scope.States() {
			w.gauge.WithLabelValues(n.Name, string(state)).Set(0)
		}
		w.gauge.WithLabelValues(n.Name, string(n.State)).Set(1)
		if n.State != scope.Watched && !slices.Contains(w.last, n) {
			w.log.Info("a namespace cannot be watched", "watched", n.Name, "state", n.State, "lacks", n.Lacks)
		}
	}
	w.last = all
	return scope.WatchedOf(all), nil
}

// wait looks at the namespaces again and again until others can be watched than those at the
// start, or the context is done.
func (w *namespaceWatch) wait(ctx context.Context) error {
	if w.resolver == nil {
		return nil
	}
	ticker := time.NewTicker(w.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		now, err := w.look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			w.log.Error(err, "look at the namespaces to watch") // they stay the same meanwhile
		case !slices.Equal(now, w.watched):
			w.log.Info("the operator starts again: other namespaces can be watched", "before", w.watched, "now", now)
			return errScopeChanged
		}
	}
}

// watchedReader lists only what is in namespaces that the operator watches.
type watchedReader struct {
	client.Reader
	watched []string
}

// List implements [client.Reader].
func (r watchedReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := r.Reader.List(ctx, list, options...); err != nil || len(r.watched) == 0 {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	return meta.SetList(list, slices.DeleteFunc(items, func(o runtime.Object) bool {
		return !sharing.Sees(r.watched, o.(client.Object).GetNamespace())
	}))
}
