package poll_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/golang-jwt/jwt/v5"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

var _ = Describe("The schedule of a Poll", func() {
	var (
		w     *world
		p     *v1alpha1.Poll
		start time.Time
	)
	BeforeEach(func(ctx SpecContext) {
		w = newWorld(ctx)
		start = w.clock.standing()
		p = w.poll("schedule", func(s *v1alpha1.PollSpec) {
			s.StartsAt = &metav1.Time{Time: start.Add(10 * time.Second)}
			s.EndsAt = &metav1.Time{Time: start.Add(30 * time.Second)}
		})
		w.create(ctx, w.backend("default"), p)
	})

	at := func(ctx SpecContext, after time.Duration, status string, next time.Duration) {
		GinkgoHelper()
		w.clock.advance(start.Add(after).Sub(w.clock.standing()))
		Expect(w.settle(ctx, p).RequeueAfter).To(Equal(next))
		Expect(p.Status.PollStatus).To(Equal(status))
	}

	It("turns its status when it is due, for one write each", func(ctx SpecContext) {
		at(ctx, 0, "pending", 10*time.Second)
		Expect(p.Status.NextTransitionTime.Time).To(BeTemporally("==", start.Add(10*time.Second)))
		for _, step := range []struct {
			after  time.Duration
			status string
			next   time.Duration
		}{
			{10 * time.Second, "active", 20 * time.Second},
			{30 * time.Second, "expired", 2 * time.Second},
			{32 * time.Second, "expired", time.Minute},
		} {
			at(ctx, step.after, step.status, step.next)
			Expect(w.wire.TakeWrites()).To(Equal([]string{"PATCH polls/status"}))
			w.settle(ctx, p)
			Expect(w.wire.TakeWrites()).To(BeEmpty())
		}
		Expect(p.Status.NextTransitionTime).To(BeNil())
	})

	It("is turned before anything that is less urgent", func(ctx SpecContext) {
		Expect(w.settle(ctx, p).Priority).To(HaveValue(BeZero()))
	})

	It("ends with the final numbers, read once", func(ctx SpecContext) {
		at(ctx, 15*time.Second, "active", 15*time.Second)
		w.vote(ctx, p, "U1", 1)
		w.vote(ctx, p, "U2", 1)
		w.vote(ctx, p, "U3", 0)
		at(ctx, 30*time.Second, "expired", 2*time.Second)
		Expect(p.Status.Statistics).To(BeNil(), "what was accepted last is still to be counted")
		at(ctx, 32*time.Second, "expired", time.Minute)
		specific := make([]int64, 32)
		specific[0], specific[1] = 1, 2
		Expect(p.Status.Statistics.Specific).To(Equal(specific))
		Expect(p.Status.Statistics.Count).To(BeEquivalentTo(3))
		Expect(p.Status.Statistics.Sum).To(Equal("2"))
		Expect(p.Status.Statistics.Mean).To(HavePrefix("0.66"))
		Expect(p.Status.Statistics.EndsAt.Time).To(BeTemporally("==", p.Spec.EndsAt.Time))
		w.settle(ctx, p)
		Expect(w.wire.TakeCalls()).To(Equal([]string{"GET /vote_config"}))
	})

	It("opens again when the end is moved, and ends again", func(ctx SpecContext) {
		at(ctx, 32*time.Second, "expired", time.Minute)
		Expect(p.Status.Statistics).NotTo(BeNil())
		change(ctx, w, p, func(p *v1alpha1.Poll) { p.Spec.EndsAt = &metav1.Time{Time: start.Add(time.Minute)} })
		at(ctx, 40*time.Second, "active", 20*time.Second)
		Expect(p.Status.Statistics).To(BeNil())
		w.vote(ctx, p, "U1", 1)
		at(ctx, 62*time.Second, "expired", time.Minute)
		Expect(p.Status.Statistics.Count).To(BeEquivalentTo(1))
	})

	It("does not take numbers for final that the service does not", func(ctx SpecContext) {
		w.settle(ctx, p)
		ahead := w.clock.standing().Add(40 * time.Second)
		w.reconciler.Now = func() time.Time { return ahead }
		w.settle(ctx, p)
		Expect(p.Status.PollStatus).To(Equal("expired"))
		Expect(p.Status.Statistics).To(BeNil())
	})

	It("has final statistics although the configuration was changed", func(ctx SpecContext) {
		change(ctx, w, p, func(p *v1alpha1.Poll) { p.Spec.DriftPolicy = v1alpha1.DriftObserve })
		w.settle(ctx, p)
		config := w.config(ctx, p)
		config.Options = []string{"another"}
		Expect(w.serviceOf(p).ConfigurePoll(ctx, p.PollID(), config.PollConfig)).To(Succeed())
		at(ctx, 32*time.Second, "expired", time.Minute)
		Expect(p).To(beBecause(v1alpha1.Configured, v1alpha1.ReasonDrifted))
		Expect(p.Status.Statistics).NotTo(BeNil())
	})

	It("drops fractions of a second, as the service does", func(ctx SpecContext) {
		w.createRaw(ctx, "fraction", map[string]any{
			"extensionRef": map[string]any{"name": "quiz"}, "channel": "1",
			"endsAt": start.Add(5*time.Second + 700*time.Millisecond).UTC().Format(time.RFC3339Nano),
		})
		p = w.poll("fraction")
		at(ctx, 5*time.Second, "expired", 2*time.Second)
		at(ctx, 7*time.Second, "expired", time.Minute)
		Expect(p.Status.Statistics).NotTo(BeNil())
		w.settle(ctx, p)
		Expect(w.wire.TakeCalls()).To(Equal([]string{"GET /vote_config"}))
	})
})

// vote votes as a viewer does.
func (w *world) vote(ctx context.Context, p *v1alpha1.Poll, viewer string, value int) {
	GinkgoHelper()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"exp": w.clock.moving().Add(time.Minute).Unix(), "role": "viewer", "channel_id": p.Spec.Channel, "opaque_user_id": viewer,
	}).SignedString([]byte(decodedKey))
	Expect(err).NotTo(HaveOccurred())
	body, err := json.Marshal(map[string]int{"value": value})
	Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.voting.Base()+"/vote?id="+p.PollID(), bytes.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Authorization", clientID+" "+token)
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	Expect(response).To(HaveHTTPStatus(http.StatusOK))
}
