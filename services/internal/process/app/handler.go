package app

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/face/gamelink"
	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/face/page"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/transfer"
)

// publicHandler serves every environment under its path, and the pages where there are
// events for them.
func (p *Process) publicHandler() http.Handler {
	if p.config.servesGamesAlone() && p.config.GameListen == "" {
		return gamelink.NewHandler(p.games)
	}
	operations := p.operations
	if len(p.services.hidden) > 0 { // they are for games alone
		operations = p.newOperations(p.services.apis)
	}
	var mounts []httpapi.Mount
	for _, m := range p.config.Mounts {
		api := httpapi.New(operations[m.Environment], p.config.TrustedProxies, p.proxyWatch)
		// Browser clients use the paths below /e.
		mounts = append(mounts, httpapi.Mount{API: api, Prefixes: []string{m.Path + "/e", m.Path}})
	}
	api := httpapi.NewHandler(mounts...)
	if p.services.broker == nil || len(p.services.hidden) > 0 {
		return api
	}
	console := len(mounts) > 1 // with two mounts, the sandbox issues tokens
	home := page.Home{Console: console, Version: p.config.Build.Version, Documentation: p.config.Build.documentation()}
	return addPages(home.Handler(), page.Handler(console), page.Vote(), api)
}

// newOperations returns those of each environment with the services that apis add.
func (p *Process) newOperations(apis []func(*operation.Config)) map[tenant.Environment]*operation.Service {
	operations := map[tenant.Environment]*operation.Service{}
	for _, m := range p.config.Mounts {
		config := operation.Config{
			Environment: m.Environment,
			Registry:    p.directory.Registry,
			Now:         p.services.clock.Now,
			Logger:      p.logger,
			LogRequests: p.config.LogRequests,
			Metrics:     p.metrics,
			Tracing:     p.config.Tracing,
			Budgets:     p.budgets,
			Viewers:     p.viewers,
		}
		for _, set := range apis {
			set(&config)
		}
		operations[m.Environment] = operation.NewService(config)
	}
	return operations
}

// addPages serves home to browsers at "/", the pages below their path, the page on which devices vote
// and everything else from api.
func addPages(home, pages, vote, api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case page.WantsHome(r):
			home.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, page.Path):
			pages.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, page.VotePath):
			vote.ServeHTTP(w, r)
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
		return httpapi.NewMaintenanceHandler(httpapi.Maintenance{})
	}
	return httpapi.NewMaintenanceHandler(httpapi.Maintenance{
		Erase: p.eraseHandler(), Purge: p.purgeHandler(), Checkpoint: p.checkpointHandler(), Export: p.exportHandler(),
	})
}

// exportHandler exports what an extension has stored. It reads the store itself: a checkpoint
// would be of one moment, but there is one at a time, which is the operator's.
func (p *Process) exportHandler() http.Handler {
	return httpapi.NewExportHandler(p.directory.Registry, p.services.clock.Now, func(ctx context.Context, r httpapi.ExportRequest, w io.Writer) error {
		scope := transfer.Scope{Extension: r.Extension, Environments: []string{string(tenant.Production), string(tenant.Sandbox)}, Kinds: r.Kinds}
		if r.Environment != "" {
			scope.Environments = []string{string(r.Environment)}
		}
		format := cmp.Or(r.Format, transfer.JSONL)
		scope, err := scope.Complete(format)
		if err != nil {
			return err
		}
		log := p.logger.With("extension", r.Extension, "actor", r.Actor)
		log.Info("exporting", "environments", scope.Environments, "kinds", scope.Kinds, "format", format)
		totals, err := transfer.Write(ctx, p.services.store, scope, format, w)
		if err != nil {
			log.Error("an export was cut off", "error", err)
			return err
		}
		log.Info("exported", "streams", totals.Streams, "entries", totals.Entries, "documents", totals.Documents)
		return nil
	}, p.budgets)
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
	return httpapi.NewEraseHandler(p.directory.Registry, p.services.clock.Now, func(ctx context.Context, extension string, asked httpapi.Erasure) (any, error) {
		p.logger.Info("erasing a viewer", "extension", extension, "actor", asked.Actor)
		viewer := rewrite.Viewer{IDs: asked.IDs, DropData: asked.DropData}
		report, err := erasure.Erase(ctx, extension, admin.Target{Viewer: viewer, Only: asked.Only, At: p.services.clock.Now()}, func(int) {})
		if err != nil {
			p.logger.Error("a viewer was not erased; erasing again goes on", "extension", extension, "error", err)
		}
		return report, err
	}, p.budgets)
}
