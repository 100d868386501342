package main

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/acclaim-dev/acclaim/operator/internal/uninstall"
)

// removeOperator removes the operator of a Helm release, given as NAMESPACE/RELEASE.
func removeOperator(ctx context.Context, target string) error {
	r, err := openRelease(target)
	if err != nil {
		return err
	}
	u := uninstall.Uninstaller{
		Client:    r,
		Log:       ctrl.Log.WithName("uninstall"),
		Namespace: r.namespace,
		Release:   r.name,
		Lease:     leaseName,
		Timeout:   time.Minute,
		Interval:  time.Second,
	}
	return u.Run(ctx)
}
