package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/uninstall"
)

// takeOut takes the operator of a Helm release out of the cluster.
func takeOut(ctx context.Context, s settings) error {
	namespace, release, ok := strings.Cut(s.uninstall, "/")
	if !ok {
		return errors.New("--uninstall is not a namespace and a release, as in acclaim-system/acclaim")
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
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
		Watched:   s.namespaces,
		Patience:  time.Minute,
		Interval:  time.Second,
	}
	return u.Run(ctx)
}
