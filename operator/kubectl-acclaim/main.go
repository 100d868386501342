// Kubectl-acclaim is a plugin of kubectl, which runs it as `kubectl acclaim`: it tells what
// of Acclaim is wrong in a cluster, collects what a report of a defect needs, and casts and
// watches votes.
//
// It acts with the rights of its user alone, and needs no operator that runs.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"

	// The ways to log in that a kubeconfig may name.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Set with -ldflags "-X main.version=1.2.3 -X main.commit=…"; "" takes what the Go
// tool has recorded.
var (
	version string
	commit  string //nolint:gochecknoglobals // the linker can set nothing else
)

func main() {
	log.SetLogger(logr.Discard()) // the library's own, which has nothing to say
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "kubectl acclaim: %v\n", err)
	}
	os.Exit(exitCode(err))
}

// errNotOK is about what a command looked at, not about the command.
var errNotOK = errors.New("something is not OK")

// exitCode returns 0, or 1 where something is wrong with what a command looked at, or 2
// where it could not do its work.
func exitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errNotOK):
		return 1
	}
	return 2
}

func newCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "acclaim",
		Short: "Look after Acclaim in a cluster",
		Long: `Acclaim shows and explains the Backends, Extensions and Polls of a cluster.

Every command exits with 0 when it is done, with 1 when something is wrong with what it
looked at, and with 2 when it could not do its work.`,
		Version:       describeVersion(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl acclaim"},
	}
	s := newSession(command.PersistentFlags())
	command.AddCommand(newStatus(s), newReport(s), newPoll(s), newVote(s), newHibernate(s), newRestore(s))
	return command
}

// describeVersion returns the version and the commit.
func describeVersion() string {
	number, revision := version, commit
	if recorded, ok := debug.ReadBuildInfo(); ok {
		number = cmp.Or(number, recorded.Main.Version)
		for _, setting := range recorded.Settings {
			if setting.Key == "vcs.revision" {
				revision = cmp.Or(revision, setting.Value)
			}
		}
	}
	return fmt.Sprintf("%s (commit %s)", cmp.Or(number, "(devel)"), cmp.Or(revision, "unknown"))
}
