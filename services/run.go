package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
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
	s := &server{logger: logger, directory: directory}
	if err := s.listen(ctx, o); err != nil { // first: a port that is taken leaves no store behind
		return err
	}
	b, err := open(ctx, metrics, stream.Options{Logger: logger})
	if err != nil {
		return errors.Join(err, s.publicListener.Close(), s.adminListener.Close())
	}
	var draining atomic.Bool
	ready := func(ctx context.Context) error {
		if draining.Load() {
			return errors.New("draining")
		}
		return b.ready(ctx)
	}
	handler := lastAnswers(&draining, withPages(mounts, b, publicHandler(mounts, b, directory, logger, metrics)))
	s.public = httpapi.NewServer(handler, logger)
	s.admin = httpapi.NewServer(httpapi.NewAdmin(ready, metrics.Registry, eraseHandler(b, directory, logger)), logger)
	s.keeper, s.sinks = b.keeper, b.sinks
	if k := b.keeper; k != nil {
		k.registry, k.logger = directory.Registry, logger
		metrics.Retention(k.counts)
	}
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
	public, admin                 *http.Server
	publicListener, adminListener net.Listener
	logger                        *slog.Logger
	directory                     *tenant.Directory
	keeper                        *keeper
	sinks                         *sink.Manager
}

func (s *server) listen(ctx context.Context, o options) (err error) {
	var config net.ListenConfig
	if s.publicListener, err = config.Listen(ctx, "tcp", o.listen); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if s.adminListener, err = config.Listen(ctx, "tcp", o.adminListen); err != nil {
		return errors.Join(fmt.Errorf("--admin-listen: %w", err), s.publicListener.Close())
	}
	return nil
}

// serve answers until ctx is done or a listener fails.
func (s *server) serve(ctx context.Context) error {
	failed := make(chan error, 2)
	listen := func(server *http.Server, listener net.Listener) {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}
	go listen(s.public, s.publicListener)
	go listen(s.admin, s.adminListener)
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
	case err = <-failed:
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
