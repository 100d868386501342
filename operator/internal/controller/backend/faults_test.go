package backend_test

import (
	"context"
	"errors"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

var errLost = errors.New("the connection broke")

var _ = Describe("Every request", func() {
	// Two specs between which every kind of write has to be made: objects come, go
	// and change, and a number of pods is handed over.
	off := &v1alpha1.Service{Disabled: true}
	fixed := func(s *v1alpha1.BackendSpec) {
		s.Services = v1alpha1.Services{Accumulation: off, Ranking: off, State: off, Voting: &v1alpha1.Service{Replicas: new(int32(4))}}
		s.Image, s.Ingress = "acclaim:1", nil
	}
	scaled := func(s *v1alpha1.BackendSpec) {
		s.Services.Voting = &v1alpha1.Service{Autoscaling: &v1alpha1.Autoscaling{MaxReplicas: 9}}
		s.Image, s.Ingress = "acclaim:2", &v1alpha1.Ingress{Host: "quiz.example"}
	}

	for what, lost := range map[string]bool{"may fail": false, "may have been carried out though its answer is lost": true} {
		It(what, func(ctx context.Context) {
			w := newWorld(ctx, fixed)
			w.rollOut(ctx)
			specs := []func(*v1alpha1.BackendSpec){fixed, scaled}
			n, least := 1, 12 // reads alone are more
			for ; ; n++ {
				w.change(ctx, specs[n%2])
				seen := 0
				w.requests.fail = func() (error, bool) {
					if seen++; seen == n {
						return errLost, lost
					}
					return nil, false
				}
				err := w.reconcile(ctx)
				w.requests.fail = nil
				if seen >= n {
					Expect(err).To(MatchError(errLost), "request %d", n)
				}
				w.rollOut(ctx)
				w.settle(ctx)
				Expect(w.images(ctx)).To(HaveKeyWithValue("voting", fmt.Sprintf("acclaim:%d", n%2+1)))
				Expect(*w.deployment(ctx, "voting").Spec.Replicas).To(BeEquivalentTo(4))
				if seen < n-1 {
					break // neither of the two specs takes as many requests
				}
			}
			Expect(n).To(BeNumerically(">", least))
		})
	}
})
