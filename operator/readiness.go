package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// checkTimeout is how long each thing may take that /readyz asks for.
const checkTimeout = time.Second

// addChecks makes /healthz say that the process lives, and /readyz that it can
// work: what the API server knows has been read, and the API server answers. An
// operator that waits to lead is as ready as the one that does.
func addChecks(manager ctrl.Manager) error {
	api, err := discovery.NewDiscoveryClientForConfigAndClient(manager.GetConfig(), manager.GetHTTPClient())
	if err != nil {
		return err
	}
	return errors.Join(
		manager.AddHealthzCheck("ping", healthz.Ping),
		manager.AddReadyzCheck("cache", synced(manager.GetCache())),
		manager.AddReadyzCheck("api-server", answers(api)),
	)
}

func synced(c cache.Cache) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New("the cache is not filled")
		}
		return nil
	}
}

func answers(api discovery.DiscoveryInterface) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
		defer cancel()
		if err := api.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
			return fmt.Errorf("the API server is not ready: %w", err)
		}
		return nil
	}
}
