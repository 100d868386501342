package e2e_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// options returns those that the voting service has of a poll.
func (w *world) options(ctx SpecContext, id string) func() ([]string, error) {
	return func() ([]string, error) {
		var config struct{ Options []string }
		err := w.backend().get(ctx, "/vote_config?id="+id, &config)
		return config.Options, err
	}
}

// polls specs edit, disturb and delete what is declared.
func polls(w *world) {
	It("follows an edited Poll, once it says what becomes of the votes", func(ctx SpecContext) {
		colour := func() *v1alpha1.Poll { return &v1alpha1.Poll{ObjectMeta: w.named("colour")} }
		edit(ctx, w, colour(), func(p *v1alpha1.Poll) { p.Spec.Options = []string{"black", "white"} })
		Eventually(ctx, func() (string, error) {
			p := colour()
			if err := w.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
				return "", err
			}
			if c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.Configured); c != nil {
				return c.Reason, nil
			}
			return "", nil
		}).Should(Equal(v1alpha1.ReasonOtherQuestion))
		edit(ctx, w, colour(), func(p *v1alpha1.Poll) { p.Spec.ChangeQuestion = v1alpha1.ChangeKeepVotes })
		Eventually(ctx, w.options(ctx, "colour")).Should(Equal([]string{"black", "white"}))
		w.pollReady(ctx, "colour")
	}, SpecTimeout(3*time.Minute))

	It("corrects what changed behind the operator's back", func(ctx SpecContext) {
		Expect(w.broadcaster().post(ctx, "/vote_config", object{"id": "colour", "config": object{"options": []string{"drifted"}}, "keepVotes": true}, nil)).To(Succeed())
		Expect(w.options(ctx, "colour")()).To(Equal([]string{"drifted"}))
		began := time.Now()
		Eventually(ctx, w.options(ctx, "colour")).Should(Equal([]string{"black", "white"}))
		w.report.took("a drifted configuration to its correction", began)
	}, SpecTimeout(4*time.Minute))

	It("fails a Helm that waits for a Poll that only a person can mend, at once", func(ctx SpecContext) {
		spec := poll(w.named("")).Spec
		spec.ID = new("colour") // of another Poll
		values := w.values()
		values["polls"] = object{"conflict": spec}
		began := time.Now()
		err := w.upgrade(ctx, values, "--wait", "--timeout", "4m")
		Expect(err).To(MatchError(And(ContainSubstring("Poll/"+w.namespace+"/conflict"), Not(ContainSubstring("deadline exceeded")))))
		w.report.took("helm upgrade --wait with a conflict to its failure", began)
		Expect(w.upgrade(ctx, w.values(), "--wait", "--timeout", "4m")).To(Succeed())
		w.pollReady(ctx, "colour")
	}, SpecTimeout(9*time.Minute))

	DescribeTable("deletes a Poll", func(ctx SpecContext, name string, policy v1alpha1.DeletionPolicy, votes int64) {
		p := poll(w.named(name))
		p.Spec.DeletionPolicy = policy
		Expect(w.Create(ctx, p)).To(Succeed())
		w.pollReady(ctx, name)
		Expect(w.viewer("U1").post(ctx, "/vote?id="+name, object{"value": 1}, nil)).To(Succeed())
		Expect(w.Delete(ctx, p)).To(Succeed())
		w.gone(ctx, p)
		var s statistics
		Expect(w.backend().get(ctx, "/vote?id="+name, &s)).To(Succeed())
		Expect(s.Count).To(Equal(votes))
		_, err := w.options(ctx, name)()
		if policy == v1alpha1.DeletionRetain {
			Expect(err).NotTo(HaveOccurred())
		} else {
			Expect(err).To(MatchError(ContainSubstring("404")))
		}
	},
		Entry("and what it declared", "deleted", v1alpha1.DeletionDelete, int64(0), SpecTimeout(3*time.Minute)),
		Entry("and retains its votes", "retained", v1alpha1.DeletionRetain, int64(1), SpecTimeout(3*time.Minute)),
	)
}
