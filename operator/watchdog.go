package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/operator/internal/watchdog"
)

// maxLeaseAge is the age of the lease from which on an operator counts as away: much more than
// the handover from one to the next takes.
const maxLeaseAge = 2 * time.Minute

// newWatchdog returns the subcommand that reports objects without an operator.
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
	r, err := openRelease(target)
	if err != nil {
		return err
	}
	w := watchdog.Watchdog{
		Client: r, Namespace: r.namespace, Release: r.name, Lease: leaseName, Now: time.Now, MaxAge: maxLeaseAge,
	}
	return w.Run(ctx)
}
