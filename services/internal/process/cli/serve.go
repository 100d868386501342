package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/acclaim-dev/acclaim/api/tracing"
	"github.com/acclaim-dev/acclaim/services/internal/process/app"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

func newServe() *cobra.Command {
	var flags serveFlags
	sandbox := false
	cmd := &cobra.Command{
		Use:     "serve",
		GroupID: serveGroup,
		Short:   "Run everything in one process",
		Long: `Serve runs the services for production under /v1 and for the sandbox under /sandbox/v1,
over an embedded store. Anyone can get tokens of the sandbox, so it is off if a listener
is not on loopback, unless --sandbox is set. When the program is ready, it prints its
addresses and, if the sample extension is registered, tokens and commands to try.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("sandbox") {
				sandbox = flags.app.IsLocal()
			}
			mounts := app.BothMounts()
			if !sandbox {
				mounts = []app.Mount{app.DefaultMount(tenant.Production)}
			}
			return serve(cmd, &flags, app.Services(), mounts)
		},
	}
	flags.register(cmd.Flags())
	cmd.Flags().BoolVar(&sandbox, "sandbox", false, "serve the sandbox, too, and issue its tokens to anyone (default true while every listener is on loopback)")
	return cmd
}

// newService returns the command that runs one service.
func newService(service app.Service) *cobra.Command {
	var flags serveFlags
	var where mountFlags
	cmd := &cobra.Command{
		Use:     service.Name,
		GroupID: serveGroup,
		Short:   fmt.Sprintf("Run the %s service alone", service.Name),
		Long:    describeService(service),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.app.GameListen != "" && service.Name != app.GameLinkService {
				return errors.New("--gamelink-listen is for serve and gamelink")
			}
			mount, err := where.mount()
			if err != nil {
				return err
			}
			return serve(cmd, &flags, []app.Service{service}, []app.Mount{mount})
		},
	}
	flags.register(cmd.Flags())
	where.register(cmd.Flags(), service.Environment)
	return cmd
}

// describeService returns the help of the command that runs one service.
func describeService(service app.Service) string {
	answers := "answers these routes and no others:\n\n  " + strings.Join(service.Paths(), "\n  ")
	if service.Name == app.GameLinkService {
		answers = "answers WebSockets of games, at /<version>/<client id>, and nothing else."
	}
	return fmt.Sprintf(`The %s service %s

An ingress or another proxy brings the services together by path. Processes that
share a database may be of any kind and number; an embedded store is for one.`, service.Name, answers)
}

// describeProgram returns what the spans of a process have in common.
func describeProgram(config app.Config) tracing.Program {
	name := "acclaim"
	if len(config.Services) == 1 {
		name += "-" + config.Services[0].Name
	}
	return tracing.Program{Service: name, Version: config.Build.Version, Logger: config.Logger}
}

// podVariable is an environment variable that each pod of Kubernetes has.
const podVariable = "KUBERNETES_SERVICE_HOST"

// warnOfPlainText warns where tokens may cross a network that others read. In a pod and where
// the proxies are named, TLS ends at a proxy.
func warnOfPlainText(config app.Config, proxiesNamed bool) {
	flag, address := config.PlainListener()
	if flag == "" || proxiesNamed || os.Getenv(podVariable) != "" {
		return
	}
	config.Logger.Warn("tokens travel without TLS: anyone on the way can read and use them; set --tls-cert and --tls-key, or name a proxy that has TLS by --trusted-proxies", "flag", flag, "address", address)
}

// companion runs beside a process until the context is done.
type companion func(context.Context, *app.Process) error

// serve runs a process, and companions beside it, until the command's context is done.
func serve(cmd *cobra.Command, flags *serveFlags, services []app.Service, mounts []app.Mount, companions ...companion) error {
	ctx := cmd.Context()
	config, err := flags.config(cmd.ErrOrStderr(), services, mounts)
	if err != nil {
		return err
	}
	warnOfPlainText(config, cmd.Flags().Changed("trusted-proxies"))
	config.MemoryBudget = paceCollector(config.Logger, config.MemoryBudget)
	config.Tracing = tracing.Open(ctx, describeProgram(config), os.Getenv)
	process, err := app.Open(ctx, config)
	if err != nil {
		if ctx.Err() != nil { // stopped while it waited for its database
			return nil //nolint:nilerr // it was asked to stop
		}
		return err
	}
	// The check of an embedded store and the replay of its log leave up to 100 MB of garbage,
	// which a collector at collectorPercent may keep until the process has work.
	debug.FreeOSMemory()
	if err = announce(cmd.OutOrStdout(), config.Mounts, process); err == nil {
		err = runBeside(ctx, process, companions)
	}
	if err = errors.Join(err, process.Close(ctx)); err != nil {
		return problem{err}
	}
	return nil
}

// runBeside runs a process and its companions until the context is done or one of them fails.
func runBeside(ctx context.Context, process *app.Process, companions []companion) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return process.Run(ctx) })
	for _, c := range companions {
		group.Go(func() error { return c(ctx, process) })
	}
	return group.Wait()
}
