package backend_test

import (
	"context"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/backend"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
)

// world is a namespace that admits restricted pods only, a Backend in it, and a
// reconciler whose requests are seen.
type world struct {
	client.Client // undisturbed
	reconciler    *backend.Reconciler
	recorder      *events.FakeRecorder
	backend       *v1alpha1.Backend
	requests      *requests
}

// newWorld returns a world with all Secrets and a Backend that has been created
// but not reconciled.
func newWorld(ctx context.Context, change func(*v1alpha1.BackendSpec)) *world {
	seen := &requests{}
	config := rest.CopyConfig(cluster.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { seen.next = next; return seen })
	mine, err := client.New(config, client.Options{Scheme: cluster.Scheme})
	Expect(err).NotTo(HaveOccurred())
	undisturbed, err := client.New(cluster.Config, client.Options{Scheme: cluster.Scheme})
	Expect(err).NotTo(HaveOccurred())

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "backend-",
		Labels:       map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	Expect(undisturbed.Create(ctx, namespace)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		Expect(cluster.CheckStatuses(ctx, namespace.Name)).To(Succeed())
		// There are not enough addresses for the Services of all specs.
		Expect(undisturbed.DeleteAllOf(ctx, &corev1.Service{}, client.InNamespace(namespace.Name))).To(Succeed())
	})
	recorder := events.NewFakeRecorder(100)
	w := &world{
		Client:     undisturbed,
		reconciler: &backend.Reconciler{Client: mine, APIReader: mine, Recorder: recorder, Now: func() time.Time { return now.Time }},
		recorder:   recorder,
		requests:   seen,
		backend: &v1alpha1.Backend{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "default"},
			Spec: v1alpha1.BackendSpec{
				Image:   "acclaim:1",
				MongoDB: v1alpha1.SecretKeyReference{Name: "mongodb", Key: "uri"},
			},
		},
	}
	w.create(ctx, w.secret("mongodb", "uri", "mongodb://one"))
	w.create(ctx, w.secret("tls", "tls.crt", "any"))
	w.create(ctx, w.secret("default-registry", desired.RegistryKey, "extensions: []"))
	if change != nil {
		change(&w.backend.Spec)
	}
	w.create(ctx, w.backend)
	return w
}

func (w *world) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.backend.Namespace, Name: name}
}

// secret returns a Secret with one entry. A registry has the operator's label.
func (w *world) secret(name, key, value string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: w.named(name), Data: map[string][]byte{key: []byte(value)}}
	if name == desired.RegistrySecret(w.backend.Name) {
		s.Labels = map[string]string{desired.OperatorLabel: desired.Operator}
	}
	return s
}

func (w *world) create(ctx context.Context, o client.Object) {
	GinkgoHelper()
	Expect(w.Create(ctx, o)).To(Succeed())
}

func (w *world) load(ctx context.Context, o client.Object) {
	GinkgoHelper()
	Expect(w.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
}

// change edits the Backend's spec as a person would, again when the operator has
// written meanwhile.
func (w *world) change(ctx context.Context, by func(*v1alpha1.BackendSpec)) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		w.load(ctx, w.backend)
		by(&w.backend.Spec)
		return w.Update(ctx, w.backend)
	}).Should(Succeed())
}

// reconcile runs the reconciler once and loads what became of the Backend.
func (w *world) reconcile(ctx context.Context) error {
	GinkgoHelper()
	w.requests.writes = nil
	_, err := w.reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.backend)})
	w.load(ctx, w.backend)
	return err
}

// settle reconciles twice and fails when the second time writes anything.
func (w *world) settle(ctx context.Context) {
	GinkgoHelper()
	Expect(w.reconcile(ctx)).To(Succeed())
	Expect(w.reconcile(ctx)).To(Succeed())
	Expect(w.requests.writes).To(BeEmpty(), "a second reconcile writes nothing")
}

func (w *world) condition(kind string) metav1.Condition {
	GinkgoHelper()
	c := meta.FindStatusCondition(w.backend.Status.Conditions, kind)
	Expect(c).NotTo(BeNil(), kind)
	Expect(c.ObservedGeneration).To(Equal(w.backend.Generation))
	return *c
}

// expectReady fails the spec unless the Backend is ready.
func (w *world) expectReady() {
	GinkgoHelper()
	Expect(w.backend.Status.ObservedGeneration).To(Equal(w.backend.Generation))
	Expect(w.condition(v1alpha1.Ready)).To(HaveField("Status", metav1.ConditionTrue), "%+v", w.backend.Status)
	Expect(w.condition(v1alpha1.Available)).To(HaveField("Status", metav1.ConditionTrue))
	Expect(w.condition(v1alpha1.Degraded)).To(HaveField("Status", metav1.ConditionFalse))
	Expect(w.condition(v1alpha1.Reconciling)).To(HaveField("Status", metav1.ConditionFalse))
}

// expectDegraded fails the spec unless the Backend is degraded for a reason, and
// returns the message.
func (w *world) expectDegraded(reason string) string {
	GinkgoHelper()
	degraded, ready := w.condition(v1alpha1.Degraded), w.condition(v1alpha1.Ready)
	Expect(degraded).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", reason)))
	Expect(ready).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", reason), HaveField("Message", degraded.Message)))
	return degraded.Message
}

func (w *world) deployment(ctx context.Context, service string) *appsv1.Deployment {
	GinkgoHelper()
	d := &appsv1.Deployment{ObjectMeta: w.named("default-" + service)}
	w.load(ctx, d)
	return d
}

// images returns what each service's Deployment is to run.
func (w *world) images(ctx context.Context) map[string]string {
	GinkgoHelper()
	var all appsv1.DeploymentList
	Expect(w.List(ctx, &all, client.InNamespace(w.backend.Namespace))).To(Succeed())
	images := map[string]string{}
	for _, d := range all.Items {
		images[strings.TrimPrefix(d.Name, "default-")] = d.Spec.Template.Spec.Containers[0].Image
	}
	return images
}

// databaseVersion returns what a service's pods are marked with.
func (w *world) databaseVersion(ctx context.Context, service string) string {
	GinkgoHelper()
	return w.deployment(ctx, service).Spec.Template.Annotations[desired.DatabaseAnnotation]
}

// play sets what the Deployment controller would say: of the pods declared, so
// many are new and so many of those ready; old pods are there besides.
func (w *world) play(ctx context.Context, service string, ready, old int32, conditions ...appsv1.DeploymentCondition) {
	GinkgoHelper()
	Expect(w.tell(ctx, service, ready, old, conditions...)).To(Succeed())
}

func (w *world) tell(ctx context.Context, service string, ready, old int32, conditions ...appsv1.DeploymentCondition) error {
	d := &appsv1.Deployment{ObjectMeta: w.named("default-" + service)}
	if err := w.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
		return err
	}
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation,
		Replicas:           *d.Spec.Replicas + old,
		UpdatedReplicas:    *d.Spec.Replicas,
		ReadyReplicas:      ready + old,
		AvailableReplicas:  ready + old,
		Conditions:         conditions,
	}
	return w.Status().Update(ctx, d)
}

// rollOut plays successful rollouts until the Backend is ready.
func (w *world) rollOut(ctx context.Context) {
	GinkgoHelper()
	for range 20 {
		Expect(w.reconcile(ctx)).To(Succeed())
		current := w.backend.Status.ObservedGeneration == w.backend.Generation
		if current && meta.IsStatusConditionTrue(w.backend.Status.Conditions, v1alpha1.Ready) {
			w.expectReady()
			return
		}
		w.playAll(ctx)
	}
	Fail("never ready")
}

// playAll plays a successful rollout of every Deployment.
func (w *world) playAll(ctx context.Context) {
	GinkgoHelper()
	for service := range w.images(ctx) {
		w.play(ctx, service, *w.deployment(ctx, service).Spec.Replicas, 0)
	}
}

// beginAll plays that the pods of every Deployment begin, and none is ready.
func (w *world) beginAll(ctx context.Context) {
	GinkgoHelper()
	for service := range w.images(ctx) {
		w.play(ctx, service, 0, 0)
	}
}

// pod creates a pod of a service as its Deployment would, with a status.
func (w *world) pod(ctx context.Context, service string, status corev1.PodStatus) *corev1.Pod {
	GinkgoHelper()
	template := w.deployment(ctx, service).Spec.Template
	p := &corev1.Pod{ObjectMeta: w.named("default-" + service + "-pod"), Spec: template.Spec}
	p.Labels, p.Annotations = template.Labels, template.Annotations
	w.create(ctx, p)
	p.Status = status
	Expect(w.Status().Update(ctx, p)).To(Succeed())
	return p
}

// requests sees what a reconciler asks the API server, and may fail it.
type requests struct {
	next   http.RoundTripper
	writes []string
	method string // of the current request
	// fail is asked before each request when it is set. lost lets the request pass
	// and loses the answer.
	fail func() (err error, lost bool)
}

// RoundTrip implements [http.RoundTripper].
func (r *requests) RoundTrip(q *http.Request) (*http.Response, error) {
	var err error
	var lost bool
	r.method = q.Method
	if r.fail != nil {
		err, lost = r.fail()
	}
	if err != nil && !lost {
		return nil, err
	}
	if q.Method != http.MethodGet {
		r.writes = append(r.writes, q.Method+" "+q.URL.Path)
	}
	answer, failed := r.next.RoundTrip(q)
	if err != nil && failed == nil {
		answer.Body.Close()
		return nil, err
	}
	return answer, failed
}

// events returns those since it was called last.
func (w *world) events() []string {
	var all []string
	for len(w.recorder.Events) > 0 {
		all = append(all, <-w.recorder.Events)
	}
	return all
}

func namesOf(list client.ObjectList) []string {
	var names []string
	Expect(meta.EachListItem(list, func(o runtime.Object) error {
		names = append(names, o.(client.Object).GetName())
		return nil
	})).To(Succeed())
	return names
}

// answerRoute sets the answer of a Gateway to an HTTPRoute.
func (w *world) answerRoute(ctx context.Context, route *unstructured.Unstructured, accepted, resolved string) error {
	at := now.UTC().Format(time.RFC3339)
	err := unstructured.SetNestedSlice(route.Object, []any{map[string]any{
		"controllerName": "example.com/gateway", "parentRef": map[string]any{"name": "public"},
		"conditions": []any{
			map[string]any{"type": "Accepted", "status": accepted, "reason": "Any", "message": "of the host", "lastTransitionTime": at},
			map[string]any{"type": "ResolvedRefs", "status": resolved, "reason": "Any", "message": "of a Service", "lastTransitionTime": at},
		},
	}}, "status", "parents")
	if err != nil {
		return err
	}
	return w.Status().Update(ctx, route)
}

// playGateway takes every HTTPRoute of the namespace until the spec ends.
func (w *world) playGateway(ctx context.Context) {
	GinkgoHelper()
	c, err := client.NewWithWatch(cluster.Config, client.Options{Scheme: cluster.Scheme})
	Expect(err).NotTo(HaveOccurred())
	var routes unstructured.UnstructuredList
	routes.SetAPIVersion(desired.HTTPRouteVersion)
	routes.SetKind(desired.HTTPRouteKind + "List")
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	seen, err := c.Watch(running, &routes, client.InNamespace(w.backend.Namespace))
	Expect(err).NotTo(HaveOccurred())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range seen.ResultChan() {
			route, isRoute := event.Object.(*unstructured.Unstructured)
			if !isRoute || event.Type == watch.Deleted {
				continue
			}
			if _, answered, _ := unstructured.NestedSlice(route.Object, "status", "parents"); !answered {
				_ = w.answerRoute(running, route, "True", "True") // of a stale one: the next event follows
			}
		}
	}()
	DeferCleanup(func() { seen.Stop(); stop(); <-done })
}
