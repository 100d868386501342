package app

import (
	"context"
	"errors"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/face/gamelink"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// GameLinkService is the service that speaks GameLink, the protocol of games.
const GameLinkService = "gamelink"

// servesGamesAlone reports whether GameLink is the only service.
func (c *Config) servesGamesAlone() bool {
	return len(c.Services) == 1 && c.Services[0].Name == GameLinkService
}

// startGames starts what games need and this process does not serve: polls and state, whose
// routes only games reach then.
func startGames(s *serviceSet) {
	if !s.games || s.broker != nil {
		return
	}
	s.private = true
	defer func() { s.private = false }()
	for _, service := range Services() {
		if service.Name == operation.VotingService || service.Name == operation.StateService {
			service.start(s)
		}
	}
}

// openGames returns the server of GameLink of each environment.
func (p *Process) openGames() map[tenant.Environment]*gamelink.Server {
	servers := map[tenant.Environment]*gamelink.Server{}
	if !p.services.games {
		return servers
	}
	for _, m := range p.config.Mounts {
		servers[m.Environment] = gamelink.New(gamelink.Options{
			Environment: m.Environment, Registry: p.directory.Registry, Now: time.Now, Logger: p.logger,
			Operations: p.operations[m.Environment], Live: p.services.broker, Pairing: p.services.pairings, Purchases: p.services.purchases,
			Matches: p.services.matches, MatchPolls: p.services.matches,
			Budgets: p.budgets, Unauthenticated: int(p.limits.unauthenticatedGames),
			Client: p.proxyWatch.Client, Ledger: p.services.ledger, Watch: p.watch,
		})
	}
	registerGames(p.metrics, servers)
	return servers
}

// closeGames ends the connections of games, which reconnect to another process.
func (p *Process) closeGames(ctx context.Context) (err error) {
	for _, server := range p.games {
		err = errors.Join(err, server.Close(ctx))
	}
	if p.gameListener != nil {
		err = errors.Join(err, p.gameListener.Shutdown(ctx))
	}
	return err
}
