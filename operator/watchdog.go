package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/operator/internal/watchdog"
)

// maxLeaseAge is the age of the lease from which on an operator counts as away: much more than
// the handover from one to the next takes.
const maxLeaseAge = 2 * time.Minute

// newWatchdog returns the subcommand that says of objects that no operator looks after them.
func newWatchdog() *cobra.Command {
	return &cobra.Command{
		Use:   "watchdog NAMESPACE/RELEASE",
		Short: "Make Ready unknown where the operator of a Helm release is away",
		Args:  cobra.ExactArgs(1),
		RunE:  func(c *cobra.Command, args []string) error { return watch(c.Context(), args[0]) },
	}
}

// watch looks after the operator once.
func watch(ctx context.Context, target string) error {
	namespace, release, ok := strings.Cut(target, "/")
	if !ok {
		return fmt.Errorf("%q is not NAMESPACE/RELEASE, as in acclaim-system/acclaim", target)
	}
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	w := watchdog.Watchdog{
		Client: c, Namespace: namespace, Release: release, Lease: leaseName, Now: time.Now, MaxAge: maxLeaseAge,
	}
	return w.Run(ctx)
}
