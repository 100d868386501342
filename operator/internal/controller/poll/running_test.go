package poll_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/poll"
	"github.com/acclaim-dev/acclaim/operator/internal/holder"
	"github.com/acclaim-dev/acclaim/operator/internal/watchdog"
)

// run runs the operator in a world as the program does, until the returned
// function or the end of the spec. Nothing asks it to reconcile: what comes true
// does so because the right things are watched.
func (w *world) run() (operator ctrl.Manager, stop func()) {
	GinkgoHelper()
	manager, err := ctrl.NewManager(w.connection(), ctrl.Options{
		Scheme:     cluster.Scheme,
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{w.namespace: {}}},
		Metrics:    server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, // the next spec has one too
	})
	Expect(err).NotTo(HaveOccurred())
	r := *w.reconciler
	r.Client, r.APIReader, r.Now, r.Recorder = manager.GetClient(), manager.GetAPIReader(), w.clock.moving, manager.GetEventRecorder("acclaim-operator")
	ctx, cancel := context.WithCancel(context.Background())
	Expect(r.Setup(ctx, manager, 4)).To(Succeed())
	done := make(chan error, 1)
	go func() { done <- manager.Start(ctx) }()
	stopped := false
	stop = func() {
		GinkgoHelper()
		cancel()
		if !stopped {
			stopped = true
			Eventually(done).Should(Receive(Succeed()))
		}
	}
	DeferCleanup(stop)
	return manager, stop
}

// eventually waits until a Poll as it is stored matches.
func (w *world) eventually(ctx context.Context, p *v1alpha1.Poll, matcher OmegaMatcher) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(w.api.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		g.Expect(p).To(matcher)
	}).WithContext(ctx).Should(Succeed())
}

// several returns Polls on channels of their own.
func (w *world) several(n int) (all []*v1alpha1.Poll) {
	for i := range n {
		all = append(all, w.poll(fmt.Sprintf("poll-%d", i), func(s *v1alpha1.PollSpec) { s.Channel = fmt.Sprint(i) }))
	}
	return all
}

var _ = Describe("The operator as it runs", func() {
	var w *world
	BeforeEach(func(ctx SpecContext) {
		w = newWorld(ctx)
		w.reconciler.DriftInterval = 24 * time.Hour // nothing comes true by waiting
	})

	It("follows what a Poll rests on", func(ctx SpecContext) {
		p := w.poll("watched")
		w.delete(ctx, w.secret())
		w.reconciler.DefaultBackend = nil
		manager, _ := w.run()
		w.create(ctx, p)
		w.eventually(ctx, p, haveReason(v1alpha1.Ready, v1alpha1.ReasonBackendNotFound))
		w.create(ctx, &v1alpha1.Backend{ObjectMeta: w.named("default"), Spec: v1alpha1.BackendSpec{
			Image: "acclaim:test", MongoDB: v1alpha1.SecretKeyReference{Name: "mongodb", Key: "uri"}}})
		w.eventually(ctx, p, haveReason(v1alpha1.Ready, v1alpha1.ReasonNoKey))
		w.create(ctx, w.secret())
		w.eventually(ctx, p, beReady())
		// The controller may read the Secret before the watch delivers it, and the watch
		// reports no deletion of an object that it never delivered.
		seen := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}}
		Eventually(func() error {
			return manager.GetClient().Get(ctx, client.ObjectKeyFromObject(w.secret()), &seen)
		}).WithContext(ctx).Should(Succeed())
		w.delete(ctx, w.secret())
		w.eventually(ctx, p, haveReason(v1alpha1.Ready, v1alpha1.ReasonNoKey))
		w.delete(ctx, w.extension())
		w.eventually(ctx, p, haveReason(v1alpha1.Ready, v1alpha1.ReasonExtensionNotFound))
		w.create(ctx, w.secret())
		w.createExtension(ctx)
		w.eventually(ctx, p, beReady())
		w.delete(ctx, &v1alpha1.Backend{ObjectMeta: w.named("default")})
		w.eventually(ctx, p, haveReason(v1alpha1.Ready, v1alpha1.ReasonBackendNotFound))
	})

	It("looks again at a Poll that is not ready when its Backend turned ready", func(ctx SpecContext) {
		p, b := w.poll("waiting"), w.backend("default")
		w.wire.SetFilter(toVoting(answer(http.StatusBadRequest))) // which is not tried again by itself
		w.create(ctx, b, p)
		w.run()
		w.eventually(ctx, p, haveReason(v1alpha1.Ready, v1alpha1.ReasonInvalidConfiguration))
		w.wire.SetFilter(nil)
		meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: v1alpha1.Ready, Status: metav1.ConditionTrue, Reason: "Serving"})
		Expect(w.api.Status().Update(ctx, b)).To(Succeed())
		w.eventually(ctx, p, beReady())
	})

	It("looks again at a Poll that turned out not to be ready", func(ctx SpecContext) {
		p := w.poll("late")
		w.create(ctx, w.backend("default"), p)
		w.run()
		w.eventually(ctx, p, beReady())
		// As if a pass had written it before what made the Poll ready again.
		meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{Type: v1alpha1.Ready, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNoKey})
		Expect(w.api.Status().Update(ctx, p)).To(Succeed())
		w.eventually(ctx, p, beReady())
	})

	It("lets the younger of two Polls take over when the older goes", func(ctx SpecContext) {
		id := "same"
		first, second := w.poll("first"), w.poll("second")
		first.Spec.ID, second.Spec.ID, second.Spec.TotalVotesPerUser = &id, &id, 5
		w.run()
		w.create(ctx, first)
		w.createYounger(ctx, second, first)
		w.eventually(ctx, second, haveReason(v1alpha1.Ready, v1alpha1.ReasonConflict))
		w.delete(ctx, first)
		w.eventually(ctx, second, beReady())
		Expect(w.config(ctx, second).TotalVotesPerUser).To(BeEquivalentTo(5))
	})

	It("corrects drift by itself", func(ctx SpecContext) {
		p := w.poll("drift")
		w.reconciler.DriftInterval = 50 * time.Millisecond
		w.create(ctx, p)
		w.run()
		w.eventually(ctx, p, beReady())
		w.configure(ctx, p)
		Eventually(func() int64 { return w.config(ctx, p).TotalVotesPerUser }).Should(BeEquivalentTo(3))
		Eventually(func() error { // it is counted when the service has answered
			return testutil.GatherAndCompare(w.metrics, strings.NewReader(`
				# HELP acclaim_operator_drift_corrected_total Configurations changed behind the operator's back and written back.
				# TYPE acclaim_operator_drift_corrected_total counter
				acclaim_operator_drift_corrected_total 1
			`), "acclaim_operator_drift_corrected_total")
		}).WithContext(ctx).Should(Succeed())
	})

	It("is ready again as soon as an operator is, after the watchdog has found none", func(ctx SpecContext) {
		w.reconciler.Instance = holder.NewInstance(w.namespace + "/acclaim")
		p := w.poll("left")
		w.create(ctx, w.backend("default"), p)
		w.settle(ctx, p)
		Expect(p).To(beReady())
		renewed := metav1.NewMicroTime(w.clock.standing())
		lease := &coordinationv1.Lease{ObjectMeta: w.named("operator"), Spec: coordinationv1.LeaseSpec{RenewTime: &renewed}}
		w.create(ctx, lease)
		watch := watchdog.Watchdog{
			Client: w.api, Namespace: w.namespace, Release: "acclaim", Lease: lease.Name,
			Now: w.clock.standing, MaxAge: 2 * time.Minute,
		}
		Expect(watch.Run(ctx)).To(Succeed())
		Expect(w.api.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		Expect(p).To(beReady())

		w.clock.advance(3 * time.Minute)
		Expect(watch.Run(ctx)).To(Succeed())
		Expect(w.api.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.Ready)
		Expect(ready).To(HaveValue(And(HaveField("Status", metav1.ConditionUnknown), HaveField("Reason", v1alpha1.ReasonOperatorAway))))
		version := p.ResourceVersion
		Expect(watch.Run(ctx)).To(Succeed())
		Expect(w.api.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		Expect(p.ResourceVersion).To(Equal(version), "it writes once")

		w.run()
		w.eventually(ctx, p, beReady())
	})

	It("counts Polls by their status", func(ctx SpecContext) {
		ready, lost := w.poll("ready"), w.poll("lost")
		lost.Spec.ExtensionRef.Name = "missing"
		w.create(ctx, ready, lost)
		manager, _ := w.run()
		w.eventually(ctx, ready, beReady())
		w.eventually(ctx, lost, haveReason(v1alpha1.Ready, v1alpha1.ReasonExtensionNotFound))
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(poll.NewCensus(manager.GetClient()))
		Eventually(func() error {
			return testutil.GatherAndCompare(registry, strings.NewReader(fmt.Sprintf(`
				# HELP acclaim_operator_polls Polls by namespace, where they stand in their schedule and the reason of their condition Ready.
				# TYPE acclaim_operator_polls gauge
				acclaim_operator_polls{reason="ExtensionNotFound",resource_namespace=%[1]q,status="active"} 1
				acclaim_operator_polls{reason="InSync",resource_namespace=%[1]q,status="active"} 1
			`, ready.Namespace)))
		}).Should(Succeed())
	})

	It("writes an Event when a Poll is not ready, and when it is at last", func(ctx SpecContext) {
		p := w.poll("event")
		w.delete(ctx, w.extension())
		w.create(ctx, p)
		w.run()
		w.eventually(ctx, p, haveReason(v1alpha1.Ready, v1alpha1.ReasonExtensionNotFound))
		w.create(ctx, w.extension())
		w.eventually(ctx, p, haveReason(v1alpha1.Ready, v1alpha1.ReasonWaitingForExtension))
		w.register(ctx, metav1.ConditionTrue, v1alpha1.ReasonRegistered)
		w.eventually(ctx, p, beReady())
		Eventually(func(g Gomega) {
			var all eventsv1.EventList
			g.Expect(w.api.List(ctx, &all, client.InNamespace(w.namespace))).To(Succeed())
			var seen []string
			for _, e := range all.Items {
				seen = append(seen, e.Type+" "+e.Reason+" "+e.Regarding.Name)
			}
			g.Expect(seen).To(ConsistOf("Warning ExtensionNotFound event", "Normal WaitingForExtension event", "Normal InSync event"))
		}).WithContext(ctx).Should(Succeed())
	})

	It("keeps what others write to a Poll meanwhile", func(ctx SpecContext) {
		p := w.poll("contended")
		var others atomic.Int32
		w.wire.SetFilter(func(call string, r *http.Request, pass http.RoundTripper) (*http.Response, error) {
			if call == "PATCH polls" && others.Add(1) <= 3 { // another writer is faster
				label := fmt.Appendf(nil, `{"metadata":{"labels":{"label-%d":"kept"}}}`, others.Load())
				other := &v1alpha1.Poll{ObjectMeta: w.named("contended")}
				if err := w.api.Patch(ctx, other, client.RawPatch(types.MergePatchType, label)); err != nil {
					return nil, err
				}
			}
			return pass.RoundTrip(r)
		})
		w.run()
		w.create(ctx, p)
		w.eventually(ctx, p, beReady())
		Expect(p.Labels).To(HaveLen(3))
		Expect(p.Finalizers).To(ConsistOf(v1alpha1.PollFinalizer))
		Expect(others.Load()).To(BeEquivalentTo(4), "each conflict is tried again")
	})

	It("outlives an API server that is killed and comes back", func(ctx SpecContext) {
		before, after := w.several(20)[:10], w.several(20)[10:]
		w.run()
		for _, p := range before {
			w.create(ctx, p)
		}
		Expect(cluster.KillAPIServer(ctx)).To(Succeed())
		Expect(cluster.StartAPIServer()).To(Succeed())
		for _, p := range after {
			Eventually(func() error { return client.IgnoreAlreadyExists(w.api.Create(ctx, p)) }).WithContext(ctx).Should(Succeed())
		}
		for _, p := range append(before, after...) {
			w.eventually(ctx, p, beReady())
			Expect(w.config(ctx, p)).NotTo(BeNil())
		}
	})

	It("is replaced by another at any moment", func(ctx SpecContext) {
		polls := w.several(20)
		for _, p := range polls {
			w.create(ctx, p)
		}
		_, stop := w.run()
		w.eventually(ctx, polls[0], beReady())
		stop()
		w.run()
		for _, p := range polls {
			w.eventually(ctx, p, beReady())
		}
	})

	It("outlives a voting service that is stopped and comes back", func(ctx SpecContext) {
		polls := w.several(10)
		w.run()
		w.create(ctx, polls[0])
		w.eventually(ctx, polls[0], beReady())
		Expect(w.voting.Stop(ctx)).To(Succeed())
		for _, p := range polls[1:] {
			w.create(ctx, p)
			w.eventually(ctx, p, haveReason(v1alpha1.Ready, v1alpha1.ReasonServiceUnreachable))
		}
		Expect(w.voting.Start(ctx)).To(Succeed())
		for _, p := range polls {
			w.eventually(ctx, p, beReady())
		}
	})

	It("outlives the key being exchanged under its hands", func(ctx SpecContext) {
		const next = "bmV4dC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY="
		polls := w.several(20)
		w.run()
		for i, p := range polls {
			w.create(ctx, p)
			switch i {
			case 5: // without care: the Secret first, the service some time later
				change(ctx, w, w.secret(), func(s *corev1.Secret) { s.Data["key"] = []byte(next) })
			case 15:
				Expect(w.voting.SetKeys(map[string][]string{clientID: {next}})).To(Succeed())
			}
		}
		for _, p := range polls {
			w.eventually(ctx, p, beReady())
		}
	})

	DescribeTable("does not keep a namespace from being deleted",
		func(ctx SpecContext, service func(context.Context)) {
			polls := w.several(5)
			w.run()
			for _, p := range polls {
				w.create(ctx, p)
				w.eventually(ctx, p, beReady())
			}
			service(ctx)
			w.delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})
			// The namespace controller of a cluster does the same, in an order that is not fixed:
			for _, kind := range []client.Object{&corev1.Secret{}, &v1alpha1.Extension{}, &v1alpha1.Poll{}, &v1alpha1.Backend{}} {
				Expect(w.api.DeleteAllOf(ctx, kind, client.InNamespace(w.namespace))).To(Succeed())
			}
			Eventually(func(g Gomega) {
				var left v1alpha1.PollList
				g.Expect(w.api.List(ctx, &left, client.InNamespace(w.namespace))).To(Succeed())
				g.Expect(left.Items).To(BeEmpty())
			}).WithContext(ctx).Should(Succeed())
		},
		Entry("while the service answers", func(context.Context) {}),
		Entry("while the service is gone for good", func(context.Context) { w.wire.SetFilter(toVoting(refuse)) }),
		Entry("while the service refuses everything", func(context.Context) { w.wire.SetFilter(toVoting(answer(403))) }),
	)
})
