// Command envtest prints the folder that holds the etcd and the kube-apiserver for tests
// of the operator, and gets them first where they are missing:
//
//	export KUBEBUILDER_ASSETS=$(go run ./hack/envtest)
//
// It uses the folder that KUBEBUILDER_ASSETS names, else a release that
// setup-envtest downloads, else it builds them from the Go modules in the folders
// below. It needs no root, and reports on standard error which way it takes.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/acclaim-dev/acclaim/hack/envtest/assets"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	folder, err := assets.Find(ctx, os.Stderr)
	if err == nil {
		_, err = fmt.Fprintln(os.Stdout, folder)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "envtest: %v\n", err)
		os.Exit(1)
	}
}
