package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/services/internal/ceiling"
	"github.com/acclaim-dev/acclaim/services/internal/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/internal/telemetry"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// newCeiling is what benchmarks measure the program against: the same request
// path with nothing behind it.
func newCeiling() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:    "ceiling",
		Short:  "Serve canned answers without storage, to measure against",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			mounts := []mount{{tenant.Production, productionPath}, {tenant.Sandbox, sandboxPath}}
			return run(cmd.Context(), cmd.OutOrStdout(), o, mounts, openCeiling)
		},
	}
	o.register(cmd.Flags())
	return cmd
}

func openCeiling(ctx context.Context, _ *telemetry.Metrics, _ stream.Options) (backends, error) {
	canned, err := ceiling.New(context.WithoutCancel(ctx))
	b := noBackends()
	b.serve = func(c *httpapi.Config) {
		c.Voting = canned.Voting()
		c.Accumulation, c.Ranking, c.State = ceiling.Accumulation{}, ceiling.Ranking{}, ceiling.State{}
	}
	return b, err
}
