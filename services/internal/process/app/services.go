package app

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/operation"

	"go.opentelemetry.io/otel/attribute"

	"github.com/acclaim-dev/acclaim/api/tracing"
	"github.com/acclaim-dev/acclaim/services/internal/cluster/peer"
	"github.com/acclaim-dev/acclaim/services/internal/engine/batchtrace"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/feed/live"
	"github.com/acclaim-dev/acclaim/services/internal/feed/sink"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/telemetry"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
	"github.com/acclaim-dev/acclaim/services/match"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/pairing"
	"github.com/acclaim-dev/acclaim/services/picture"
	"github.com/acclaim-dev/acclaim/services/purchase"
	"github.com/acclaim-dev/acclaim/services/resultlog"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// serviceSet is the services that a process serves, over one store.
type serviceSet struct {
	store        backend // nil where no service has streams
	limits       resourceLimits
	watch        *limit.Watch
	ledger       *limit.Ledger // of all rates and quotas
	clock        stream.Clock
	logger       *slog.Logger
	metrics      *telemetry.Metrics
	tracing      *tracing.Tracing
	environments []tenant.Environment
	allowPrivate bool // addresses of sinks
	sinkRequests http.RoundTripper
	notifier     event.Notifier
	signing      ResultSigning

	domains   admin.Domains     // those that are served
	running   map[string]engine // their engines, by the kind of their streams
	documents *document.Service
	broker    *live.Broker  // nil where no events are served
	sinks     *sink.Manager // likewise

	// games reports that GameLink is served, and private that what starts serves games alone.
	games, private bool
	// gamesAnywhere reports that this process or another one serves GameLink.
	gamesAnywhere bool
	pairings      *pairing.Service
	purchases     *purchase.Service
	matches       *match.Service

	apis    []func(*operation.Config)
	hidden  []func(*operation.Config)     // further ones, of the API that only games use
	closers []func(context.Context) error // in the order of opening
}

// openServices opens the store and starts the services over it.
func openServices(ctx context.Context, config Config, limits resourceLimits, watch *limit.Watch, metrics *telemetry.Metrics) (*serviceSet, error) {
	s := &serviceSet{
		limits:  limits,
		watch:   watch,
		clock:   config.Machine.Clock,
		logger:  config.Logger,
		metrics: metrics,
		tracing: config.Tracing,
		domains: admin.Domains{},
		running: map[string]engine{},

		allowPrivate:  config.SinkAllowPrivate,
		sinkRequests:  config.Machine.Transport,
		signing:       config.Results,
		games:         config.GameListen != "" || config.servesGamesAlone(),
		gamesAnywhere: config.Games || config.GameListen != "" || config.servesGamesAlone(),
	}
	for _, m := range config.Mounts {
		s.environments = append(s.environments, m.Environment)
	}
	var err error
	if s.store, err = openBackend(ctx, config, watch, metrics); err != nil {
		return nil, err
	}
	if s.store != nil {
		s.onClose(s.store.close)
		if written := s.store.changes().written; written != nil {
			s.notifier.Register(written)
		}
	}
	s.openLedger()
	for _, service := range config.Services {
		service.start(s)
	}
	s.verifyGames()
	s.servePictures()
	if s.store != nil {
		if err := s.store.servePeers(ctx, s.engines()); err != nil {
			return nil, errors.Join(err, s.close(ctx))
		}
	}
	return s, nil
}

// verifyGames lets a process without documents of its own verify the credentials of games.
func (s *serviceSet) verifyGames() {
	if s.store == nil || s.documents != nil {
		return
	}
	s.documents = s.openDocuments()
	pairings := pairing.NewService(s.documents, nil)
	s.addAPI(func(c *operation.Config) { c.Pairing = operation.NewPairing(pairings) })
}

// servePictures lets a process that serves polls serve the pictures of their options.
func (s *serviceSet) servePictures() {
	if s.store == nil {
		return
	}
	pictures := picture.NewService(s.documents, s.allRead(stream.LevelPictures))
	s.addAPI(func(c *operation.Config) { c.Pictures = pictures })
}

// openDocuments returns a service over the documents of the store.
func (s *serviceSet) openDocuments() *document.Service {
	documents := document.NewService(s.store, s.clock, document.Options{
		Changed: s.notifier.Notify,
		Busy:    s.engineOptions(message.Kind, false).Busy,
		Traces:  batchtrace.NewRecorder(s.tracing.Tracer(attribute.String("acclaim.store", "documents")), s.clock.Now, document.ErrConflict),
	})
	s.onClose(documents.Close)
	return documents
}

// allRead returns a function that reports whether all processes over the store read what came with
// a level.
func (s *serviceSet) allRead(level stream.Level) func() bool {
	options := s.engineOptions(message.Kind, false)
	return func() bool { return options.AllRead(level) }
}

// engineOptions returns the options for the engine of a kind of streams.
func (s *serviceSet) engineOptions(kind string, hinted bool) stream.Options {
	options := s.store.adaptOptions(kind, stream.Options{
		Logger: s.logger, MemoryBudget: s.limits.resident, Tracer: s.tracing.Tracer(attribute.String("acclaim.stream", kind)),
	})
	switch kind {
	case resultlog.Kind:
		options.MemoryBudget = resultLogMemory
	case voting.Kind:
		options.KeyBudget = s.limits.voteKeys
	}
	if hinted {
		options.Applied = s.notifier.Notify
	}
	return options
}

// openLedger opens the ledger of this process and gives it to every API, with the room on its disk.
func (s *serviceSet) openLedger() {
	processes := func() int { return 1 }
	if s.store != nil {
		processes = s.store.processes
	}
	s.ledger = limit.NewLedger(processes, s.watch)
	gauge, _ := s.store.(spaceGauge)
	s.addAPI(func(c *operation.Config) {
		c.Processes, c.Ledger = processes, s.ledger
		if gauge != nil {
			c.StorageLow = gauge.Low
		}
	})
}

// addEngine registers the engine of a service wherever all engines are needed.
func (s *serviceSet) addEngine(row Service, engine engine) {
	s.running[row.Kind] = engine
	s.domains[row.Kind] = admin.NewDomain(engine.Rewriting(), row.Retention)
	registerStreams(s.metrics, row.Domain, engine.Stats)
	s.onClose(engine.Close)
}

// addAPI adds services to every API.
func (s *serviceSet) addAPI(set func(*operation.Config)) {
	if s.private {
		s.hidden = append(s.hidden, set)
		return
	}
	s.apis = append(s.apis, set)
}

func (s *serviceSet) onClose(closer func(context.Context) error) {
	s.closers = append(s.closers, closer)
}

// engines returns the engines that answer forwarded requests, by kind of streams.
func (s *serviceSet) engines() map[string]peer.ServeFunc {
	engines := map[string]peer.ServeFunc{}
	for kind, engine := range s.running {
		engines[kind] = engine.Serve
	}
	return engines
}

// allDomains returns all domains over the store. Where this process serves a domain, it is
// its own engine.
func (s *serviceSet) allDomains() admin.Domains {
	domains := openDomains(s.store, stream.Options{Applied: s.notifier.Notify})
	maps.Copy(domains, s.domains)
	return domains
}

// erasure returns the erasure service over the whole store.
func (s *serviceSet) erasure() *admin.ErasureService {
	domains := s.allDomains()
	var documents admin.DocumentDeleter = s.store
	if s.documents != nil {
		documents = s.documents
	}
	return admin.NewErasureService(s.store, domains, documents)
}

// checkHealth returns an error while the store is broken in a way that restarting the
// process may repair.
func (s *serviceSet) checkHealth() error {
	if s.store == nil {
		return nil
	}
	return s.store.checkHealth()
}

// checkReady returns an error while the services cannot serve.
func (s *serviceSet) checkReady(ctx context.Context) error {
	if s.store == nil {
		return nil
	}
	return s.store.checkReady(ctx)
}

// leaveMembers makes the other processes, if there are any, forward nothing more to this one.
// What they sent before is still answered.
func (s *serviceSet) leaveMembers(ctx context.Context) error {
	if s.store == nil {
		return nil
	}
	return s.store.leaveMembers(ctx)
}

// drain asks the subscribers of events to reconnect elsewhere.
func (s *serviceSet) drain() {
	if s.broker != nil {
		s.broker.Drain()
	}
}

// close finishes what was accepted and closes the store, the last opened first.
func (s *serviceSet) close(ctx context.Context) error {
	var errs []error
	for _, closer := range slices.Backward(s.closers) {
		errs = append(errs, closer(ctx))
	}
	return errors.Join(errs...)
}

// streamRows returns the rows of all services and of their parts.
func streamRows() (rows []Service) {
	for _, service := range Services() {
		rows = append(append(rows, service), service.parts...)
	}
	return rows
}

// Domains returns the domains of all services over a store, for commands that work on
// a store that they do not serve.
func Domains(store stream.Store) admin.Domains { return openDomains(store, stream.Options{}) }

func openDomains(store stream.Store, options stream.Options) admin.Domains {
	domains := admin.Domains{}
	for _, service := range streamRows() {
		if service.Kind != "" {
			engine := service.newEngine(store, stream.SystemClock(), options)
			domains[service.Kind] = admin.NewDomain(engine.Rewriting(), service.Retention)
		}
	}
	return domains
}
