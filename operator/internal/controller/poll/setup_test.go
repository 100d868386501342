package poll_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/poll"
)

// TestSetup runs the controller as the program does: nothing below asks it to
// reconcile, so what comes true does so because the right things are watched.
func TestSetup(t *testing.T) {
	config, api := cluster(t)
	w := newWorld(t, api, startService(t))
	manager, err := ctrl.NewManager(config, ctrl.Options{Scheme: api.Scheme(), Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	w.reconciler.Client, w.reconciler.HTTP.Transport = manager.GetClient(), nil
	if err := w.reconciler.Setup(t.Context(), manager, 2); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- manager.Start(ctx) }()
	defer func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}()

	id := "watched"
	first, second := w.poll("first"), w.poll("second")
	first.Spec.ID, second.Spec.ID = &id, &id
	second.Spec.TotalVotesPerUser = 5
	w.delete(w.secret())
	w.create(first)
	w.eventually(first, v1alpha1.ReasonNoKey)
	w.create(w.secret()) // a Secret leads to its Polls
	w.eventually(first, v1alpha1.ReasonInSync)
	w.delete(w.extension())
	w.eventually(first, v1alpha1.ReasonExtensionNotFound)
	w.create(w.extension()) // so does an Extension
	w.eventually(first, v1alpha1.ReasonInSync)

	w.createYounger(second, first)
	w.eventually(second, v1alpha1.ReasonConflict)
	w.delete(first) // and a Poll to the one that was in conflict with it
	w.eventually(second, v1alpha1.ReasonInSync)
	if got, _ := w.config(second); got.TotalVotesPerUser != 5 {
		t.Errorf("the service holds %+v", got)
	}

	registry := prometheus.NewRegistry()
	registry.MustRegister(poll.NewCensus(manager.GetClient()))
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetMetric()[0].GetGauge().GetValue() != 1 {
		t.Errorf("the census is %v, %v", families, err)
	}
}

// eventually waits until Ready has a reason.
func (w *world) eventually(p *v1alpha1.Poll, reason string) {
	w.t.Helper()
	err := wait.PollUntilContextTimeout(w.t.Context(), 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := w.api.Get(ctx, client.ObjectKeyFromObject(p), p)
		ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.Ready)
		return ready != nil && ready.Reason == reason, err
	})
	if err != nil {
		w.t.Fatalf("never %s: %v; %+v", reason, err, p.Status)
	}
}
