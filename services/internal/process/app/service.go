package app

import (
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/resultlog"
	"github.com/acclaim-dev/acclaim/services/roster"
	"github.com/acclaim-dev/acclaim/services/sandbox"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// Service is one row of the table of services.
type Service struct {
	// Name names the command, the routes in package httpapi and the service
	// in the operator.
	Name string
	// Environment is the one that the service runs in unless a flag sets it.
	Environment tenant.Environment

	// The fields below are those of a service that has streams.

	// Domain is the package with the rules, and the label of its metrics.
	Domain string
	// Kind is the first element of the names of the streams.
	Kind string
	// Retention returns how long entries stay in the streams; 0 keeps them.
	Retention func(tenant.Retention) time.Duration

	// parts are further rows of the service that have streams, too.
	parts []Service

	// hinted makes every commit notify the subscribers of events.
	hinted bool
	// newEngine returns the engine of the streams over a store.
	newEngine func(stream.Store, stream.Clock, stream.Options) engine
	// start adds the service to those that the process serves.
	start func(*serviceSet)
}

// NewService returns the row of a service without streams, which provide adds to an API.
func NewService(name string, provide func(*operation.Config)) Service {
	return Service{Name: name, start: func(s *serviceSet) { s.addAPI(provide) }}
}

// Paths returns the paths below the base path that the service answers.
func (s Service) Paths() []string { return operation.Paths(s.Name) }

// Services returns the table of services, in the order in which they start: the state
// service reads the polls of the voting service.
func Services() []Service {
	return []Service{
		withParts(withEngine(Service{
			Name: operation.VotingService, Environment: tenant.Production, Domain: "voting", Kind: voting.Kind, hinted: true,
			Retention: func(r tenant.Retention) time.Duration { return r.Logs },
		}, voting.NewService, func(s *serviceSet, polls *voting.Service) func(*operation.Config) {
			return func(c *operation.Config) {
				c.Voting, c.PollLister = operation.NewVoting(polls), s.store.changes().streamsAfter
			}
		}), withEngine(Service{
			Domain: "resultlog", Kind: resultlog.Kind,
			Retention: func(tenant.Retention) time.Duration { return 0 },
		}, resultlog.NewService, startResults)),
		withEngine(Service{
			Name: operation.AccumulationService, Environment: tenant.Production, Domain: "accumulation", Kind: accumulation.Kind, hinted: true,
			Retention: func(r tenant.Retention) time.Duration { return r.Buffers },
		}, accumulation.NewService, func(_ *serviceSet, buffers *accumulation.Service) func(*operation.Config) {
			return func(c *operation.Config) { c.Accumulation = buffers }
		}),
		withEngine(Service{
			Name: operation.RankingService, Environment: tenant.Production, Domain: "ranking", Kind: ranking.Kind, hinted: true,
			Retention: func(r tenant.Retention) time.Duration { return r.Rankings },
		}, ranking.NewService, func(_ *serviceSet, questions *ranking.Service) func(*operation.Config) {
			return func(c *operation.Config) { c.Ranking = operation.NewRanking(questions) }
		}),
		withParts(withEngine(Service{
			Name: operation.StateService, Environment: tenant.Production, Domain: "message", Kind: message.Kind, hinted: true,
			Retention: func(tenant.Retention) time.Duration { return contract.MessageLifetime },
		}, message.NewService, startState), withEngine(Service{
			Domain: "roster", Kind: roster.Kind,
			Retention: func(r tenant.Retention) time.Duration { return r.Logs },
		}, roster.NewService, func(_ *serviceSet, viewers *roster.Service) func(*operation.Config) {
			return func(c *operation.Config) { c.Roster = viewers }
		})),
		{Name: GameLinkService, Environment: tenant.Production, start: startGames},
		{
			Name: operation.SandboxService, Environment: tenant.Sandbox,
			start: func(s *serviceSet) {
				s.addAPI(func(c *operation.Config) {
					if c.Environment == tenant.Sandbox {
						c.Sandbox = sandbox.NewService(c.Registry, c.Now)
					}
				})
			},
		},
	}
}

// withParts completes the row of a service that has several kinds of streams.
func withParts(row Service, parts ...Service) Service {
	start := row.start
	row.parts = parts
	row.start = func(s *serviceSet) {
		start(s)
		for _, part := range parts {
			part.start(s)
		}
	}
	return row
}

// engine is the service of a domain to the process that runs it.
type engine interface {
	stream.Runner
	Rewriting() *rewrite.Rewriter
}

// withEngine completes the row of a service that has streams. serve starts what the
// service needs besides its engine and returns how an API gets it.
func withEngine[E engine](
	row Service,
	newEngine func(stream.Store, stream.Clock, stream.Options) E,
	serve func(*serviceSet, E) func(*operation.Config),
) Service {
	row.newEngine = func(store stream.Store, clock stream.Clock, options stream.Options) engine {
		return newEngine(store, clock, options)
	}
	row.start = func(s *serviceSet) {
		engine := newEngine(s.store, s.clock, s.engineOptions(row.Kind, row.hinted))
		s.addEngine(row, engine)
		s.addAPI(serve(s, engine))
	}
	return row
}
