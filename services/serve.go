package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// Base paths of the two environments.
const (
	productionPath = "/v1"
	sandboxPath    = "/sandbox/v1"
)

// mount is an environment served at a base path.
type mount struct {
	environment tenant.Environment
	path        string
}

func newServe() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:     "serve",
		GroupID: serveGroup,
		Short:   "Run everything in one process",
		Long: `Serve runs all five services for production under /v1 and for the sandbox under
/sandbox/v1, over an embedded store. When it is ready it prints its addresses
and, if the sample extension is registered, tokens and commands to try.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			mounts := []mount{{tenant.Production, productionPath}, {tenant.Sandbox, sandboxPath}}
			return run(cmd.Context(), cmd.OutOrStdout(), o, mounts, openBackends(o, mounts, services()...))
		},
	}
	o.register(cmd.Flags())
	return cmd
}

func newService(name string) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:     name,
		GroupID: serveGroup,
		Short:   fmt.Sprintf("Run the %s service alone", name),
		Long: "Answers " + routesOf(name) + `, and nothing else.

An ingress or another proxy brings the services together by path. Processes that
share a database may be of any kind and number; an embedded store is for one.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			environment, err := tenant.ParseEnvironment(o.environment)
			if err != nil {
				return err
			}
			path := o.basePath
			if path == "" {
				path = map[tenant.Environment]string{
					tenant.Production: productionPath,
					tenant.Sandbox:    sandboxPath,
				}[environment]
			}
			mounts := []mount{{environment, path}}
			return run(cmd.Context(), cmd.OutOrStdout(), o, mounts, openBackends(o, mounts, name))
		},
	}
	o.register(cmd.Flags())
	o.registerSingle(cmd.Flags(), name)
	return cmd
}

// The five services.
const (
	votingService       = "voting"
	accumulationService = "accumulation"
	rankingService      = "ranking"
	stateService        = "state"
	sandboxService      = "sandbox"
)

// routesOf names the routes of a service for its help.
func routesOf(service string) string {
	return map[string]string{
		votingService:       "vote, vote_logs, vote_modifier and vote_config",
		accumulationService: "accumulate",
		rankingService:      "rank",
		stateService:        "states, config, user_info, events and messages",
		sandboxService:      "authtoken, which only the sandbox has",
	}[service]
}

func services() []string {
	return []string{votingService, accumulationService, rankingService, stateService, sandboxService}
}
