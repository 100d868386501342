package app

import (
	"context"
	"net/http"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/face/gamelink"
	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/face/page"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
)

// publicHandler serves every environment under its path, and the pages where there are
// events for them.
func (p *Process) publicHandler() http.Handler {
	if p.config.servesGamesAlone() && p.config.GameListen == "" {
		return gamelink.NewHandler(p.games)
	}
	mounts := p.mounts(p.services.apis)
	api := httpapi.NewHandler(mounts...)
	if p.services.broker == nil || len(p.services.hidden) > 0 {
		return api
	}
	return addPages(page.Handler(len(mounts) > 1), api) // with two mounts, the sandbox issues tokens
}

// mounts returns the API of each environment with the services that apis add.
func (p *Process) mounts(apis []func(*httpapi.Config)) (mounts []httpapi.Mount) {
	for _, m := range p.config.Mounts {
		config := httpapi.Config{
			Environment: m.Environment,
			Registry:    p.directory.Registry,
			Now:         p.services.clock.Now,
			Logger:      p.logger,
			Metrics:     p.metrics,
			Tracing:     p.config.Tracing,
			Budgets:     p.budgets,
			Proxies:     p.config.TrustedProxies,
			ProxyWatch:  p.proxyWatch,
		}
		for _, set := range apis {
			set(&config)
		}
		// Browser clients use the paths below /e.
		mounts = append(mounts, httpapi.Mount{API: httpapi.New(config), Prefixes: []string{m.Path + "/e", m.Path}})
	}
	return mounts
}

// addPages serves the pages below their path and everything else from api.
func addPages(pages, api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, page.Path):
			pages.ServeHTTP(w, r)
		case r.URL.Path+"/" == page.Path:
			http.Redirect(w, r, page.Path, http.StatusPermanentRedirect)
		default:
			api.ServeHTTP(w, r)
		}
	})
}

// closeWhileDraining makes clients open another connection, elsewhere, for their next
// request while the process drains.
func (p *Process) closeWhileDraining(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		handler.ServeHTTP(w, r)
	})
}

// maintenanceHandler maintains the store, if there is one.
func (p *Process) maintenanceHandler() http.Handler {
	if p.services.store == nil {
		return httpapi.NewMaintenanceHandler(nil, nil)
	}
	return httpapi.NewMaintenanceHandler(p.eraseHandler(), p.purgeHandler())
}

// purgeHandler removes polls, questions and buffers from the store.
func (p *Process) purgeHandler() http.Handler {
	purge := admin.NewPurgeService(p.services.store, p.services.allDomains(), nil, p.services.clock.Now)
	return httpapi.NewPurgeHandler(p.directory.Registry, p.services.clock.Now, func(ctx context.Context, r httpapi.PurgeRequest) (any, error) {
		p.logger.Info("purging", "extension", r.Extension, "actor", r.Actor, "environment", r.Environment,
			"kind", r.Kind, "channel", r.Channel, "prefix", r.Prefix, "olderThan", r.OlderThan, "dryRun", r.DryRun)
		filter := admin.PurgeFilter{
			Extension: r.Extension, Environment: r.Environment, Channel: r.Channel, Prefix: r.Prefix, OlderThan: r.OlderThan, DryRun: r.DryRun,
		}
		if r.Kind != "" {
			filter.Kinds = []string{r.Kind}
		}
		report, err := purge.Purge(ctx, filter, func(int) {})
		if err != nil {
			p.logger.Error("not everything was purged; purging again goes on", "extension", r.Extension, "error", err)
		}
		return report, err
	}, p.budgets)
}

// eraseHandler erases viewers from the store.
func (p *Process) eraseHandler() http.Handler {
	erasure := p.services.erasure()
	return httpapi.NewEraseHandler(p.directory.Registry, p.services.clock.Now, func(ctx context.Context, extension, actor string, viewer rewrite.Viewer, only bool) (any, error) {
		p.logger.Info("erasing a viewer", "extension", extension, "actor", actor)
		report, err := erasure.Erase(ctx, extension, admin.Target{Viewer: viewer, Only: only}, func(int) {})
		if err != nil {
			p.logger.Error("a viewer was not erased; erasing again goes on", "extension", extension, "error", err)
		}
		return report, err
	}, p.budgets)
}
