package extension_test

import (
	"context"
	"crypto/tls"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	acclaim "github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/backend"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/extension"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/poll"
	"github.com/acclaim-dev/acclaim/operator/internal/holder"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
)

// window stands for the two minutes that the documentation asks for between
// making a key known and using it: time for the kubelet to bring it to every pod.
const window = 10 * time.Second

// start runs the operator's controllers for the world's namespace as the program
// does, until the spec ends. Polls are looked after ten times a second, in the pod that serves.
func (w *world) start() ctrl.Manager {
	GinkgoHelper()
	manager, stop := w.startUntil()
	DeferCleanup(stop)
	return manager
}

// startUntil is start for controllers that stop when the function that it returns is called.
func (w *world) startUntil() (ctrl.Manager, func()) {
	GinkgoHelper()
	skip := true
	rights := operator
	var instance *holder.Instance
	if w.limits != nil {
		instance = holder.NewInstance(w.namespace + "/acclaim")
		if w.rights == nil {
			var err error
			w.rights, err = cluster.OperatorOf(context.Background(), w.namespace+"/acclaim", w.limits...)
			Expect(err).NotTo(HaveOccurred())
		}
		rights = w.rights
	}
	counted := rest.CopyConfig(rights)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper { return counter{w, next} })
	manager, err := ctrl.NewManager(counted, ctrl.Options{
		Scheme:     api.Scheme(),
		Metrics:    server.Options{BindAddress: "0"},
		Cache:      w.cacheOptions(),
		Controller: controllerconfig.Controller{SkipNameValidation: &skip},
	})
	Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(context.Background())
	renderer := extension.NewRenderer(func(in registry.Input) registry.Rendering {
		if in.Guests != nil {
			w.renderings.Add(1)
		}
		return registry.Render(in)
	})
	extensions := &extension.Reconciler{Client: manager.GetClient(), Recorder: w.recorder, Now: time.Now, GiveUpAfter: w.giveUpAfter, Watched: w.limits, Instance: instance, Renderer: renderer}
	Expect(extensions.Setup(ctx, manager, 2)).To(Succeed())
	polls := &poll.Reconciler{
		Client:        manager.GetClient(),
		APIReader:     manager.GetAPIReader(),
		Recorder:      events.NewFakeRecorder(10_000),
		HTTP:          poll.NewClients(func(*tls.Config) *http.Client { return &http.Client{Timeout: 5 * time.Second} }),
		Endpoint:      func(*v1alpha1.Backend) string { return w.endpoint() },
		Now:           time.Now,
		DriftInterval: 100 * time.Millisecond,
		GiveUpAfter:   time.Minute,
		Watched:       w.limits,
		Instance:      instance,
		Metrics:       poll.NewMetrics(prometheus.NewRegistry()),
	}
	Expect(polls.Setup(ctx, manager, 2)).To(Succeed())
	backends := &backend.Reconciler{Client: manager.GetClient(), APIReader: manager.GetAPIReader(), Recorder: events.NewFakeRecorder(10_000), Now: time.Now, GiveUpAfter: time.Minute, Watched: w.limits, Instance: instance}
	if w.limits != nil {
		Expect(backends.Setup(manager)).To(Succeed())
	}
	stopped := make(chan error)
	go func() { stopped <- manager.Start(ctx) }()
	return manager, func() {
		stop()
		Expect(<-stopped).To(Succeed())
	}
}

func (w *world) endpoint() string {
	if p := w.serving.Load(); p != nil {
		return p.base
	}
	return "http://127.0.0.1:1" // where nothing listens
}

// counter counts the Secrets whose contents the controllers read, by name; lists
// and watches have none.
type counter struct {
	w    *world
	next http.RoundTripper
}

// RoundTrip counts the request and sends it.
func (c counter) RoundTrip(r *http.Request) (*http.Response, error) {
	_, name, ok := strings.Cut(r.URL.Path, "/secrets")
	if ok && r.Method == http.MethodGet && !strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata") {
		c.w.mu.Lock()
		c.w.reads[strings.TrimPrefix(name, "/")]++
		c.w.mu.Unlock()
	}
	return c.next.RoundTrip(r)
}

func (w *world) secretsRead() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.reads)
}

// ask asks a pod for a poll with a token signed with a key and returns the status
// of the answer.
func ask(ctx context.Context, p *pod, key string) int {
	signer := acclaim.Signer{ClientID: "quiz", Keys: [][]byte{[]byte(key + padding)}, Channel: "1"}
	_, err := acclaim.New(p.base, signer.Credentials, acclaim.Options{Attempts: 1}).ReadStatistics(ctx, "any")
	if err != nil {
		return acclaim.StatusOf(err)
	}
	return http.StatusOK
}

// caller asks until it is stopped, and counts answers by status.
type caller struct {
	ctx     context.Context
	stop    context.CancelFunc
	group   sync.WaitGroup
	mu      sync.Mutex
	answers map[int]int
}

// call asks pods with one key.
func call(key string, pods ...*pod) *caller {
	c := newCaller()
	for _, p := range pods {
		c.repeat(func(ctx context.Context) int { return ask(ctx, p, key) })
	}
	return c
}

func newCaller() *caller {
	ctx, stop := context.WithCancel(context.Background())
	c := &caller{ctx: ctx, stop: stop, answers: map[int]int{}}
	DeferCleanup(func() { c.finish() })
	return c
}

// repeat asks again and again.
func (c *caller) repeat(ask func(context.Context) int) {
	c.group.Go(func() {
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for c.ctx.Err() == nil {
			c.count(ask(context.WithoutCancel(c.ctx)))
			<-ticker.C
		}
	})
}

func (c *caller) count(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[status]++
}

// good returns how many answers there were, -1 if one was not a success.
func (c *caller) good() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.answers) > 1 {
		return -1
	}
	return c.answers[http.StatusOK]
}

// finish stops the caller and returns the answers it had.
func (c *caller) finish() map[int]int {
	c.stop()
	c.group.Wait()
	return c.answers
}

// noteReasons returns a function that returns every reason of Ready that a Poll
// has had since.
func noteReasons(p *v1alpha1.Poll) func() []string {
	GinkgoHelper()
	ctx, stop := context.WithCancel(context.Background())
	watch, err := api.Watch(ctx, &v1alpha1.PollList{}, client.InNamespace(p.Namespace))
	Expect(err).NotTo(HaveOccurred())
	var reasons []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range watch.ResultChan() {
			if seen, ok := event.Object.(*v1alpha1.Poll); ok {
				if ready := meta.FindStatusCondition(seen.Status.Conditions, v1alpha1.Ready); ready != nil {
					reasons = append(reasons, ready.Reason)
				}
			}
		}
	}()
	return func() []string {
		watch.Stop()
		stop()
		<-done
		return reasons
	}
}

func polled(ctx context.Context, p *v1alpha1.Poll) func() (any, error) {
	return func() (any, error) {
		err := api.Get(ctx, client.ObjectKeyFromObject(p), p)
		return p.Status.Conditions, err
	}
}

var _ = Describe("Keys", func() {
	var (
		w           *world
		quiz        *v1alpha1.Extension
		p           *v1alpha1.Poll
		quick, slow *pod
	)
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		w.start()
		quiz = w.extension("quiz", key("old"))
		create(ctx, w.secret("old"), quiz, w.backend("default", "production"))
		Eventually(func() []string { return w.registryIfAny(ctx, "default")["quiz"] }).Should(Equal([]string{"old"}))
		quick, slow = w.startPod(ctx, "default", "voting"), w.startPod(ctx, "default", "voting")
		w.serving.Store(slow)
		p = w.poll("favourite")
		create(ctx, p)
		Eventually(polled(ctx, p)).Should(have(v1alpha1.Ready, v1alpha1.ReasonInSync))
	})

	It("are rotated without a failed request", func(ctx context.Context) {
		reasons := noteReasons(p)
		withOld := call("old", quick, slow)

		By("adding the new key, active when every pod has it")
		at := time.Now().Add(window).Truncate(time.Second)
		change(ctx, w.secret(), func(s *corev1.Secret) { s.Data["new"] = w.secret("new").Data["new"] })
		spread(func() {
			change(ctx, quiz, func(e *v1alpha1.Extension) { e.Spec.Keys = append(e.Spec.Keys, activeFrom(key("new"), at)) })
		}, quick, slow)
		Expect(time.Now()).To(BeTemporally("<", at), "this machine is too slow for the window")
		Expect(ask(ctx, slow, "new")).To(Equal(http.StatusUnauthorized), "of a key that is not active yet")

		By("using the new key beside the old one")
		select {
		case <-time.After(time.Until(at)):
		case <-ctx.Done():
		}
		withNew := call("new", quick, slow)
		Eventually(withNew.good).Should(BeNumerically(">", 100))

		By("removing the old key when it is not used any more")
		Expect(withOld.finish()).To(HaveLen(1))
		Expect(withOld.answers[http.StatusOK]).To(BeNumerically(">", 100))
		spread(func() {
			change(ctx, quiz, func(e *v1alpha1.Extension) { e.Spec.Keys = e.Spec.Keys[1:] })
		}, quick, slow)
		before := withNew.good()
		Eventually(withNew.good).Should(BeNumerically(">", before+100))
		Expect(withNew.finish()).To(HaveLen(1))
		Expect(ask(ctx, quick, "old")).To(Equal(http.StatusUnauthorized))
		Expect(ask(ctx, slow, "old")).To(Equal(http.StatusUnauthorized))
		Expect(reasons()).To(HaveEach(v1alpha1.ReasonInSync), "the operator's own requests")
	})

	It("that are used before a pod has them are refused there, but for the operator, which knows", func(ctx context.Context) {
		reasons := noteReasons(p)
		slow.hold()
		change(ctx, w.secret(), func(s *corev1.Secret) { s.Data["new"] = w.secret("new").Data["new"] })
		change(ctx, quiz, func(e *v1alpha1.Extension) {
			e.Spec.Keys[0].ActiveFrom = nil
			e.Spec.Keys = append(e.Spec.Keys, activeFrom(key("new"), time.Now().Add(-time.Hour)))
		})
		quick.reloaded()
		Expect(ask(ctx, quick, "new")).To(Equal(http.StatusOK))
		Expect(ask(ctx, slow, "new")).To(Equal(http.StatusUnauthorized))

		// A write by the operator that came after the new key.
		change(ctx, p, func(p *v1alpha1.Poll) { p.Spec.Prompt = "Which?" })
		Eventually(func() (int64, error) {
			err := api.Get(ctx, client.ObjectKeyFromObject(p), p)
			return p.Status.ObservedGeneration, err
		}).Should(BeEquivalentTo(2))
		Expect(reasons()).To(HaveEach(v1alpha1.ReasonInSync))
	})
})
