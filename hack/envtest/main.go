// Envtest prints the folder that has the etcd and the kube-apiserver for tests
// of the operator, and builds them first when they are not there:
//
//	export KUBEBUILDER_ASSETS=$(go run ./hack/envtest)
//
// They come from the Go modules in the folders below, without root and without
// a download of binaries. KUBEBUILDER_ASSETS, when it is set, wins.
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
