package poll_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	acclaim "github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/testcluster"
)

// toVoting applies a cut to calls of the voting service alone.
func toVoting(cut testcluster.CallFilter) testcluster.CallFilter {
	return func(call string, r *http.Request, pass http.RoundTripper) (*http.Response, error) {
		if !strings.Contains(call, " /vote") {
			return pass.RoundTrip(r)
		}
		return cut(call, r, pass)
	}
}

// answer is a service that answers everything alike.
func answer(status int) testcluster.CallFilter {
	return func(string, *http.Request, http.RoundTripper) (*http.Response, error) {
		recorder := httptest.NewRecorder()
		recorder.WriteHeader(status)
		_, err := fmt.Fprintf(recorder, `{"reason": "status %d"}`, status)
		return recorder.Result(), err
	}
}

// hang is a service that takes a request and never answers.
func hang(_ string, r *http.Request, _ http.RoundTripper) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

var _ = Describe("A voting service in trouble", func() {
	var (
		w *world
		p *v1alpha1.Poll
	)
	BeforeEach(func(ctx SpecContext) {
		w = newWorld(ctx)
		p = w.poll("trouble")
		w.create(ctx, w.backend("default"), p)
	})

	DescribeTable("is said so once, tried again, and forgotten when it is over",
		func(ctx SpecContext, cut testcluster.CallFilter, condition, reason string) {
			w.settle(ctx, p)
			w.http.Timeout = 100 * time.Millisecond // for the one that hangs
			w.wire.SetFilter(toVoting(cut))
			_, err := w.reconcile(ctx, p)
			Expect(err).To(HaveOccurred(), "which makes the controller try again")
			Expect(p).To(beBecause(condition, reason))
			Expect(w.wire.TakeWrites()).To(Equal([]string{"PATCH polls/status"}))
			_, err = w.reconcile(ctx, p)
			Expect(err).To(HaveOccurred())
			Expect(w.wire.TakeWrites()).To(BeEmpty())
			Expect(w.noted()).To(ConsistOf(HavePrefix("Warning " + reason)))

			w.wire.SetFilter(nil)
			w.settle(ctx, p)
			Expect(p).To(beReady())
			Expect(w.noted()).To(ConsistOf(HavePrefix("Normal InSync")))
			Expect(testutil.GatherAndCompare(w.metrics, strings.NewReader(fmt.Sprintf(`
				# HELP acclaim_operator_configuration_errors_total Requests to voting services that failed or were refused, by the Poll's namespace and the reason that its condition gives.
				# TYPE acclaim_operator_configuration_errors_total counter
				acclaim_operator_configuration_errors_total{reason=%q,resource_namespace=%q} 2
			`, reason, p.Namespace)), "acclaim_operator_configuration_errors_total")).To(Succeed())
		},
		Entry("when it is down", refuse, v1alpha1.ServicesAvailable, v1alpha1.ReasonServiceUnreachable),
		Entry("when it hangs", hang, v1alpha1.ServicesAvailable, v1alpha1.ReasonServiceUnreachable),
		Entry("when it answers 500", answer(500), v1alpha1.ServicesAvailable, v1alpha1.ReasonServiceUnreachable),
		Entry("when it answers 429", answer(429), v1alpha1.ServicesAvailable, v1alpha1.ReasonServiceUnreachable),
		Entry("when it answers 403", answer(403), v1alpha1.Configured, v1alpha1.ReasonNotAuthorized),
		Entry("when it answers 401", answer(401), v1alpha1.Configured, v1alpha1.ReasonNotAuthorized),
	)

	It("does not keep the status from turning", func(ctx SpecContext) {
		change(ctx, w, p, func(p *v1alpha1.Poll) { p.Spec.EndsAt = &metav1.Time{Time: w.clock.standing().Add(time.Second)} })
		w.settle(ctx, p)
		w.clock.advance(10 * time.Second)
		w.wire.SetFilter(toVoting(refuse))
		_, err := w.reconcile(ctx, p)
		Expect(err).To(HaveOccurred())
		Expect(p.Status.PollStatus).To(Equal("expired"))
		w.wire.SetFilter(nil)
		w.settle(ctx, p)
		Expect(p.Status.Statistics).NotTo(BeNil())
	})

	It("keeps what it stored when it is started again", func(ctx SpecContext) {
		w.settle(ctx, p)
		Expect(w.voting.Stop(ctx)).To(Succeed())
		_, err := w.reconcile(ctx, p)
		Expect(err).To(HaveOccurred())
		Expect(w.voting.Start(ctx)).To(Succeed())
		w.settle(ctx, p)
		Expect(p).To(beReady())
		Expect(w.wire.TakeCalls()).To(Equal([]string{"GET /vote_config", "PATCH polls/status"}))
	})
})

var _ = Describe("The key of an Extension", func() {
	const next = "bmV4dC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY="
	var (
		w *world
		p *v1alpha1.Poll
	)
	BeforeEach(func(ctx SpecContext) {
		w = newWorld(ctx)
		p = w.poll("keys")
		w.create(ctx, w.backend("default"), p)
		w.settle(ctx, p)
	})
	// rotate adds a key that is active since a second ago.
	rotate := func(ctx SpecContext) {
		GinkgoHelper()
		change(ctx, w, w.secret(), func(s *corev1.Secret) { s.Data["next"] = []byte(next) })
		change(ctx, w, w.extension(), func(e *v1alpha1.Extension) {
			e.Spec.Keys = append(e.Spec.Keys, v1alpha1.Key{
				SecretRef:  v1alpha1.SecretKeyReference{Name: "quiz", Key: "next"},
				ActiveFrom: &metav1.Time{Time: w.clock.standing().Add(-time.Second)},
			})
		})
	}

	It("is missed while its Secret is gone", func(ctx SpecContext) {
		w.delete(ctx, w.secret())
		w.settle(ctx, p)
		Expect(p).To(beBecause(v1alpha1.Configured, v1alpha1.ReasonNoKey))
		w.create(ctx, w.secret())
		w.settle(ctx, p)
		Expect(p).To(beReady())
	})

	It("is missed while it is not active", func(ctx SpecContext) {
		change(ctx, w, w.extension(), func(e *v1alpha1.Extension) {
			e.Spec.Keys[0].ActiveFrom = &metav1.Time{Time: w.clock.standing().Add(time.Second)}
		})
		w.settle(ctx, p)
		Expect(p).To(beBecause(v1alpha1.Configured, v1alpha1.ReasonNoKey))
		w.clock.advance(time.Second)
		w.settle(ctx, p)
		Expect(p).To(beReady())
	})

	It("is missed when it is not base64", func(ctx SpecContext) {
		change(ctx, w, w.secret(), func(s *corev1.Secret) { s.Data["key"] = []byte("?") })
		w.settle(ctx, p)
		Expect(p).To(beBecause(v1alpha1.Configured, v1alpha1.ReasonNoKey))
	})

	It("is that of the Backend's environment", func(ctx SpecContext) {
		b := w.backend("sandbox")
		b.Spec.Environment = "sandbox"
		inSandbox := w.poll("sandbox", func(s *v1alpha1.PollSpec) { s.BackendRef = &v1alpha1.BackendReference{Name: "sandbox"} })
		w.create(ctx, b, inSandbox)
		w.settle(ctx, inSandbox)
		Expect(inSandbox).To(beBecause(v1alpha1.Configured, v1alpha1.ReasonNoKey))
		change(ctx, w, w.extension(), func(e *v1alpha1.Extension) {
			e.Spec.Sandbox = &v1alpha1.Environment{Keys: e.Spec.Keys}
		})
		w.settle(ctx, inSandbox)
		Expect(inSandbox).To(beReady())
	})

	It("is missed with its Extension", func(ctx SpecContext) {
		w.delete(ctx, w.extension())
		w.settle(ctx, p)
		Expect(p).To(beBecause(v1alpha1.Configured, v1alpha1.ReasonExtensionNotFound))
		w.createExtension(ctx)
		w.settle(ctx, p)
		Expect(p).To(beReady())
	})

	It("is tried again when the service does not know it", func(ctx SpecContext) {
		change(ctx, w, w.secret(), func(s *corev1.Secret) { s.Data["key"] = []byte(next) })
		_, err := w.reconcile(ctx, p)
		Expect(acclaim.StatusOf(err)).To(Equal(http.StatusUnauthorized))
		Expect(p).To(beBecause(v1alpha1.Configured, v1alpha1.ReasonNotAuthorized))
		Expect(w.voting.SetKeys(map[string][]string{clientID: {next}})).To(Succeed())
		w.settle(ctx, p)
		Expect(p).To(beReady())
	})

	It("may be exchanged without a Poll being in want of it", func(ctx SpecContext) {
		rotate(ctx)
		By("the Extension having a new key that the service does not know yet")
		w.settle(ctx, p)
		Expect(w.wire.TakeWrites()).To(BeEmpty())
		By("the service knowing both")
		Expect(w.voting.SetKeys(map[string][]string{clientID: {next, key}})).To(Succeed())
		w.settle(ctx, p)
		Expect(w.wire.TakeCalls()).To(Equal([]string{"GET /vote_config"}))
		By("the service having dropped the old one")
		Expect(w.voting.SetKeys(map[string][]string{clientID: {next}})).To(Succeed())
		w.settle(ctx, p)
		Expect(w.wire.TakeWrites()).To(BeEmpty())
		By("the Extension having dropped it too")
		change(ctx, w, w.extension(), func(e *v1alpha1.Extension) { e.Spec.Keys = e.Spec.Keys[1:] })
		w.settle(ctx, p)
		Expect(w.wire.TakeWrites()).To(BeEmpty())
	})

	It("may be exchanged between two requests", func(ctx SpecContext) {
		rotate(ctx)
		change(ctx, w, p, func(p *v1alpha1.Poll) { p.Spec.Prompt = "Another?" })
		w.wire.SetFilter(func(call string, r *http.Request, pass http.RoundTripper) (*http.Response, error) {
			if call == "POST /vote_config" { // the one before was signed with the old key
				Expect(w.voting.SetKeys(map[string][]string{clientID: {next}})).To(Succeed())
			}
			return pass.RoundTrip(r)
		})
		w.settle(ctx, p)
		Expect(p).To(beReady())
	})
})
