package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/acclaim-dev/acclaim/services/internal/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/page"
	"github.com/acclaim-dev/acclaim/services/internal/sink"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/internal/telemetry"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// run serves until ctx is done, then drains. It writes the ready line to out.
func run(ctx context.Context, out io.Writer, o options, mounts []mount, open opener) error {
	if err := o.check(); err != nil {
		return err
	}
	logger := telemetry.NewLogger(os.Stderr, o.logLevel)
	metrics := telemetry.NewMetrics()
	directory, err := tenant.Open(o.extensions)
	if err != nil {
		return err
	}
	s := &server{logger: logger, directory: directory, failed: make(chan error, 2)}
	if err := s.listen(ctx, o, metrics); err != nil { // first: a port that is taken leaves no store behind
		return err
	}
	b, err := open(ctx, metrics, stream.Options{Logger: logger})
	if err != nil {
		if ctx.Err() != nil { // told to stop while it waited for its database
			err = nil
		}
		return errors.Join(err, s.public.Close(), s.admin.Close())
	}
	var draining atomic.Bool
	ready := func(ctx context.Context) error {
		if draining.Load() {
			return errors.New("draining")
		}
		return b.ready(ctx)
	}
	handler := lastAnswers(&draining, withPages(mounts, b, publicHandler(mounts, b, directory, logger, metrics)))
	s.keeper, s.sinks = b.keeper, b.sinks
	if k := b.keeper; k != nil {
		k.registry, k.logger = directory.Registry, logger
		metrics.Retention(k.counts)
	}
	s.public.answer(handler)
	s.admin.answer(httpapi.NewAdmin(ready, metrics.Registry, eraseHandler(b, directory, logger)))
	err = announce(out, mounts, s, directory.Registry())
	if err == nil {
		err = s.serve(ctx)
	}
	draining.Store(true)
	logger.Info("draining", "timeout", o.shutdownTimeout.String())
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.shutdownTimeout)
	defer cancel()
	if untold := b.leave(limit); untold != nil { // they notice by themselves
		logger.Warn("the other processes could not be told that this one leaves", "error", untold)
	}
	err = errors.Join(err, stream.SystemClock().Sleep(limit, o.drainDelay))
	b.drain()
	return errors.Join(err, s.public.Shutdown(limit), b.close(limit), s.admin.Close())
}

// lastAnswers tells clients, while the program drains, not to send another
// request on their connection.
func lastAnswers(draining *atomic.Bool, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if draining.Load() {
			w.Header().Set("Connection", "close")
		}
		handler.ServeHTTP(w, r)
	})
}

// withPages serves the pages, too, in a process that tells of events.
func withPages(mounts []mount, b backends, api http.Handler) http.Handler {
	if !b.tellsEvents {
		return api
	}
	pages := page.Handler(len(mounts) > 1) // one of them is the sandbox, with its tokens
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

// publicHandler serves every environment under its path.
func publicHandler(mounts []mount, b backends, directory *tenant.Directory, logger *slog.Logger, metrics *telemetry.Metrics) http.Handler {
	var all []httpapi.Mount
	for _, m := range mounts {
		config := httpapi.Config{
			Environment: m.environment,
			Registry:    directory.Registry,
			Now:         time.Now,
			Logger:      logger,
			Metrics:     metrics,
		}
		b.serve(&config)
		if b.issuesTokens && m.environment == tenant.Sandbox {
			config.Sandbox = sandbox.NewService(directory.Registry, time.Now)
		}
		// Browser clients ask below /e.
		all = append(all, httpapi.Mount{API: httpapi.New(config), Prefixes: []string{m.path + "/e", m.path}})
	}
	return httpapi.NewHandler(all...)
}

// eraseHandler erases viewers from what the process stores, if it stores anything.
func eraseHandler(b backends, directory *tenant.Directory, logger *slog.Logger) http.Handler {
	if b.eraser == nil {
		return nil
	}
	return httpapi.NewErase(directory.Registry, time.Now, func(ctx context.Context, extension string, viewer stream.Viewer, only bool) (any, error) {
		logger.Info("erasing a viewer", "extension", extension)
		report, err := b.eraser.erase(ctx, extension, whom{viewer, only}, func(int) {})
		if err != nil {
			logger.Error("a viewer was not erased; erasing again goes on", "extension", extension, "error", err)
		}
		return report, err
	})
}

// server is the two listeners of a process, what watches its registry and what keeps
// its store.
type server struct {
	public, admin *listener
	failed        chan error // what ended a listener
	logger        *slog.Logger
	directory     *tenant.Directory
	keeper        *keeper
	sinks         *sink.Manager
}

// listen answers that nothing is ready.
func (s *server) listen(ctx context.Context, o options, metrics *telemetry.Metrics) (err error) {
	starting := errors.New("starting")
	admin := httpapi.NewAdmin(func(context.Context) error { return starting }, metrics.Registry, nil)
	if s.admin, err = listen(ctx, o.adminListen, admin, s.logger, s.failed); err != nil {
		return fmt.Errorf("--admin-listen: %w", err)
	}
	if s.public, err = listen(ctx, o.listen, httpapi.NewUnavailable(starting), s.logger, s.failed); err != nil {
		return errors.Join(fmt.Errorf("--listen: %w", err), s.admin.Close())
	}
	return nil
}

// serve works until ctx is done or a listener fails.
func (s *server) serve(ctx context.Context) error {
	watching, stop := context.WithCancel(ctx)
	var group errgroup.Group
	group.Go(func() error { return s.directory.Watch(watching, s.reloaded) })
	if s.keeper != nil {
		group.Go(func() error { s.keeper.run(watching); return nil })
	}
	if s.sinks != nil {
		group.Go(func() error { s.sinks.Run(watching, s.directory.Registry); return nil })
	}

	var err error
	select {
	case <-ctx.Done():
	case err = <-s.failed:
	}
	stop()
	return errors.Join(err, group.Wait())
}

func (s *server) reloaded(err error) {
	if err != nil {
		s.logger.Error("the extension registry was not reloaded; the last good one stays in force", "error", err)
		return
	}
	s.logger.Info("extension registry reloaded")
}
