// Package cli is the command line of the program: commands, flags, exit codes and
// printing. It holds no rule of its own: commands call package app to serve, and
// packages admin and transfer to work on a store.
package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/services/internal/process/app"
)

// Execute runs the command that args name and returns its exit code. It prints errors
// to stderr.
func Execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return exitCode(root.ExecuteContext(ctx))
}

// ExecuteService runs one service under the paths of both environments, with the flags of
// serve, and returns the exit code. It prints errors to stderr.
func ExecuteService(ctx context.Context, service app.Service, args []string, stdout, stderr io.Writer) (code int) {
	var flags serveFlags
	root := &cobra.Command{
		Use:          service.Name,
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd, &flags, []app.Service{service}, app.BothMounts())
		},
	}
	flags.register(root.Flags())
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return exitCode(root.ExecuteContext(ctx))
}

// Groups of commands in the help.
const (
	serveGroup = "serve"
	storeGroup = "store"
	// remoteGroup has the commands that call a running service.
	remoteGroup = "remote"
	// voteGroup has the commands that check votes by public files.
	voteGroup = "vote"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "acclaim",
		Short: "A self-hosted backend for streaming-platform extensions",
		Long: `Acclaim lets the extensions of live streams run polls, gather submissions, rank
free-text answers and keep state and configuration. Every acknowledged write is
on disk, every count is exact.

To try it:            acclaim serve
To use your own key:  acclaim init
To get another token: acclaim token --extension sample-extension --role viewer --channel 1

` + exitCodesHelp,
		Version:      readBuild().String(),
		SilenceUsage: true,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddGroup(&cobra.Group{ID: serveGroup, Title: "To serve:"}, &cobra.Group{ID: storeGroup, Title: "To maintain a store:"},
		&cobra.Group{ID: remoteGroup, Title: "To use a running service:"},
		&cobra.Group{ID: voteGroup, Title: "To check votes by public files:"})
	root.AddCommand(newServe(), newRig(), newInit(), newVerify(), newExport(), newImport(), newBackup(), newRestore(), newErase(), newPurge(), newToken(), newProbe(), newVersion(), newLogin(), newLogout(), newPoll(), newOverlayKey(), newGame(), newVerifyReceipt(), newAudit(), newMonitor())
	for _, service := range app.Services() {
		cmd := newService(service)
		if service.Name == "state" {
			cmd.Short += "; get and set documents of a running one"
			cmd.AddCommand(newDocumentGet(), newDocumentSet())
		}
		root.AddCommand(cmd)
	}
	return root
}
