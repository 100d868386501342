package poll_test

import (
	"context"
	"errors"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	acclaim "github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/testcluster"
)

// chapter is the state after one part of a Poll's life, without the parts that
// differ between lives.
type chapter struct {
	Spec       v1alpha1.PollSpec
	Status     v1alpha1.PollStatus
	Finalizers []string
	Config     *acclaim.SavedConfig
}

// live takes a Poll through its whole life and returns its chapters. cut, if any,
// decides upon calls until one of them fails.
func live(ctx context.Context, cut testcluster.CallFilter) (chapters []chapter) {
	GinkgoHelper()
	w := newWorld(ctx)
	p := w.poll("life", func(s *v1alpha1.PollSpec) { s.EndsAt = &metav1.Time{Time: w.clock.standing().Add(30 * time.Second)} })
	w.wire.SetFilter(cut)
	turn := func() {
		GinkgoHelper()
		w.drive(ctx, p)
		c := chapter{Config: w.config(ctx, p)}
		if !w.gone(ctx, p) {
			c.Spec, c.Status, c.Finalizers = p.Spec, p.Status, p.Finalizers
			c.Spec.EndsAt, c.Status.AppliedHash = nil, ""
			c.Status.NextTransitionTime = nil
			if c.Status.Statistics != nil {
				c.Status.Statistics.EndsAt = metav1.Time{}
			}
			for i := range c.Status.Conditions {
				c.Status.Conditions[i].LastTransitionTime = metav1.Time{}
			}
		}
		if c.Config != nil {
			c.Config.EndsAt = 0
		}
		chapters = append(chapters, c)
	}
	w.create(ctx, p)
	turn()
	w.vote(ctx, p, "U1", 1)
	change(ctx, w, p, func(p *v1alpha1.Poll) { p.Spec.Options = append(p.Spec.Options, "neither") })
	turn()
	w.clock.advance(32 * time.Second)
	turn()
	w.delete(ctx, p)
	turn()
	return chapters
}

// drive reconciles until that succeeds, as the queue does. After a failure the
// operator was started again and nothing is cut off any more.
func (w *world) drive(ctx context.Context, p *v1alpha1.Poll) {
	GinkgoHelper()
	Eventually(func() error {
		_, err := w.reconcile(ctx, p)
		if err != nil {
			w.wire.SetFilter(nil)
		}
		return err
	}).WithContext(ctx).Should(Succeed())
}

// counter numbers calls.
type counter struct{ calls, at int }

func (c *counter) reached() bool { return c.calls >= c.at }

// Each of these fails the call at which the counter stands, in its own way.

func (c *counter) lost(_ string, r *http.Request, pass http.RoundTripper) (*http.Response, error) {
	if c.calls++; c.calls == c.at {
		return nil, errors.New("the request was lost")
	}
	return pass.RoundTrip(r)
}

func (c *counter) unheard(_ string, r *http.Request, pass http.RoundTripper) (*http.Response, error) {
	response, err := pass.RoundTrip(r)
	if c.calls++; c.calls != c.at || err != nil {
		return response, err
	}
	return nil, errors.Join(errors.New("the answer was lost"), response.Body.Close())
}

func (c *counter) killed(_ string, r *http.Request, pass http.RoundTripper) (*http.Response, error) {
	if c.calls++; c.calls >= c.at {
		return nil, errors.New("the operator is dead")
	}
	return pass.RoundTrip(r)
}

func (c *counter) refused(_ string, r *http.Request, pass http.RoundTripper) (*http.Response, error) {
	if c.calls++; c.calls == c.at {
		return answer(http.StatusInternalServerError)("", r, pass)
	}
	return pass.RoundTrip(r)
}

var _ = Describe("An operator that is disturbed at any step of a Poll's life", func() {
	DescribeTable("comes to where an undisturbed one does",
		func(ctx SpecContext, cut func(*counter) testcluster.CallFilter) {
			undisturbed := live(ctx, nil)
			Expect(undisturbed[0].Config.Options).To(HaveLen(2))
			Expect(undisturbed[1].Config.Options).To(HaveLen(3))
			Expect(undisturbed[2].Status.Statistics.Count).To(BeEquivalentTo(1))
			Expect(undisturbed[3]).To(Equal(chapter{}), "nothing is left")
			for n := 1; ; n++ {
				c := &counter{at: n}
				Expect(live(ctx, cut(c))).To(Equal(undisturbed), "disturbed at call %d", n)
				if !c.reached() {
					Expect(n).To(BeNumerically(">", 14), "the calls that there are to disturb")
					return
				}
			}
		},
		Entry("when a request is lost", func(c *counter) testcluster.CallFilter { return c.lost }),
		Entry("when an answer is lost", func(c *counter) testcluster.CallFilter { return c.unheard }),
		Entry("when a server fails", func(c *counter) testcluster.CallFilter { return c.refused }),
		Entry("when the operator is killed", func(c *counter) testcluster.CallFilter { return c.killed }),
	)
})
