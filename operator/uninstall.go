package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/operator/internal/uninstall"
)

// removeOperator removes the operator of a Helm release, given as NAMESPACE/RELEASE.
func removeOperator(ctx context.Context, target string) error {
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
	u := uninstall.Uninstaller{
		Client:    c,
		Log:       ctrl.Log.WithName("uninstall"),
		Namespace: namespace,
		Release:   release,
		Lease:     leaseName,
		Timeout:   time.Minute,
		Interval:  time.Second,
	}
	return u.Run(ctx)
}
