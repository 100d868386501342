package app

import (
	"log/slog"
	"slices"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/feed/live"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// resourceLimits divide what the process has among what requests hold.
type resourceLimits struct {
	memory               int64 // bytes, of the whole process
	connections          int64 // of the API
	games                int64 // connections of the listener for games
	unauthenticatedGames int64 // connections of games that have not authenticated
	perAddress           int64 // connections, or requests behind a proxy, of one client address
	requests             int64 // under way
	subscribers          int64
	sources              int64 // that subscribers name
	bodies               int64 // bytes
	histories            int64 // bytes
	resident             int64 // bytes of the states of one domain
	voteKeys             int64 // bytes of keys of requests that vote
}

const (
	// defaultMemory is the memory of a process without a memory budget, in bytes.
	defaultMemory = 1 << 30
	// minMemory is the least memory budget, in bytes.
	minMemory = 64 << 20
	// defaultDescriptors are the open files of a process whose limit is unknown.
	defaultDescriptors = 1024
	// reservedDescriptors are for the store's files, the other processes, the sinks and
	// the admin listener: 500 tables of the embedded store and what else is open.
	reservedDescriptors = 768
	// connectionBytes is the memory that a connection may take, or a subscriber that shares one: some
	// 29 KiB over HTTP/2.
	connectionBytes = 32 << 10
	// sourceBytes is the memory for each source that subscribers may name: a source
	// takes some 5 KiB, and all of them a third of the memory at most.
	sourceBytes   = 16 << 10
	maxPerAddress = 1024
	// adminConnections limits the connections of the admin listener.
	adminConnections = 64
	maxResident      = 512 << 20
	maxVoteKeys      = 1 << 30
	// residentDomains is the number of domains that keep states in memory.
	residentDomains = 5
	maxBodyBudget   = 1 << 30
	minBodyBudget   = 16 << 20
)

// divideResources returns the limits for a memory budget in bytes and a number of file
// descriptors. Each connection has memory for itself, as has each subscriber: those that share
// connections may be more than there are descriptors. The states of the domains get 40 % of the
// memory together, the keys of votes up to a sixth, bodies a sixteenth, and folded logs an eighth.
func divideResources(memory, descriptors int64, perAddress int) resourceLimits {
	if memory <= 0 {
		memory = defaultMemory
	}
	clients := memory / connectionBytes
	l := resourceLimits{
		memory:      memory,
		connections: min(descriptors-min(max(reservedDescriptors, descriptors/8), descriptors/2), clients),
		sources:     memory / sourceBytes,
		bodies:      min(max(memory/16, minBodyBudget), maxBodyBudget),
		histories:   memory / 8,
		resident:    min(memory*2/5/residentDomains, maxResident),
		voteKeys:    min(memory/6, maxVoteKeys),
	}
	l.perAddress = min(max(l.connections/8, 1), maxPerAddress)
	if perAddress > 0 {
		l.perAddress = int64(perAddress)
	}
	l.unauthenticatedGames = max(l.connections/8, 1)
	l.requests = l.connections + clients // on shared connections there may be more of them than connections
	l.subscribers = min(clients*9/10, contract.MaxSubscribers)
	return l
}

// shareWithGames gives the listener for games a half of the connections, so that neither takes
// those of the other.
func (l *resourceLimits) shareWithGames() {
	l.games = l.connections / 2
	l.connections -= l.games
}

// keyedVotes returns the number of votes a second whose keys the process keeps for as long as it
// promises, where a vote needs room for its key.
func (l *resourceLimits) keyedVotes() int64 {
	return l.voteKeys / stream.KeySize / int64(contract.MinKeyLifetime.Seconds())
}

// newBudgets returns the budgets of requests.
func (l resourceLimits) newBudgets(watch *limit.Watch) *operation.Budgets {
	return operation.NewBudgets(operation.BudgetLimits{
		Requests: l.requests, PerAddress: l.perAddress, BodyBytes: l.bodies, HistoryBytes: l.histories, Watch: watch,
	})
}

// quotas returns the quotas of subscribers. Beside production, the sandbox is minor.
func (l resourceLimits) quotas(environments []tenant.Environment, ledger *limit.Ledger, watch *limit.Watch) live.Quotas {
	q := live.Quotas{Subscribers: l.subscribers, Connections: l.connections * 9 / 10, Sources: l.sources, Ledger: ledger, Watch: watch}
	if len(environments) > 1 {
		q.Minor = string(tenant.Sandbox)
	}
	return q
}

func (l resourceLimits) log(logger *slog.Logger) {
	logger.Info("limits", "memory_bytes", l.memory, "connections", l.connections, "game_connections", l.games, "unauthenticated_games", l.unauthenticatedGames, "connections_per_address", l.perAddress,
		"requests", l.requests, "subscribers", l.subscribers, "sources", l.sources, "body_bytes", l.bodies, "history_bytes", l.histories, "resident_bytes_per_domain", l.resident,
		"vote_keys", l.voteKeys/stream.KeySize, "keyed_votes_per_second", l.keyedVotes())
}

// listExhausted returns the names of the budgets that are used up. Clients without a credential can use some up, so
// none of them makes the process unready.
func (p *Process) listExhausted() (names []string) {
	for name, s := range p.watch.Pools() {
		if s.Used >= s.Limit {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
