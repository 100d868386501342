package backend_test

import (
	"context"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/backend"
)

// asOperator applies manifests of the operator's rights and returns what its
// ServiceAccount may ask. What has no namespace goes into the given one.
func asOperator(ctx context.Context, c client.Client, namespace string, manifests ...string) *rest.Config {
	GinkgoHelper()
	for _, manifest := range manifests {
		content, err := os.ReadFile("../../../../config/rbac/" + manifest)
		Expect(err).NotTo(HaveOccurred())
		for document := range strings.SplitSeq(string(content), "\n---\n") {
			var o unstructured.Unstructured
			Expect(yaml.Unmarshal([]byte(document), &o.Object)).To(Succeed())
			if o.GetNamespace() == "" {
				o.SetNamespace(namespace) // ignored where it has no place
			}
			applied := client.ApplyConfigurationFromUnstructured(&o)
			Expect(c.Apply(ctx, applied, client.FieldOwner("kubectl"), client.ForceOwnership)).To(Succeed(), manifest)
			if strings.HasSuffix(manifest, "binding.yaml") {
				DeferCleanup(func(ctx context.Context) { Expect(c.Delete(ctx, &o)).To(Succeed()) })
			}
		}
	}
	config := rest.CopyConfig(cluster.Config)
	config.Impersonate.UserName = "system:serviceaccount:acclaim-system:acclaim-operator"
	return config
}

// The controller runs as the program does, with the rights that the role gives:
// nothing below asks it to reconcile, so what comes true does so because the
// right things are watched.
var _ = DescribeTable("watches what it rests on, with the rights it is given", func(ctx context.Context, binding string, gateway, restart bool) {
	if gateway {
		installGatewayAPI(ctx)
	}
	w := newWorld(ctx, func(s *v1alpha1.BackendSpec) {
		s.Services.Voting = &v1alpha1.Service{Autoscaling: &v1alpha1.Autoscaling{MaxReplicas: 9}}
		if gateway {
			s.Route = &v1alpha1.Route{Gateway: v1alpha1.ObjectReference{Name: "public"}, Host: "quiz.example"}
		}
	})
	if gateway {
		w.playGateway(ctx)
	}
	Expect(w.Delete(ctx, w.secret("mongodb", "", ""))).To(Succeed())
	manager, err := ctrl.NewManager(asOperator(ctx, w, w.backend.Namespace, "namespace.yaml", "role.yaml", "service_account.yaml", binding), ctrl.Options{
		Scheme:     cluster.Scheme,
		Metrics:    server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, // there is one in each spec
		Client:     client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Cache: cache.Options{
			ByObject:          backend.CacheOptions(),
			DefaultNamespaces: map[string]cache.Config{w.backend.Namespace: {}},
		},
	})
	Expect(err).NotTo(HaveOccurred())
	r := &backend.Reconciler{
		Client:    manager.GetClient(),
		APIReader: manager.GetAPIReader(),
		Recorder:  manager.GetEventRecorder("acclaim-operator"),
		Now:       time.Now,

		GiveUpAfter: time.Minute,
	}
	Expect(r.Setup(manager)).To(Succeed())
	running, stop := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- manager.Start(running) }()
	DeferCleanup(func() {
		stop()
		Eventually(stopped).Should(Receive(BeNil()))
	})

	w.eventually(ctx, v1alpha1.Ready, v1alpha1.ReasonMongoDBSecretMissing)
	w.create(ctx, w.secret("mongodb", "uri", "mongodb://one"))
	for _, service := range []string{"voting", "accumulation", "ranking", "state"} {
		w.eventually(ctx, v1alpha1.Reconciling, v1alpha1.ReasonRollingOut)
		Eventually(ctx, func() map[string]string { return w.images(ctx) }).Should(HaveKey(service))
		if service == "voting" {
			old := w.databaseVersion(ctx, service)
			Expect(w.Update(ctx, w.secret("mongodb", "uri", "mongodb://two"))).To(Succeed())
			Eventually(ctx, func() string { return w.databaseVersion(ctx, service) }).ShouldNot(Equal(old))
			Eventually(ctx, func() error { return w.tell(ctx, service, 0, 0) }).Should(Succeed())
			p := w.pod(ctx, service, waiting("ErrImagePull", "not found"))
			w.eventually(ctx, v1alpha1.Degraded, v1alpha1.ReasonImagePullBackOff)
			Expect(w.Delete(ctx, p, client.GracePeriodSeconds(0))).To(Succeed())
			w.eventually(ctx, v1alpha1.Degraded, v1alpha1.ReasonHealthy)
		}
		// The controller may hand the number of pods over at the same time.
		Eventually(ctx, func() string {
			_ = w.tell(ctx, service, 2, 0)
			w.load(ctx, w.backend)
			return w.condition(v1alpha1.Reconciling).Message
		}).ShouldNot(HavePrefix(service))
	}
	w.eventually(ctx, v1alpha1.Ready, v1alpha1.ReasonRolledOut)
	before := w.backend.DeepCopy() // and that stays so, whatever a pass wrote that was late
	meta.SetStatusCondition(&w.backend.Status.Conditions, metav1.Condition{
		Type: v1alpha1.Ready, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRollingOut, ObservedGeneration: w.backend.Generation})
	Expect(w.Status().Patch(ctx, w.backend, client.MergeFrom(before))).To(Succeed())
	w.eventually(ctx, v1alpha1.Ready, v1alpha1.ReasonRolledOut)

	if restart {
		Expect(cluster.KillAPIServer(ctx)).To(Succeed())
		Expect(cluster.StartAPIServer()).To(Succeed())
	}
	owned := []client.Object{
		&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: w.named("default-voting")},
		&corev1.Service{ObjectMeta: w.named("default-state")},
	}
	if gateway {
		owned = append(owned, route(w.backend.Namespace, "default"))
	}
	for _, o := range owned {
		w.load(ctx, o)
		uid := o.GetUID()
		Expect(w.Delete(ctx, o)).To(Succeed())
		Eventually(ctx, func() error { return w.Get(ctx, client.ObjectKeyFromObject(o), o) }).Should(Succeed(), "%T comes back", o)
		Expect(o.GetUID()).NotTo(Equal(uid))
	}

	// A Service without the operator's label is none that its cache has.
	w.change(ctx, func(s *v1alpha1.BackendSpec) { s.Services.Ranking = &v1alpha1.Service{Disabled: true} })
	Eventually(ctx, func() []string { return w.objects(ctx) }).ShouldNot(ContainElement(HaveSuffix("ranking")))
	w.eventually(ctx, v1alpha1.Ready, v1alpha1.ReasonRolledOut)
	w.create(ctx, &corev1.Service{ObjectMeta: w.named("default-ranking"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
	w.change(ctx, func(s *v1alpha1.BackendSpec) { s.Services.Ranking = nil })
	w.eventually(ctx, v1alpha1.Degraded, v1alpha1.ReasonNameTaken)

	registry := prometheus.NewRegistry()
	registry.MustRegister(backend.NewCensus(manager.GetClient()))
	Eventually(ctx, func() (string, error) { // the cache may be behind
		families, err := registry.Gather()
		if err != nil {
			return "", err
		}
		return families[0].String(), nil
	}).Should(And(ContainSubstring("acclaim_operator_backends"),
		ContainSubstring(`value:"production"`), ContainSubstring(`value:"degraded"`), MatchRegexp(`gauge:\{value:1\}`)))
	var events eventsv1.EventList
	Eventually(ctx, func() ([]eventsv1.Event, error) {
		err := w.List(ctx, &events, client.InNamespace(w.backend.Namespace))
		return events.Items, err
	}).Should(ContainElement(HaveField("Reason", v1alpha1.ReasonRolledOut)))

	w.pod(ctx, "voting", corev1.PodStatus{Phase: corev1.PodRunning})
	p := w.configured("poll")
	w.declare(ctx, p)
	Expect(w.Delete(ctx, w.backend)).To(Succeed())
	w.eventually(ctx, v1alpha1.Ready, v1alpha1.ReasonWaitingForPolls)
	Expect(w.Delete(ctx, p)).To(Succeed())
	w.release(ctx, p)
	Eventually(ctx, func() bool {
		return apierrors.IsNotFound(w.Get(ctx, client.ObjectKeyFromObject(w.backend), w.backend))
	}).Should(BeTrue())
},
	Entry("in the cluster, which has the Gateway API", "all-namespaces/cluster_role_binding.yaml", true, false),
	Entry("in a namespace of one that does not, and whose API server is away for a while", "namespaced/role_binding.yaml", false, true),
)

// eventually waits until a condition has a reason.
func (w *world) eventually(ctx context.Context, kind, reason string) {
	GinkgoHelper()
	Eventually(ctx, func() string {
		w.load(ctx, w.backend)
		c := meta.FindStatusCondition(w.backend.Status.Conditions, kind)
		if c == nil || c.ObservedGeneration != w.backend.Generation {
			return ""
		}
		return c.Reason
	}).Should(Equal(reason))
}
