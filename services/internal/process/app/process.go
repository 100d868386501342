package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/operation"

	"golang.org/x/sync/errgroup"

	"github.com/acclaim-dev/acclaim/services/internal/face/gamelink"
	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/feed/sink"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/signin"
	"github.com/acclaim-dev/acclaim/services/internal/telemetry"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
)

// Process is one running process of the program.
type Process struct {
	config    Config
	logger    *slog.Logger
	metrics   *telemetry.Metrics
	directory *tenant.Directory
	// operatorToken is the credential of commands that work on the store of this process.
	operatorToken string

	public, admin *httpListener
	maintenance   *httpListener // nil where the admin listener has its routes
	gameListener  *httpListener // nil where there is no address of GameLink
	operations    map[tenant.Environment]*operation.Service
	games         map[tenant.Environment]*gamelink.Server
	certificate   certificateSource // nil: no TLS
	failed        chan error        // what ended a listener
	draining      atomic.Bool

	limits      resourceLimits
	watch       *limit.Watch // of all limits
	budgets     *operation.Budgets
	proxyWatch  *httpapi.ProxyWatch
	viewers     *signin.Viewers           // of issuers
	connections *limit.Pool[netip.Prefix] // of the public listener
	// gameConnections are those of the listener for games; nil where there is none.
	gameConnections *limit.Pool[netip.Prefix]

	services  *serviceSet
	retention *admin.RetentionWorker // nil where nothing is stored
}

// Open starts a process. It listens before it opens the store: an address that is in
// use leaves no store behind, and while the process waits for its database /healthz
// succeeds and /readyz fails.
func Open(ctx context.Context, config Config) (*Process, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	config.Machine = config.Machine.withDefaults()
	directory, err := config.openRegistry()
	if err != nil {
		return nil, err
	}
	p := &Process{
		config:    config,
		logger:    config.Logger,
		metrics:   telemetry.NewMetrics(),
		directory: directory,
		failed:    make(chan error, 4),

		operatorToken: rand.Text(),
		limits:        divideResources(config.MemoryBudget, countDescriptors(), config.ConnectionsPerAddress),
	}
	p.warnOfKeys()
	if p.certificate, err = openCertificateSource(ctx, config); err != nil {
		return nil, err
	}
	p.openBudgets()
	p.viewers = signin.NewViewers(signin.NewClient(sink.NewTransport(config.SinkAllowPrivate), config.Machine.Clock.Now), p.logger)
	p.proxyWatch = httpapi.NewProxyWatch(config.TrustedProxies, p.logger)
	registerProxies(p.metrics, p.proxyWatch.Unnamed, p.proxyWatch.Clients)
	registerBuild(p.metrics, config.Build)
	if config.Tracing != nil {
		registerTracing(p.metrics, config.Tracing.Stats)
	}
	if err := p.listen(ctx); err != nil {
		return nil, err
	}
	p.limits.log(p.logger)
	if p.services, err = openServices(ctx, config, p.limits, p.watch, p.metrics); err != nil {
		if p.gameListener != nil {
			err = errors.Join(err, p.gameListener.Close())
		}
		return nil, errors.Join(err, p.public.Close(), p.closeAdmin())
	}
	if p.services.store != nil {
		p.retention = admin.NewRetentionWorker(p.services.store, p.services.domains, directory.Registry, p.services.clock, p.logger)
		registerRetention(p.metrics, p.retention.Stats)
	}
	if sinks := p.services.sinks; sinks != nil {
		sinks.Start(ctx, directory.Registry)
	}
	p.operations = p.newOperations(append(p.services.apis, p.services.hidden...))
	p.games = p.openGames()
	p.public.setHandler(p.closeWhileDraining(p.publicHandler()))
	if p.gameListener != nil {
		p.gameListener.setHandler(gamelink.NewHandler(p.games))
	}
	p.setAdminHandlers(p.services.checkHealth, p.checkReady, p.maintenanceHandler())
	if err := p.giveOperatorAccess(); err != nil {
		return nil, errors.Join(err, p.Close(ctx))
	}
	return p, nil
}

// openBudgets divides what requests may hold.
func (p *Process) openBudgets() {
	p.watch = limit.NewWatch(p.logger)
	registerBudgets(p.metrics, p.watch.Pools)
	registerLimits(p.metrics, p.watch.Refusals)
	p.budgets = p.limits.newBudgets(p.watch)
	if p.config.GameListen != "" {
		p.limits.shareWithGames()
		p.gameConnections = limit.NewPool[netip.Prefix]("game_connections", p.limits.games, p.watch)
	}
	p.connections = limit.NewPool[netip.Prefix]("connections", p.limits.connections, p.watch)
}

// listen opens the listeners, which answer that the process starts.
func (p *Process) listen(ctx context.Context) (err error) {
	starting := errors.New("starting")
	notReady := httpapi.NewUnavailableHandler(starting)
	few := connectionLimit{pool: limit.NewPool[netip.Prefix]("admin_connections", adminConnections, p.watch), perAddress: adminConnections}
	if p.admin, err = listen(ctx, p.config.Machine, p.config.AdminListen, few, nil, notReady, p.logger, p.failed); err != nil {
		return fmt.Errorf("--admin-listen: %w", err)
	}
	if address := p.config.MaintenanceListen; address != "" {
		if p.maintenance, err = listen(ctx, p.config.Machine, address, few, nil, notReady, p.logger, p.failed); err != nil {
			return errors.Join(fmt.Errorf("--maintenance-listen: %w", err), p.closeAdmin())
		}
	}
	p.setAdminHandlers(nil, func(context.Context) error { return starting }, httpapi.NewMaintenanceHandler(httpapi.NewUnavailableMaintenance(starting)))
	public := connectionLimit{pool: p.connections, perAddress: p.limits.perAddress, proxies: p.config.TrustedProxies}
	if p.public, err = listen(ctx, p.config.Machine, p.config.Listen, public, p.certificate, notReady, p.logger, p.failed); err != nil {
		return errors.Join(fmt.Errorf("--listen: %w", err), p.closeAdmin())
	}
	if p.config.GameListen == "" {
		return nil
	}
	// Games that do not authenticate soon make room, so that a new one need not be refused.
	games := connectionLimit{p.gameConnections, p.limits.perAddress, p.config.TrustedProxies, time.Second}
	if p.gameListener, err = listen(ctx, p.config.Machine, p.config.GameListen, games, p.certificate, notReady, p.logger, p.failed); err != nil {
		return errors.Join(fmt.Errorf("--gamelink-listen: %w", err), p.public.Close(), p.closeAdmin())
	}
	return nil
}

// setAdminHandlers has the admin listener answer, and maintenance on the listener for it
// or, where there is none, on the admin listener, too.
func (p *Process) setAdminHandlers(healthy func() error, ready func(context.Context) error, maintenance http.Handler) {
	if p.maintenance != nil {
		p.maintenance.setHandler(maintenance)
		maintenance = nil
	}
	p.admin.setHandler(httpapi.NewAdminHandler(healthy, ready, p.listExhausted, p.metrics.Registry, maintenance))
}

func (p *Process) closeAdmin() error {
	if p.maintenance == nil {
		return p.admin.Close()
	}
	return errors.Join(p.maintenance.Close(), p.admin.Close())
}

// PublicAddress returns the address of the API.
func (p *Process) PublicAddress() net.Addr { return p.public.address }

// AdminAddress returns the address of the admin listener.
func (p *Process) AdminAddress() net.Addr { return p.admin.address }

// GameAddress returns the address of GameLink, nil where there is none.
func (p *Process) GameAddress() net.Addr {
	switch {
	case p.gameListener != nil:
		return p.gameListener.address
	case p.config.servesGamesAlone():
		return p.public.address
	}
	return nil
}

// MaintenanceAddress returns the address of the listener for maintenance, nil where there
// is none.
func (p *Process) MaintenanceAddress() net.Addr {
	if p.maintenance == nil {
		return nil
	}
	return p.maintenance.address
}

// UsesTLS reports whether the API is served with TLS.
func (p *Process) UsesTLS() bool { return p.certificate != nil }

// ClientAddress returns the address by which clients on this machine, or with a domain all
// clients, reach a listener of the API or of GameLink.
func (p *Process) ClientAddress(listener net.Addr) string {
	address := ReachableAddress(listener)
	if len(p.config.Domains) == 0 {
		return address
	}
	_, port, _ := net.SplitHostPort(address)
	if port == "443" {
		return p.config.Domains[0]
	}
	return net.JoinHostPort(p.config.Domains[0], port)
}

// ServesSample reports whether the extension registry is the built-in sample.
func (p *Process) ServesSample() bool { return p.directory.IsSample() }

// Registry returns the extension registry.
func (p *Process) Registry() *tenant.Registry { return p.directory.Registry() }

func (p *Process) checkReady(ctx context.Context) error {
	if p.draining.Load() {
		return errors.New("draining")
	}
	return p.services.checkReady(ctx)
}

// Run serves until ctx is done or a listener fails.
func (p *Process) Run(ctx context.Context) error {
	working, stop := context.WithCancel(ctx)
	var group errgroup.Group
	group.Go(func() error { return p.directory.Watch(working, p.logReload) })
	group.Go(func() error { p.refreshViewers(working); return nil })
	if p.certificate != nil {
		group.Go(func() error { return p.certificate.watch(working, p.logger) })
	}
	if p.retention != nil {
		group.Go(func() error { p.retention.Run(working); return nil })
	}
	if sinks := p.services.sinks; sinks != nil {
		group.Go(func() error { sinks.Run(working); return nil })
	}

	var err error
	select {
	case <-ctx.Done():
	case err = <-p.failed:
	}
	stop()
	return errors.Join(err, group.Wait())
}

// refreshViewers keeps the keys of the issuers of viewers until ctx is done. It looks often for issuers that
// the registry has not named before.
func (p *Process) refreshViewers(ctx context.Context) {
	const look = 5 * time.Second
	for err := error(nil); err == nil; err = p.config.Machine.Clock.Sleep(ctx, look) {
		p.viewers.Refresh(ctx, p.directory.Registry().ViewerIssuerURLs())
	}
}

func (p *Process) logReload(err error) {
	if err != nil {
		p.logger.Error("the extension registry was not reloaded; the last good one stays in force", "error", err)
		return
	}
	p.logger.Info("extension registry reloaded")
	p.warnOfKeys()
}

// warnOfKeys logs which keys of the registry in force should be replaced.
func (p *Process) warnOfKeys() {
	if p.directory.IsSample() {
		p.logger.Warn("there is no extension registry; the built-in sample extension is served")
	}
	registry := p.directory.Registry()
	if short := registry.ShortKeys(); len(short) > 0 {
		p.logger.Warn("keys have less than 32 bytes", "keys", short)
	}
	if samples := registry.SampleKeys(); len(samples) > 0 {
		p.logger.Warn("keys are published samples, which work only while every listener is on loopback", "keys", samples)
	}
}

// Close drains: it fails /readyz, leaves the other processes, goes on serving for the
// drain delay, finishes what was accepted and closes the store. From the end of that delay it
// begins no maintenance. It takes the shutdown timeout at most, whether or not ctx is done.
func (p *Process) Close(ctx context.Context) error {
	p.draining.Store(true)
	p.logger.Info("draining", "timeout", p.config.ShutdownTimeout.String())
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.config.ShutdownTimeout)
	defer cancel()
	if err := p.services.leaveMembers(bounded); err != nil { // they notice by themselves
		p.logger.Warn("announcing to the other processes that this one leaves failed", "error", err)
	}
	err := p.config.Machine.Clock.Sleep(bounded, p.config.DrainDelay)
	p.setAdminHandlers(p.services.checkHealth, p.checkReady, httpapi.NewMaintenanceHandler(httpapi.NewUnavailableMaintenance(errors.New("stopping"))))
	p.services.drain()
	err = errors.Join(err, p.closeGames(bounded), p.public.Shutdown(bounded), p.services.close(bounded), p.closeAdmin())
	p.config.Tracing.Close(bounded)
	return err
}
