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

// checkTimeout limits each check of /readyz.
const checkTimeout = time.Second

// addChecks adds /healthz, which answers while the process lives, and /readyz, which
// requires a filled cache and an API server that answers. An operator that is not
// the leader is as ready as the leader.
func addChecks(manager ctrl.Manager) error {
	api, err := discovery.NewDiscoveryClientForConfigAndClient(manager.GetConfig(), manager.GetHTTPClient())
	if err != nil {
		return err
	}
	return errors.Join(
		manager.AddHealthzCheck("ping", healthz.Ping),
		manager.AddReadyzCheck("cache", checkCache(manager.GetCache())),
		manager.AddReadyzCheck("api-server", checkAPIServer(api)),
	)
}

func checkCache(c cache.Cache) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New("the cache is not filled")
		}
		return nil
	}
}

func checkAPIServer(api discovery.DiscoveryInterface) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
		defer cancel()
		if err := api.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
			return fmt.Errorf("the API server is not ready: %w", err)
		}
		return nil
	}
}
