// Command acclaim is the backend of streaming extensions: voting, accumulation,
// ranking, state and sandbox, all in one process or each in its own.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	// The roots of public certificate authorities, for TLS on a machine that has none of
	// its own, such as a container of the image.
	_ "golang.org/x/crypto/x509roots/fallback"

	"github.com/acclaim-dev/acclaim/services/internal/process/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := cli.Execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
