package app

import (
	"context"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ceiling"
)

// NewCeiling returns the row of a service that gives canned answers without storage.
// Benchmarks compare the other services with it.
func NewCeiling(ctx context.Context) (Service, error) {
	canned, err := ceiling.New(context.WithoutCancel(ctx))
	return Service{Name: "ceiling", start: func(s *serviceSet) {
		s.addAPI(func(c *httpapi.Config) {
			c.Voting = canned.Voting()
			c.Accumulation, c.Ranking, c.State = ceiling.Accumulation{}, ceiling.Ranking{}, ceiling.State{}
		})
	}}, err
}
