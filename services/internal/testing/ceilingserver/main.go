// Command ceilingserver is the program with canned answers in place of its domains and its
// store. Benchmarks compare the program with it. No release has it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/acclaim-dev/acclaim/services/internal/process/app"
	"github.com/acclaim-dev/acclaim/services/internal/process/cli"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ceiling"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	canned, err := ceiling.New(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "ceilingserver: %v\n", err)
		os.Exit(1)
	}
	code := cli.ExecuteService(ctx, app.NewService("ceiling", canned.Provide), os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
