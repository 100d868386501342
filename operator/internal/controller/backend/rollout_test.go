package backend_test

import (
	"context"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
)

var _ = It("A Backend tells when the operator looked, in writes that are minutes apart", func(ctx context.Context) {
	w := newWorld(ctx, nil)
	w.rollOut(ctx)
	first := w.backend.Status.ObservedTime
	Expect(first).To(HaveValue(HaveField("Time", BeTemporally("==", now.Time))))
	later := now.Time
	w.reconciler.Now = func() time.Time { return later }
	for _, step := range []struct {
		after  time.Duration
		writes int
	}{{4 * time.Minute, 0}, {5 * time.Minute, 1}, {6 * time.Minute, 0}} {
		later = now.Add(step.after)
		Expect(w.reconcile(ctx)).To(Succeed())
		Expect(w.requests.writes).To(HaveLen(step.writes), "after %v", step.after)
	}
	Expect(w.backend.Status.ObservedTime).To(HaveValue(HaveField("Time", BeTemporally("==", now.Add(5*time.Minute)))))
	w.expectReady()
})

var _ = Describe("Rolling out", func() {
	It("starts all services of a new Backend at once and writes nothing in between", func(ctx context.Context) {
		w := newWorld(ctx, nil)
		w.settle(ctx)
		w.beginAll(ctx)
		services := []string{"voting", "accumulation", "ranking", "state"}
		for i, service := range services {
			w.settle(ctx)
			Expect(w.images(ctx)).To(Equal(map[string]string{"voting": "acclaim:1", "accumulation": "acclaim:1", "ranking": "acclaim:1", "state": "acclaim:1"}))
			Expect(w.condition(v1alpha1.Reconciling)).To(And(
				HaveField("Reason", v1alpha1.ReasonRollingOut), HaveField("Message", HavePrefix(service+" has 0 of 2 pods ready"))))
			Expect(w.condition(v1alpha1.Available)).To(And(
				HaveField("Reason", v1alpha1.ReasonNoReadyPods), HaveField("Message", HaveSuffix(strings.Join(services[i:], ", ")))))
			Expect(w.condition(v1alpha1.Degraded)).To(HaveField("Status", metav1.ConditionFalse))
			w.play(ctx, service, 1, 0)
			w.settle(ctx)
			Expect(w.condition(v1alpha1.Ready)).To(HaveField("Status", metav1.ConditionFalse), "one ready pod of two is not enough")
			w.play(ctx, service, 2, 0)
		}
		w.settle(ctx)
		w.expectReady()
		Expect(w.recorder.Events).To(Receive(ContainSubstring("RollingOut")))
		Expect(w.recorder.Events).To(Receive(Equal("Normal RolledOut Everything that is declared runs")))
		Expect(w.recorder.Events).NotTo(Receive(), "Events are about changes")
	})

	It("counts the pods that there should be and those that serve, and names their host", func(ctx context.Context) {
		w := newWorld(ctx, func(s *v1alpha1.BackendSpec) {
			s.Ingress = &v1alpha1.Ingress{Host: "a.example", TLSSecretName: "tls"}
			s.Services.Voting = &v1alpha1.Service{Autoscaling: &v1alpha1.Autoscaling{MinReplicas: 2, MaxReplicas: 5}}
		})
		expect := func(replicas, ready int) {
			GinkgoHelper()
			Expect(w.backend.Status.Host).To(Equal("a.example"))
			Expect([]int32{w.backend.Status.Replicas, w.backend.Status.ReadyReplicas}).To(HaveExactElements(BeEquivalentTo(replicas), BeEquivalentTo(ready)))
		}
		Expect(w.reconcile(ctx)).To(Succeed())
		expect(8, 0)
		w.rollOut(ctx)
		expect(8, 8)
		d := w.deployment(ctx, "voting")
		d.Spec.Replicas = new(int32(4)) // by the autoscaler
		Expect(w.Update(ctx, d)).To(Succeed())
		w.play(ctx, "voting", 3, 0)
		w.settle(ctx)
		expect(10, 9)
		w.play(ctx, "voting", 4, 2)
		w.settle(ctx)
		expect(10, 10)
	})

	It("starts a service again that is gone, while another one's rollout has stopped", func(ctx context.Context) {
		w := newWorld(ctx, nil)
		w.rollOut(ctx)
		w.change(ctx, func(s *v1alpha1.BackendSpec) { s.Image = "acclaim:2" })
		w.settle(ctx)
		Expect(w.Delete(ctx, w.deployment(ctx, "state"))).To(Succeed())
		w.settle(ctx)
		Expect(w.images(ctx)).To(Equal(map[string]string{"voting": "acclaim:2", "accumulation": "acclaim:1", "ranking": "acclaim:1", "state": "acclaim:2"}))
	})

	It("writes each object once and the status once", func(ctx context.Context) {
		w := newWorld(ctx, nil)
		Expect(w.reconcile(ctx)).To(Succeed())
		Expect(w.requests.writes).To(HaveLen(17), "finalizer, ServiceAccount, NetworkPolicy, 5 Services, 4 budgets, 4 Deployments, status")
	})

	It("makes pods that a restricted namespace admits", func(ctx context.Context) {
		w := newWorld(ctx, func(s *v1alpha1.BackendSpec) { s.Environment = "sandbox" })
		w.rollOut(ctx)
		for service := range w.images(ctx) {
			w.pod(ctx, service, corev1.PodStatus{})
		}
		Expect(w.images(ctx)).To(HaveLen(5))
	})

	It("stops an upgrade at the first service that does not become ready", func(ctx context.Context) {
		w := newWorld(ctx, nil)
		w.rollOut(ctx)
		w.change(ctx, func(s *v1alpha1.BackendSpec) { s.Image = "acclaim:2" })
		w.settle(ctx)
		before := map[string]string{"voting": "acclaim:2", "accumulation": "acclaim:1", "ranking": "acclaim:1", "state": "acclaim:1"}
		Expect(w.images(ctx)).To(Equal(before))
		Expect(w.condition(v1alpha1.Reconciling)).To(
			HaveField("Message", "voting replaces its pods; new pods wait in accumulation, ranking, state"))

		p := w.pod(ctx, "voting", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "voting", Image: "acclaim:2",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such tag"}},
		}}})
		w.play(ctx, "voting", 0, 2)
		w.settle(ctx)
		Expect(w.images(ctx)).To(Equal(before))
		Expect(w.expectDegraded(v1alpha1.ReasonImagePullBackOff)).To(ContainSubstring(`"acclaim:2": no such tag`))
		Expect(w.condition(v1alpha1.Available)).To(HaveField("Status", metav1.ConditionTrue), "the old pods serve")

		w.change(ctx, func(s *v1alpha1.BackendSpec) { s.Image = "acclaim:3" })
		Expect(w.Delete(ctx, p, client.GracePeriodSeconds(0))).To(Succeed())
		w.settle(ctx)
		Expect(w.images(ctx)).To(HaveKeyWithValue("voting", "acclaim:3"))
		w.rollOut(ctx)
		Expect(w.images(ctx)).To(HaveEach("acclaim:3"))
	})

	It("scales one service while another is in trouble", func(ctx context.Context) {
		w := newWorld(ctx, nil)
		w.rollOut(ctx)
		w.play(ctx, "voting", 1, 0)
		w.change(ctx, func(s *v1alpha1.BackendSpec) { s.Services.State = &v1alpha1.Service{Replicas: new(int32(5))} })
		w.settle(ctx)
		Expect(w.deployment(ctx, "state").Spec.Replicas).To(HaveValue(BeEquivalentTo(5)))
	})

	It("replaces pods, one service at a time, when the database has another address", func(ctx context.Context) {
		w := newWorld(ctx, nil)
		w.rollOut(ctx)
		old := w.databaseVersion(ctx, "voting")
		Expect(old).NotTo(BeEmpty())
		Expect(w.Update(ctx, w.secret("mongodb", "uri", "mongodb://two"))).To(Succeed())
		w.settle(ctx)
		Expect(w.databaseVersion(ctx, "voting")).NotTo(Equal(old))
		Expect(w.databaseVersion(ctx, "state")).To(Equal(old))
		w.rollOut(ctx)
		Expect(w.databaseVersion(ctx, "state")).To(Equal(w.databaseVersion(ctx, "voting")))
	})

	DescribeTable("leaves everything as it is while a Secret is missing", func(ctx context.Context, name, key, reason string, degraded metav1.ConditionStatus) {
		w := newWorld(ctx, nil)
		w.rollOut(ctx)
		Expect(w.Delete(ctx, w.secret(name, "", ""))).To(Succeed())
		w.change(ctx, func(s *v1alpha1.BackendSpec) { s.Image = "acclaim:2" })
		missing := func() {
			w.settle(ctx)
			Expect(w.condition(v1alpha1.Ready)).To(And(HaveField("Reason", reason), HaveField("Message", ContainSubstring(name))))
			Expect(w.condition(v1alpha1.Degraded)).To(HaveField("Status", degraded))
			Expect(w.condition(v1alpha1.Available)).To(HaveField("Status", metav1.ConditionTrue))
			Expect(w.images(ctx)).To(HaveEach("acclaim:1"))
		}
		missing()
		w.create(ctx, w.secret(name, "other", "value"))
		missing()
		Expect(w.Update(ctx, w.secret(name, key, "value"))).To(Succeed())
		w.rollOut(ctx)
		Expect(w.images(ctx)).To(HaveEach("acclaim:2"))
	},
		Entry("with the database's address", "mongodb", "uri", v1alpha1.ReasonMongoDBSecretMissing, metav1.ConditionTrue),
		Entry("with the registry, which the operator makes", "default-registry", desired.RegistryKey, v1alpha1.ReasonRegistryMissing, metav1.ConditionFalse),
	)
})

var _ = Describe("Autoscaling", func() {
	scaled := func(s *v1alpha1.BackendSpec) {
		s.Services.Voting = &v1alpha1.Service{Autoscaling: &v1alpha1.Autoscaling{MinReplicas: 3, MaxReplicas: 9}}
	}
	scale := func(ctx context.Context, w *world, replicas int32) {
		to := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
		Expect(w.SubResource("scale").Update(ctx, w.deployment(ctx, "voting"), client.WithSubResourceBody(to))).To(Succeed())
	}

	It("begins with the least number of pods and leaves it to the autoscaler", func(ctx context.Context) {
		w := newWorld(ctx, scaled)
		Expect(w.reconcile(ctx)).To(Succeed())
		Expect(w.deployment(ctx, "voting").Spec.Replicas).To(HaveValue(BeEquivalentTo(3)))
		Expect(w.reconcile(ctx)).To(Succeed()) // hands the number over
		Expect(w.deployment(ctx, "voting").Spec.Replicas).To(HaveValue(BeEquivalentTo(3)))
		w.settle(ctx)
		for _, replicas := range []int32{7, 4} {
			scale(ctx, w, replicas)
			w.settle(ctx)
			Expect(w.deployment(ctx, "voting").Spec.Replicas).To(HaveValue(Equal(replicas)))
		}
	})

	It("never undoes what the autoscaler did a moment ago", func(ctx context.Context) {
		w := newWorld(ctx, scaled)
		Expect(w.reconcile(ctx)).To(Succeed())
		hands := 0
		w.requests.fail = func() (error, bool) {
			if w.requests.method == http.MethodPatch {
				if hands++; hands == 1 {
					scale(ctx, w, 7) // after the Deployment was read
				}
			}
			return nil, false
		}
		Expect(w.reconcile(ctx)).NotTo(Succeed())
		w.requests.fail = nil
		w.settle(ctx)
		Expect(w.deployment(ctx, "voting").Spec.Replicas).To(HaveValue(BeEquivalentTo(7)))
	})

	It("stays ready while pods are added", func(ctx context.Context) {
		w := newWorld(ctx, scaled)
		w.rollOut(ctx)
		w.settle(ctx)
		scale(ctx, w, 6)
		w.settle(ctx) // before the Deployment controller has seen it
		w.expectReady()
		w.play(ctx, "voting", 3, 0)
		w.settle(ctx)
		w.expectReady()
		Expect(w.events()).To(HaveLen(2), "RollingOut and RolledOut, at the beginning")
	})

	It("takes over from a fixed number, and back, without a dip", func(ctx context.Context) {
		w := newWorld(ctx, func(s *v1alpha1.BackendSpec) { s.Services.Voting = &v1alpha1.Service{Replicas: new(int32(5))} })
		w.rollOut(ctx)
		w.change(ctx, scaled)
		w.settle(ctx)
		Expect(w.deployment(ctx, "voting").Spec.Replicas).To(HaveValue(BeEquivalentTo(5)))
		scale(ctx, w, 8)
		w.settle(ctx)
		Expect(w.deployment(ctx, "voting").Spec.Replicas).To(HaveValue(BeEquivalentTo(8)))

		w.change(ctx, func(s *v1alpha1.BackendSpec) { s.Services.Voting = &v1alpha1.Service{Replicas: new(int32(6))} })
		w.settle(ctx)
		Expect(w.deployment(ctx, "voting").Spec.Replicas).To(HaveValue(BeEquivalentTo(6)))
		w.change(ctx, scaled)
		w.settle(ctx)
		Expect(w.deployment(ctx, "voting").Spec.Replicas).To(HaveValue(BeEquivalentTo(6)))
	})

	It("starts no pods while a foreign Secret has the registry's name", func(ctx context.Context) {
		w := newWorld(ctx, nil)
		foreign := w.secret("default-registry", desired.RegistryKey, "extensions: []")
		Expect(w.Delete(ctx, foreign)).To(Succeed())
		foreign = w.secret("default-registry", desired.RegistryKey, "extensions: []")
		foreign.Labels = nil
		w.create(ctx, foreign)
		w.settle(ctx)
		Expect(w.expectDegraded(v1alpha1.ReasonNameTaken)).To(ContainSubstring("Secret default-registry"))
		Expect(w.images(ctx)).To(BeEmpty())
		Expect(w.Delete(ctx, foreign)).To(Succeed())
		w.create(ctx, w.secret("default-registry", desired.RegistryKey, "extensions: []"))
		w.rollOut(ctx)
	})
})
