package httpapi

import (
	"net/http"
	"slices"
)

// The services that the routes of the contract are divided among. One process
// may serve all of them or one alone.
const (
	VotingService       = "voting"
	AccumulationService = "accumulation"
	RankingService      = "ranking"
	StateService        = "state"
	SandboxService      = "sandbox"
)

// Route is one method of one path, relative to the base address.
type Route struct {
	Service      string // set by Routes
	Method, Path string
	access       accessRule
	handle       routeHandler
	public       bool // needs no credential
	inQuery      bool // takes the credential in access_token, too
	compress     bool // answers may be long
	// limit returns the largest body in bytes; nil: the extension's BodyBytes.
	limit func(*Caller) int
}

type routeHandler func(a *API, w http.ResponseWriter, r *apiRequest) error

// Routes returns all routes of the contract with the service that each belongs
// to, the most requested routes first.
func Routes() []Route { return routesOf(func(routeGroup) bool { return true }) }

// Paths returns the paths that belong to a service, in the order of Routes.
func Paths(service string) (paths []string) {
	for _, route := range Routes() {
		if route.Service == service && !slices.Contains(paths, route.Path) {
			paths = append(paths, route.Path)
		}
	}
	return paths
}

// group is the routes that share a dependency.
type routeGroup struct {
	service string
	routes  []Route
	// served reports whether an API of that configuration serves the routes.
	served func(*Config) bool
}

func routeGroups() []routeGroup {
	return []routeGroup{
		{VotingService, votingRoutes(), func(c *Config) bool { return c.Voting != nil }},
		{VotingService, votesRoutes(), func(c *Config) bool { return c.Voting != nil }},
		{VotingService, historyRoutes(), func(c *Config) bool { return c.Voting != nil }},
		{VotingService, pollRoutes(), func(c *Config) bool { return c.Voting != nil && c.PollLister != nil }},
		{AccumulationService, accumulationRoutes(), func(c *Config) bool { return c.Accumulation != nil }},
		{RankingService, rankingRoutes(), func(c *Config) bool { return c.Ranking != nil }},
		{StateService, stateRoutes(), func(c *Config) bool { return c.State != nil }},
		{StateService, configRoutes(), func(c *Config) bool { return c.State != nil }},
		{StateService, userInfoRoutes(), func(c *Config) bool { return c.State != nil }},
		{StateService, eventRoutes(), func(c *Config) bool { return c.Live != nil }},
		{StateService, messageRoutes(), func(c *Config) bool { return c.Messages != nil }},
		{StateService, storeRoutes(), func(c *Config) bool { return c.State != nil && c.Messages != nil }},
		{StateService, rosterRoutes(), func(c *Config) bool { return c.Roster != nil }},
		{StateService, pairingRoutes(), func(c *Config) bool { return c.State != nil && c.Pairing != nil }},
		{StateService, overlayRoutes(), func(c *Config) bool { return c.State != nil && c.Pairing != nil }},
		{StateService, datastreamRoutes(), func(c *Config) bool { return c.Messages != nil }},
		{StateService, purchaseRoutes(), func(c *Config) bool { return c.Purchases != nil && c.State != nil && c.Messages != nil }},
		{StateService, codeRoutes(), func(c *Config) bool { return c.State != nil }},
		{StateService, triviaRoutes(), func(c *Config) bool { return c.State != nil }},
		{SandboxService, sandboxRoutes(), func(c *Config) bool { return c.Sandbox != nil }},
	}
}

// routesOf returns the routes of the groups that keep returns true for.
func routesOf(keep func(routeGroup) bool) (routes []Route) {
	for _, g := range routeGroups() {
		if !keep(g) {
			continue
		}
		for _, route := range g.routes {
			route.Service = g.service
			routes = append(routes, route)
		}
	}
	return routes
}
