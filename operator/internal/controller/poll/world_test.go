package poll_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	acclaim "github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/poll"
	"github.com/acclaim-dev/acclaim/operator/internal/testcluster"
	"github.com/acclaim-dev/acclaim/services/votingtest"
)

// The extension of every world and its key, as the Secret has it and decoded.
const (
	clientID   = "sample-extension"
	key        = "YS1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY="
	decodedKey = "a-key-of-more-than-32-bytes-0123456"
)

// world is a namespace, a voting service and a reconciler between them, whose
// clock and requests the spec holds.
type world struct {
	namespace  string
	api        client.WithWatch // undisturbed
	wire       *testcluster.Wire
	reconciler *poll.Reconciler
	http       *http.Client // the reconciler's, for services without TLS
	metrics    *prometheus.Registry
	events     *events.FakeRecorder
	voting     *votingtest.Server
	clock      *clock
}

// newWorld returns a world with an Extension, its Secret and no Backend.
func newWorld(ctx context.Context) *world {
	GinkgoHelper()
	w := &world{
		api:     cluster.Client,
		wire:    &testcluster.Wire{},
		metrics: prometheus.NewRegistry(),
		events:  events.NewFakeRecorder(1000),
		clock:   &clock{now: time.Now().Truncate(time.Second), since: time.Now()},
	}
	w.startVoting(ctx)
	w.reconciler = &poll.Reconciler{
		Client:    w.client(&client.CacheOptions{Reader: cached}),
		APIReader: w.client(nil),
		Recorder:  w.events,
		HTTP:      poll.NewClients(w.httpClient),
		Endpoint:  func(*v1alpha1.Backend) string { return w.voting.Base() },
		DefaultBackend: &v1alpha1.BackendSpec{
			Image: "acclaim:test", MongoDB: v1alpha1.SecretKeyReference{Name: "mongodb", Key: "uri"},
		},
		Now:           w.clock.standing,
		DriftInterval: time.Minute,
		GiveUpAfter:   5 * time.Minute,
		Metrics:       poll.NewMetrics(w.metrics),
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "poll-"}}
	w.create(ctx, namespace)
	w.namespace = namespace.Name
	DeferCleanup(func(ctx SpecContext) { Expect(cluster.CheckStatuses(ctx, w.namespace)).To(Succeed()) })
	w.create(ctx, w.secret())
	w.createExtension(ctx)
	return w
}

func (w *world) startVoting(ctx context.Context) {
	GinkgoHelper()
	var err error
	w.voting, err = votingtest.New(GinkgoT().TempDir(), w.clock.moving)
	Expect(err).NotTo(HaveOccurred())
	Expect(w.voting.SetKeys(map[string][]string{clientID: {key}})).To(Succeed())
	Expect(w.voting.Start(ctx)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(w.voting.Stop(ctx)).To(Succeed()) })
}

// httpClient returns a client for voting services whose requests the spec holds.
func (w *world) httpClient(config *tls.Config) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	c := &http.Client{Transport: w.wire.WrapTransport(transport), Timeout: 5 * time.Second}
	if config == nil {
		w.http = c
	}
	return c
}

// client returns a client as the operator's: it reads from a cache, if there is one,
// writes over the wire and may do what the operator's role allows.
func (w *world) client(cache *client.CacheOptions) client.Client {
	GinkgoHelper()
	c, err := client.New(w.connection(), client.Options{Scheme: cluster.Scheme, Cache: cache})
	Expect(err).NotTo(HaveOccurred())
	return c
}

func (w *world) connection() *rest.Config {
	config := rest.CopyConfig(cluster.Operator)
	config.Wrap(w.wire.WrapTransport)
	return config
}

// clock is a world's time: it stands still for the reconciler, and moves on for
// the service, which orders votes by it.
type clock struct {
	mu         sync.Mutex
	now, since time.Time
}

func (c *clock) standing() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) moving() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now.Add(time.Since(c.since))
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.since = c.now.Add(d), time.Now()
}

func (w *world) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

func (w *world) secret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: w.named("quiz"), Data: map[string][]byte{"key": []byte(key)}}
}

func (w *world) extension() *v1alpha1.Extension {
	e := &v1alpha1.Extension{ObjectMeta: w.named("quiz"), Spec: v1alpha1.ExtensionSpec{ClientID: clientID}}
	e.Spec.Keys = []v1alpha1.Key{{SecretRef: v1alpha1.SecretKeyReference{Name: "quiz", Key: "key"}}}
	return e
}

// createExtension creates the Extension as one that all pods have.
func (w *world) createExtension(ctx context.Context) {
	GinkgoHelper()
	w.create(ctx, w.extension())
	w.register(ctx, metav1.ConditionTrue, v1alpha1.ReasonRegistered)
}

// register stores the condition Registered of the Extension as its controller does, since an
// hour.
func (w *world) register(ctx context.Context, value metav1.ConditionStatus, reason string) {
	GinkgoHelper()
	e := w.extension()
	Expect(w.api.Get(ctx, client.ObjectKeyFromObject(e), e)).To(Succeed())
	e.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.Registered, Status: value, Reason: reason, Message: "why",
		LastTransitionTime: metav1.Time{Time: w.clock.standing().Add(-time.Hour)},
	}}
	Expect(w.api.Status().Update(ctx, e)).To(Succeed())
}

func (w *world) backend(name string) *v1alpha1.Backend {
	return &v1alpha1.Backend{ObjectMeta: w.named(name), Spec: *w.reconciler.DefaultBackend}
}

// poll returns a Poll with some changes.
func (w *world) poll(name string, changes ...func(*v1alpha1.PollSpec)) *v1alpha1.Poll {
	p := &v1alpha1.Poll{ObjectMeta: w.named(name), Spec: v1alpha1.PollSpec{
		ExtensionRef: v1alpha1.ObjectReference{Name: "quiz"}, Channel: "1",
		Prompt: "Which?", Options: []string{"this", "that"}, TotalVotesPerUser: 3,
	}}
	for _, change := range changes {
		change(&p.Spec)
	}
	return p
}

func (w *world) create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(w.api.Create(ctx, o)).To(Succeed())
	}
}

// createYounger creates a Poll in a later second than another was created in,
// which is as finely as the API server tells their ages apart.
func (w *world) createYounger(ctx context.Context, p, than *v1alpha1.Poll) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "clock-"}}
		g.Expect(w.api.Create(ctx, probe)).To(Succeed())
		g.Expect(than.CreationTimestamp.Before(&probe.CreationTimestamp)).To(BeTrue())
	}).WithContext(ctx).Should(Succeed())
	w.create(ctx, p)
}

// change applies a change to a stored object.
func change[T client.Object](ctx context.Context, w *world, o T, by func(T)) {
	GinkgoHelper()
	Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := w.api.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		by(o)
		return w.api.Update(ctx, o)
	})).To(Succeed())
}

func (w *world) delete(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(w.api.Delete(ctx, o)).To(Succeed())
	}
}

func (w *world) gone(ctx context.Context, o client.Object) bool {
	GinkgoHelper()
	err := w.api.Get(ctx, client.ObjectKeyFromObject(o), o)
	Expect(client.IgnoreNotFound(err)).To(Succeed())
	return apierrors.IsNotFound(err)
}

// fresh waits until the operator's cache has what the API server has.
func (w *world) fresh(ctx context.Context) {
	GinkgoHelper()
	versions := func(from client.Reader) (all []string, err error) {
		for _, list := range []client.ObjectList{&v1alpha1.PollList{}, &v1alpha1.ExtensionList{}, &v1alpha1.BackendList{}, &corev1.SecretList{}} {
			if err := from.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
				return nil, err
			}
			_ = meta.EachListItem(list, func(o runtime.Object) error {
				all = append(all, string(o.(client.Object).GetUID())+o.(client.Object).GetResourceVersion())
				return nil
			})
		}
		slices.Sort(all)
		return all, nil
	}
	want, err := versions(w.api)
	Expect(err).NotTo(HaveOccurred())
	Eventually(func() ([]string, error) { return versions(cached) }).WithContext(ctx).Should(Equal(want))
}

// reconcile runs the reconciler once, on what the API server has, and loads what
// became of the Poll.
func (w *world) reconcile(ctx context.Context, p *v1alpha1.Poll) (ctrl.Result, error) {
	GinkgoHelper()
	w.fresh(ctx)
	w.wire.TakeCalls()
	result, err := w.reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(p)})
	Expect(client.IgnoreNotFound(w.api.Get(ctx, client.ObjectKeyFromObject(p), p))).To(Succeed())
	return result, err
}

// settle reconciles and fails the spec when that does.
func (w *world) settle(ctx context.Context, p *v1alpha1.Poll) ctrl.Result {
	GinkgoHelper()
	result, err := w.reconcile(ctx, p)
	Expect(err).NotTo(HaveOccurred())
	return result
}

// serviceOf returns an undisturbed client for the poll that a Poll declares.
func (w *world) serviceOf(p *v1alpha1.Poll) *acclaim.Client {
	signer := acclaim.Signer{ClientID: clientID, Keys: [][]byte{[]byte(decodedKey)}, Channel: p.Spec.Channel, Now: w.clock.moving}
	return acclaim.New(w.voting.Base(), signer.Credentials, acclaim.Options{HTTP: &http.Client{}})
}

// config reads back what the service holds, nil when it holds nothing.
func (w *world) config(ctx context.Context, p *v1alpha1.Poll) *acclaim.SavedConfig {
	GinkgoHelper()
	config, found, err := w.serviceOf(p).ReadPollConfig(ctx, p.PollID())
	Expect(err).NotTo(HaveOccurred())
	if !found {
		return nil
	}
	return &config
}

// configure stores a configuration behind the operator's back.
func (w *world) configure(ctx context.Context, p *v1alpha1.Poll) {
	GinkgoHelper()
	other := contract.PollConfig{DistinctOptionsPerUser: 1, TotalVotesPerUser: 9, VotesPerOption: 1}
	Expect(w.serviceOf(p).ConfigurePoll(ctx, p.PollID(), other)).To(Succeed())
}

// noted returns the Events since it was last asked.
func (w *world) noted() (all []string) {
	for {
		select {
		case e := <-w.events.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}

// Decisions about calls:

func refuse(string, *http.Request, http.RoundTripper) (*http.Response, error) {
	return nil, errors.New("connection refused")
}

// createRaw creates a Poll with a spec as a user wrote it.
func (w *world) createRaw(ctx context.Context, name string, spec map[string]any) {
	GinkgoHelper()
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.Group + "/" + v1alpha1.Version, "kind": "Poll",
		"metadata": map[string]any{"namespace": w.namespace, "name": name}, "spec": spec,
	}}
	w.create(ctx, o)
}
