package extension_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/extension"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/services/votingtest"
)

// askedPods are the pods of a Backend, each a voting service.
type askedPods struct {
	w        *world
	services map[string]*votingtest.Server // by the name of the pod
	requests atomic.Int32
}

// askPods makes the reconciler ask pods.
func (w *world) askPods() *askedPods {
	a := &askedPods{w: w, services: map[string]*votingtest.Server{}}
	w.reconciler.Pods = extension.NewPodAsker(func(_ *v1alpha1.Backend, pod *corev1.Pod) string {
		a.requests.Add(1)
		return a.services[pod.Name].Base()
	})
	return a
}

// add starts a ready pod of the voting service, which the network reaches, with keys of "quiz".
func (a *askedPods) add(ctx context.Context, name string, keys ...string) {
	GinkgoHelper()
	a.w.addPod(ctx, "voting", name)
	voting, err := votingtest.New(GinkgoT().TempDir(), time.Now)
	Expect(err).NotTo(HaveOccurred())
	a.services[name] = voting
	a.read(name, keys...)
	Expect(voting.Start(context.WithoutCancel(ctx))).To(Succeed())
	DeferCleanup(voting.Stop)
}

// addPod creates a ready pod without a program.
func (w *world) addPod(ctx context.Context, service, name string) {
	GinkgoHelper()
	p := &corev1.Pod{ObjectMeta: w.named(name), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: service, Image: "acclaim:test"}}}}
	p.Labels = map[string]string{desired.BackendLabel: "default", desired.OperatorLabel: desired.Operator, desired.ServiceLabel: service}
	create(ctx, p)
	p.Status = corev1.PodStatus{PodIP: "192.0.2.1", Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	Expect(api.Status().Update(ctx, p)).To(Succeed())
}

// read puts a registry with keys of "quiz" in force in a pod.
func (a *askedPods) read(name string, keys ...string) {
	GinkgoHelper()
	values := map[string][]string{}
	for _, k := range keys {
		values["quiz"] = append(values["quiz"], string(a.w.secret(k).Data[k]))
	}
	Expect(a.services[name].SetKeys(values)).To(Succeed())
}

var _ = Describe("An Extension in the registry", func() {
	var (
		w    *world
		pods *askedPods
		quiz *v1alpha1.Extension
	)
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		pods = w.askPods()
		quiz = w.extension("quiz", key("old"))
		create(ctx, w.secret("old", "new"), quiz, w.backend("default", "production"))
	})

	It("is not ready before every ready pod has its keys, and then asks no more", func(ctx context.Context) {
		pods.add(ctx, "a", "old")
		pods.add(ctx, "b")
		w.addPod(ctx, "sandbox", "c") // no route of it needs a token
		result, err := w.reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.RequeueAfter).To(BeNumerically(">", 0))
		Expect(told(ctx, quiz)).To(have(v1alpha1.Ready, v1alpha1.ReasonWaitingForRegistry))
		Expect(told(ctx, quiz)).To(have(v1alpha1.KeysUsable, v1alpha1.ReasonUsable))
		Expect(w.registry(ctx, "default")).To(Equal(keys{"quiz": {"old"}}))
		Expect(w.settle(ctx).RequeueAfter).To(BeNumerically(">", 0))

		pods.read("b", "old")
		w.settle(ctx)
		Expect(told(ctx, quiz)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
		before := pods.requests.Load()
		Expect(w.settle(ctx).RequeueAfter).To(BeZero())
		Expect(pods.requests.Load()).To(Equal(before))
		Expect(w.events()).To(Equal([]string{"Normal WaitingForRegistry", "Normal Registered"}))
	})

	It("waits again for a new key, with the old one in force", func(ctx context.Context) {
		pods.add(ctx, "a", "old")
		w.settle(ctx)
		change(ctx, quiz, func(e *v1alpha1.Extension) { e.Spec.Keys = append(e.Spec.Keys, key("new")) })
		w.settle(ctx)
		Expect(told(ctx, quiz)).To(have(v1alpha1.Ready, v1alpha1.ReasonWaitingForRegistry))
		pods.read("a", "old", "new")
		w.settle(ctx)
		Expect(told(ctx, quiz)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
	})

	It("waits for the first pod, and less often the longer it waits", func(ctx context.Context) {
		first := w.settle(ctx).RequeueAfter
		Expect(told(ctx, quiz)).To(have(v1alpha1.Ready, v1alpha1.ReasonWaitingForRegistry))
		w.now = w.now.Add(time.Minute)
		Expect(w.settle(ctx).RequeueAfter).To(BeNumerically(">", first))
		w.now = w.now.Add(time.Hour)
		Expect(w.settle(ctx).RequeueAfter).To(Equal(time.Minute))
		pods.add(ctx, "a", "old")
		w.settle(ctx)
		Expect(told(ctx, quiz)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
	})

	It("stays ready for another operator that pods do not answer", func(ctx context.Context) {
		pods.add(ctx, "a", "old")
		w.settle(ctx)
		Expect(pods.services["a"].Stop(ctx)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(pods.services["a"].Start(ctx)).To(Succeed()) }) // to be stopped
		again := w.askPods()
		again.services = pods.services
		Expect(w.settle(ctx).RequeueAfter).To(BeNumerically(">", 0))
		Expect(again.requests.Load()).NotTo(BeZero())
		Expect(told(ctx, quiz)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))

		change(ctx, quiz, func(e *v1alpha1.Extension) { e.Spec.OwnerUserID = "1" })
		w.settle(ctx)
		Expect(told(ctx, quiz)).To(have(v1alpha1.Ready, v1alpha1.ReasonWaitingForRegistry), "an edit was never seen in force")
		Expect(quiz.Status.Conditions).To(ContainElement(HaveField("Message", `Pod "a" does not answer the operator`)))
	})

	It("is asked for with TLS, by the name of the service", func(ctx context.Context) {
		pods.add(ctx, "a", "old")
		base, err := url.Parse(pods.services["a"].Base())
		Expect(err).NotTo(HaveOccurred())
		var name atomic.Value
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
			name.Store(in.TLS.ServerName)
			httputil.NewSingleHostReverseProxy(&url.URL{Scheme: base.Scheme, Host: base.Host}).ServeHTTP(out, in)
		}))
		certificate, authority := certificateOf(fmt.Sprintf("default-voting.%s.svc", w.namespace))
		server.TLS = certificate
		server.StartTLS()
		DeferCleanup(server.Close)
		w.reconciler.Pods = extension.NewPodAsker(func(*v1alpha1.Backend, *corev1.Pod) string { return server.URL + base.Path })
		backend := w.backend("default", "production")
		change(ctx, backend, func(b *v1alpha1.Backend) { b.Spec.TLSSecretName = "tls" })
		w.settle(ctx)
		Expect(told(ctx, quiz)).To(have(v1alpha1.Ready, v1alpha1.ReasonWaitingForRegistry), "the authority is not known")
		create(ctx, &corev1.Secret{ObjectMeta: w.named("tls"), Data: map[string][]byte{
			desired.AuthorityKey: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority}),
		}})
		w.settle(ctx)
		Expect(told(ctx, quiz)).To(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))
		Expect(name.Load()).To(Equal(fmt.Sprintf("default-voting.%s.svc", w.namespace)))
	})
})
