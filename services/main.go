// Command acclaim is the backend of streaming extensions: voting, accumulation,
// ranking, state and sandbox, all in one process or each in its own.
//
// This package wires the parts together and holds no rule of its own.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	// The roots of public certificate authorities, for a database or a service behind
	// TLS where the machine has none of its own, as in the image.
	_ "golang.org/x/crypto/x509roots/fallback"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		os.Exit(statusOf(err)) // cobra has printed it
	}
}

// exit is an error that decides the program's exit status, where that tells more
// than that something failed.
type exit struct {
	status int
	err    error
}

func (e exit) Error() string { return e.err.Error() }
func (e exit) Unwrap() error { return e.err }

func statusOf(err error) int {
	if e, ok := errors.AsType[exit](err); ok {
		return e.status
	}
	return 1
}

// Groups of commands in the help.
const (
	serveGroup = "serve"
	storeGroup = "store"
)

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "acclaim",
		Short: "A self-hosted backend for streaming-platform extensions",
		Long: `Acclaim lets the extensions of live streams run polls, gather submissions, rank
free-text answers and keep state and configuration. Every acknowledged write is
on disk, every count is exact.

To try it:            acclaim serve
To get another token: acclaim token --extension sample-extension --role viewer --channel 1`,
		SilenceUsage: true,
	}
	root.AddGroup(&cobra.Group{ID: serveGroup, Title: "To serve:"}, &cobra.Group{ID: storeGroup, Title: "To look after what is stored:"})
	root.AddCommand(newServe(), newVerify(), newExport(), newImport(), newErase(), newToken(), newProbe(), newCeiling())
	for _, s := range services() {
		root.AddCommand(newService(s))
	}
	return root
}
