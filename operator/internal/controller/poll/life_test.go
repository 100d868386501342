package poll_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	acclaim "github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

var _ = Describe("The life of a Poll", func() {
	var (
		w *world
		p *v1alpha1.Poll
	)
	BeforeEach(func(ctx SpecContext) {
		w = newWorld(ctx)
		p = w.poll("colour")
	})

	When("it is created", func() {
		BeforeEach(func(ctx SpecContext) {
			w.create(ctx, w.backend("default"), p)
			w.settle(ctx, p)
		})

		It("configures the service, for two writes to the API server", func(ctx SpecContext) {
			Expect(w.wire.TakeCalls()).To(Equal([]string{"PATCH polls", "GET /vote_config", "POST /vote_config", "PATCH polls/status"}))
			Expect(p).To(beReady())
			Expect(p.Finalizers).To(ConsistOf("acclaim.dev/poll"))
			Expect(w.config(ctx, p)).To(Equal(&acclaim.SavedConfig{
				PollConfig: contract.PollConfig{
					DistinctOptionsPerUser: 1, TotalVotesPerUser: 3, VotesPerOption: 1,
					Options: []string{"this", "that"}, UserData: []byte("null"), Strict: true,
				},
				Status: contract.Active,
			}))
			Expect(p.Status.AppliedHash).To(Equal("662c4d05b3d40b8d"), "another hash than that of earlier releases writes each Poll once more")
			Expect(w.noted()).To(BeEmpty(), "that it went well is no news")
		})

		It("writes nothing when it is looked at again", func(ctx SpecContext) {
			w.settle(ctx, p)
			Expect(w.wire.TakeCalls()).To(Equal([]string{"GET /vote_config"}))
		})

		It("is looked at again after everything more urgent", func(ctx SpecContext) {
			result := w.settle(ctx, p)
			Expect(result.RequeueAfter).To(Equal(w.reconciler.DriftInterval))
			Expect(result.Priority).To(HaveValue(BeNumerically("<", 0)))
		})
	})

	DescribeTable("its fields are those of the contract",
		func(ctx SpecContext, change func(*v1alpha1.PollSpec), want func(*acclaim.SavedConfig)) {
			w.create(ctx, w.backend("default"))
			change(&p.Spec)
			w.create(ctx, p)
			w.settle(ctx, p)
			Expect(p).To(beReady())
			config := &acclaim.SavedConfig{
				PollConfig: contract.PollConfig{
					DistinctOptionsPerUser: 1, TotalVotesPerUser: 3, VotesPerOption: 1,
					Options: []string{"this", "that"}, UserData: []byte("null"), Strict: true,
				},
				Status: contract.Active,
			}
			want(config)
			Expect(w.config(ctx, p)).To(Equal(config))
			w.settle(ctx, p)
			Expect(w.wire.TakeWrites()).To(BeEmpty(), "the service returns what was declared")
		},
		Entry("voterIdentity", func(s *v1alpha1.PollSpec) { s.VoterIdentity = v1alpha1.SharedUserID },
			func(c *acclaim.SavedConfig) { c.UserIDVoting = true }),
		Entry("the vote limits", func(s *v1alpha1.PollSpec) { s.DistinctOptionsPerUser, s.TotalVotesPerUser, s.VotesPerOption = 2, 4, 3 },
			func(c *acclaim.SavedConfig) {
				c.DistinctOptionsPerUser, c.TotalVotesPerUser, c.VotesPerOption = 2, 4, 3
			}),
		Entry("disabled", func(s *v1alpha1.PollSpec) { s.Disabled = true },
			func(c *acclaim.SavedConfig) { c.Disabled = true }),
		Entry("options left out", func(s *v1alpha1.PollSpec) { s.Options = nil },
			func(c *acclaim.SavedConfig) { c.Options = []string{} }),
		Entry("global", func(s *v1alpha1.PollSpec) {
			id := "global-colour"
			s.ID, s.Global, s.Channel = &id, true, ""
		}, func(c *acclaim.SavedConfig) { c.Global = true }),
		Entry("strict", func(s *v1alpha1.PollSpec) { s.Strict = new(bool) },
			func(c *acclaim.SavedConfig) { c.Strict = false }),
		Entry("userData, which is not read back", func(s *v1alpha1.PollSpec) {
			s.UserData = &apiextensionsv1.JSON{Raw: []byte(`{"any": ["json", 1.50]}`)}
		}, func(*acclaim.SavedConfig) {}),
	)

	It("does not act for good upon what a late cache shows", func(ctx SpecContext) {
		w.create(ctx, w.backend("default"), p)
		w.settle(ctx, p)
		late := p.DeepCopy()
		late.Status = v1alpha1.PollStatus{}
		change(ctx, w, p, func(p *v1alpha1.Poll) { p.Labels = map[string]string{"some": "edit"} })
		w.reconciler.Client = lateCache{w.reconciler.Client, late}
		_, err := w.reconcile(ctx, p)
		Expect(apierrors.IsConflict(err)).To(BeTrue(), "which makes the controller try again")
		Expect(w.wire.TakeWrites()).To(BeEmpty(), "not even one that the API server would refuse")
		Expect(w.noted()).To(BeEmpty())
		Expect(p).To(beReady())
	})

	It("does not take what a late cache shows for reported", func(ctx SpecContext) {
		w.delete(ctx, w.secret())
		w.create(ctx, w.backend("default"), p)
		w.settle(ctx, p)
		late := p.DeepCopy()
		w.create(ctx, w.secret())
		w.settle(ctx, p)
		Expect(p).To(beReady())
		w.delete(ctx, w.secret())
		current := w.reconciler.Client
		w.reconciler.Client = lateCache{current, late} // which says already that there is no key
		_, err := w.reconcile(ctx, p)
		Expect(apierrors.IsConflict(err)).To(BeTrue(), "which makes the controller try again")
		w.reconciler.Client = current
		w.settle(ctx, p)
		Expect(p).To(haveReason(v1alpha1.Ready, v1alpha1.ReasonNoKey))
	})

	It("follows an edit, of what the service does not return too", func(ctx SpecContext) {
		w.create(ctx, w.backend("default"), p)
		w.settle(ctx, p)
		change(ctx, w, p, func(p *v1alpha1.Poll) { p.Spec.Prompt = "Which one?" })
		w.settle(ctx, p)
		Expect(w.wire.TakeWrites()).To(Equal([]string{"POST /vote_config", "PATCH polls/status"}))
		Expect(p).To(beReady())
	})

	It("takes its configuration with it when it is deleted", func(ctx SpecContext) {
		w.create(ctx, w.backend("default"), p)
		w.settle(ctx, p)
		w.delete(ctx, p)
		w.settle(ctx, p)
		Expect(w.wire.TakeWrites()).To(Equal([]string{"DELETE /vote", "PATCH polls"}))
		Expect(w.gone(ctx, p)).To(BeTrue())
		Expect(w.config(ctx, p)).To(BeNil())
	})

	It("leaves its configuration when that is to be retained", func(ctx SpecContext) {
		p.Spec.DeletionPolicy = v1alpha1.DeletionRetain
		w.create(ctx, w.backend("default"), p)
		w.settle(ctx, p)
		w.delete(ctx, p)
		w.settle(ctx, p)
		Expect(w.wire.TakeCalls()).To(Equal([]string{"PATCH polls"}))
		Expect(w.gone(ctx, p)).To(BeTrue())
		Expect(w.config(ctx, p)).NotTo(BeNil())
	})

	It("may go although its configuration is gone already", func(ctx SpecContext) {
		w.create(ctx, w.backend("default"), p)
		w.settle(ctx, p)
		Expect(w.serviceOf(p).DeletePoll(ctx, p.PollID())).To(Succeed())
		w.delete(ctx, p)
		w.settle(ctx, p)
		Expect(w.gone(ctx, p)).To(BeTrue())
	})

	It("reports what the service does not accept until that is fixed", func(ctx SpecContext) {
		p.Spec.UserData = &apiextensionsv1.JSON{Raw: []byte(`"` + strings.Repeat("a", 1023) + `"`)}
		w.create(ctx, w.backend("default"), p)
		w.settle(ctx, p)
		Expect(p).To(beBecause(v1alpha1.Configured, v1alpha1.ReasonInvalidConfiguration))
		Expect(w.noted()).To(ConsistOf(HavePrefix("Warning InvalidConfiguration")))
		change(ctx, w, p, func(p *v1alpha1.Poll) { p.Spec.UserData.Raw = []byte("1") })
		w.settle(ctx, p)
		Expect(p).To(beReady())
		Expect(w.noted()).To(ConsistOf(HavePrefix("Normal InSync")))
	})
})

// lateCache shows a Poll as it was.
type lateCache struct {
	client.Client
	poll *v1alpha1.Poll
}

func (c lateCache) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if p, ok := o.(*v1alpha1.Poll); ok {
		c.poll.DeepCopyInto(p)
		return nil
	}
	return c.Client.Get(ctx, key, o, options...)
}
