// Package gamelink speaks GameLink, the protocol of games: JSON messages over a WebSocket.
//
//	upgrade ─▶ connection ─▶ request ─▶ operation ─▶ answer
//	                └── subscriptions ◀── live.Broker ──▶ pushes
//
// A request asks for the operation that the corresponding request over HTTP asks for, with the
// credential of the connection. So rules, limits, quotas, logs and durability are the same. The
// requests of one connection are answered in their order.
//
// The package knows no store and keeps nothing that a reconnect would miss.
package gamelink

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/operation"

	"github.com/coder/websocket"
	"golang.org/x/sync/semaphore"

	"github.com/acclaim-dev/acclaim/services/internal/feed/live"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/match"
	"github.com/acclaim-dev/acclaim/services/pairing"
	"github.com/acclaim-dev/acclaim/services/purchase"
)

// Live accepts subscriptions to events.
type Live interface {
	Subscribe(ctx context.Context, s live.Subscription) (*live.Subscriber, error)
}

// Pairing is the part of package pairing that games use.
type Pairing interface {
	UsePIN(ctx context.Context, o pairing.Owner, pin string, keys []string, now time.Time) (pairing.Grant, error)
	UseRefresh(ctx context.Context, o pairing.Owner, token string, keys []string, now time.Time) (pairing.Grant, error)
	IssueRefresh(ctx context.Context, c pairing.Channel, by pairing.Request, now time.Time) (pairing.Grant, error)
	Resolve(ctx context.Context, c pairing.Channel, t pairing.Token, keys []string) (channel string, err error)
}

// Purchases is the part of package purchase that games use.
type Purchases interface {
	Open(ctx context.Context, c purchase.Channel, sku string) ([]purchase.Transaction, error)
	Validate(ctx context.Context, c purchase.Channel, id string) error
	Refund(ctx context.Context, c purchase.Channel, userID, id, sku string) error
}

// Matches is the part of package match that knows matches and their channels.
type Matches interface {
	Create(ctx context.Context, n match.Name, now time.Time) error
	Keep(ctx context.Context, n match.Name, now time.Time) error
	Named(ctx context.Context, n match.Name, now time.Time) (match.Match, error)
	Read(ctx context.Context, n match.Name, now time.Time) (match.Match, error)
	AddChannels(ctx context.Context, n match.Name, ids []string, now time.Time) (m match.Match, added []string, err error)
	RemoveChannels(ctx context.Context, n match.Name, ids []string, now time.Time) error
}

// MatchPolls is the part of package match that knows the polls of matches.
type MatchPolls interface {
	SetPoll(ctx context.Context, n match.Name, id string, p match.Poll, now time.Time) (match.Match, error)
	ChangePoll(ctx context.Context, n match.Name, id string, now time.Time, change func(match.Poll) (match.Poll, error)) (match.Match, error)
	DeletePoll(ctx context.Context, n match.Name, id string, now time.Time) (match.Match, error)
}

// Options configure a server.
type Options struct {
	Environment tenant.Environment
	// Registry returns the extensions as they are now.
	Registry func() *tenant.Registry
	Now      func() time.Time
	Logger   *slog.Logger
	// Operations answer the requests of games.
	Operations *operation.Service
	Live       Live
	Pairing    Pairing
	Purchases  Purchases
	Matches    Matches
	MatchPolls MatchPolls
	// Budgets bound the bytes of messages, together with the bodies of requests.
	Budgets *operation.Budgets
	// Unauthenticated limits the connections that have not authenticated, 1,024 when 0.
	Unauthenticated int
	// Ledger counts refused credentials of addresses. Watch notes who is refused.
	Ledger *limit.Ledger
	Watch  *limit.Watch
	// Client returns the address of a request's client; ok is false where it is unknown.
	Client func(r *http.Request) (client netip.Prefix, ok bool)
}

// Bounds of what connections hold.
const (
	// turnedAway limits the connections that wait to be turned away. Further ones are closed at
	// once.
	turnedAway = 256
	// makingRoom limits the connections that receive a reason when they make room for others.
	makingRoom = 64
)

// Intervals.
const (
	silentFor    = 45 * time.Second // after a ping
	writeTimeout = 30 * time.Second
	// unansweredFor limits the wait of a client that is turned away: the Unity client gives up
	// for good when it is refused, but not when an attempt times out after 5 s.
	unansweredFor = 6 * time.Second
)

// Server accepts connections of one environment.
type Server struct {
	options   Options
	kinds     map[[2]string]kind
	strangers *strangerTable
	waiting   *semaphore.Weighted // places of connections that are turned away
	leaving   *semaphore.Weighted // places of those that make room and send a reason
	reads     *pollReads
	counters  serverCounters

	mu          sync.Mutex
	connections map[*connection]struct{}
	draining    bool
	work        sync.WaitGroup
}

// serverCounters are the figures of a server.
type serverCounters struct {
	requests, pushes, pollReads, slow, refused, displaced atomic.Uint64
}

// Stats are figures of a server.
type Stats struct {
	Connections, Unauthenticated    int64
	Requests, Pushes, Slow, Refused uint64
	PollReads                       uint64 // because of events about polls, each for all games that may see the same
	Displaced                       uint64 // games that did not authenticate and made room for others
}

// New returns a server. Close ends it.
func New(options Options) *Server {
	if options.Ledger == nil {
		options.Ledger = limit.NewLedger(func() int { return 1 }, options.Watch)
	}
	return &Server{
		options: options, kinds: requestKinds(),
		reads:       newPollReads(),
		strangers:   newStrangerTable(cmp.Or(options.Unauthenticated, 1024)),
		waiting:     semaphore.NewWeighted(turnedAway),
		leaving:     semaphore.NewWeighted(makingRoom),
		connections: map[*connection]struct{}{},
	}
}

// Stats returns the figures of the server.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{
		Connections: int64(len(s.connections)), Unauthenticated: s.strangers.size(),
		Requests: s.counters.requests.Load(), Pushes: s.counters.pushes.Load(), PollReads: s.counters.pollReads.Load(),
		Slow: s.counters.slow.Load(), Refused: s.counters.refused.Load(), Displaced: s.counters.displaced.Load(),
	}
}

var paths = regexp.MustCompile(`^/[0-9]+\.[0-9]+\.[0-9]+/(?:[A-Za-z0-9._~-]{1,64}/[A-Za-z0-9._~-]{1,64}/)?([A-Za-z0-9._~-]{1,100})$`)

// extensionOf returns the extension that a path names by its client id or one of its app ids.
func (s *Server) extensionOf(path string) (*tenant.Extension, bool) {
	match := paths.FindStringSubmatch(path)
	if match == nil {
		return nil, false
	}
	return s.find(match[1])
}

func (s *Server) find(id string) (*tenant.Extension, bool) {
	if extension, ok := s.options.Registry().ByClientID(id); ok {
		return extension, true
	}
	return s.options.Registry().ByAppID(id)
}

// ServeHTTP implements [http.Handler]. It serves a connection until it ends.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	extension, ok := s.extensionOf(r.URL.Path)
	if !ok {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"reason":"No such extension found"}`))
		return
	}
	client, known := s.options.Client(r)
	if !known {
		client = netip.Prefix{}
	}
	if s.isDraining() || !s.admit(extension.ClientID, client) {
		s.counters.refused.Add(1)
		s.turnAway(r)
		return
	}
	socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // any Origin: the credential is in a message
	if err != nil {
		return // it has answered
	}
	socket.SetReadLimit(contract.MaxUnauthenticatedMessage)
	c := newConnection(s, socket, extension, r, client)
	if !s.add(c) {
		c.end(websocket.StatusGoingAway, "this process is shutting down")
		return
	}
	defer s.remove(c)
	defer s.strangers.remove(c)
	if displaced := s.strangers.add(c, s.options.Now()); displaced != nil {
		s.options.Watch.Note(unauthenticatedGames, limit.Everyone, s.who(displaced.extension.ClientID))
		s.work.Go(displaced.makeRoom) // it waits for the client
	}
	c.run()
}

// admit reports whether an address may have another connection that is not authenticated. While
// all places are taken each such connection ends another one, which costs several times what it
// costs to turn it away; so an address may do that at a rate.
func (s *Server) admit(extension string, client netip.Prefix) bool {
	switch {
	case !client.IsValid():
		return true
	case !s.strangers.hasRoom(client):
		s.options.Watch.Note(unauthenticatedGames, limit.Address, s.who(extension))
		return false
	case !s.strangers.isFull():
		return true
	}
	displacements := limit.Rate{PerSecond: contract.DisplacementsPerSecond, Burst: contract.MaxUnauthenticated}
	return s.take(limit.Displacements, displacements, extension, client)
}

// turnAway leaves an upgrade unanswered and then closes the connection.
func (s *Server) turnAway(r *http.Request) {
	if !s.waiting.TryAcquire(1) {
		panic(http.ErrAbortHandler)
	}
	defer s.waiting.Release(1)
	wait := time.NewTimer(unansweredFor)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-r.Context().Done():
	}
	panic(http.ErrAbortHandler)
}

func (s *Server) isDraining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

func (s *Server) add(c *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return false
	}
	s.connections[c] = struct{}{}
	s.work.Add(1)
	return true
}

func (s *Server) remove(c *connection) {
	s.mu.Lock()
	delete(s.connections, c)
	s.mu.Unlock()
	s.work.Done()
}

// Drain closes every connection, to reconnect to another process, and accepts no more.
func (s *Server) Drain() {
	s.mu.Lock()
	s.draining = true
	var all []*connection
	for c := range s.connections {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		go c.end(websocket.StatusGoingAway, "this process is shutting down") // each waits for its client
	}
}

// Close drains the server and waits until every connection has ended, or ctx is done.
func (s *Server) Close(ctx context.Context) error {
	s.Drain()
	ended := make(chan struct{})
	go func() { s.work.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// guessesOfAddress is the rate of credentials that an address may try after refused ones.
func guessesOfAddress() limit.Rate { return limit.Per(contract.MaxGuessesPerMinute, time.Minute) }

// admitGuess reports whether an address may try another credential after refused ones.
func (s *Server) admitGuess(extension string, client netip.Prefix) bool {
	return s.take(limit.Guesses, guessesOfAddress(), extension, client)
}

// take takes one from a rate of an address, and reports whether there was one.
func (s *Server) take(kind limit.Kind, rate limit.Rate, extension string, client netip.Prefix) bool {
	return s.options.Ledger.Take(s.options.Now(), s.who(extension), limit.Claim{
		Kind: kind, Holder: string(s.options.Environment) + "\x00" + client.String(), Scope: limit.Address, Rate: rate, Amount: 1,
	}) == nil
}

// who names a client of an extension where it is refused.
func (s *Server) who(extension string) limit.Caller {
	return limit.Caller{Environment: string(s.options.Environment), Extension: extension}
}

// NewHandler serves production below / and, where there is one, the sandbox below /sandbox/.
func NewHandler(servers map[tenant.Environment]*Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		box, production := servers[tenant.Sandbox], servers[tenant.Production]
		switch below, ok := strings.CutPrefix(r.URL.Path, "/sandbox/"); {
		case ok && box != nil:
			r.URL.Path = "/" + below
			box.ServeHTTP(w, r)
		case production != nil:
			production.ServeHTTP(w, r)
		default:
			box.ServeHTTP(w, r)
		}
	})
}
