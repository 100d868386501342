package peer

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
)

// Config holds the parts and settings of a node.
type Config struct {
	Registry Membership
	// Listener accepts the requests of the other members. The node closes it.
	Listener net.Listener
	// Dial connects to other members, as [net.Dialer.DialContext] does, which it is when nil.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Advertise is the address, as host:port, at which they reach it; that of
	// Listener when empty.
	Advertise string
	// Serves lists prefixes of the names of the streams that this process may own.
	Serves []string
	Logger *slog.Logger
	// Watch notes who is refused a connection; nil for none.
	Watch *limit.Watch
}

// Node is this process among its peers.
type Node struct {
	config   Config
	engines  map[string]ServeFunc // by kind of streams
	identity nodeIdentity
	wire     string // version of requests
	self     Member
	view     atomic.Pointer[memberView]
	left     atomic.Bool
	written  writtenLog
	// sent and received count requests of all connections.
	sent, received trafficCounters
	pools          connectionPools
	// refreshLimiter bounds how often an unknown certificate makes the node read the
	// membership at once.
	refreshLimiter *rate.Limiter
	// reading lets one caller at a time read the membership. It takes as long as the database.
	reading *semaphore.Weighted
	// wake asks for a heartbeat at once, when a member was found unreachable.
	wake chan struct{}
}

// New returns a node. The other processes learn of it with Join.
func New(config Config) (*Node, error) {
	self, err := newIdentity()
	if err != nil {
		return nil, fmt.Errorf("peer: make a certificate: %w", err)
	}
	if config.Advertise == "" {
		address, ok := config.Listener.Addr().(*net.TCPAddr)
		if !ok || address.IP.IsUnspecified() {
			return nil, errors.New("a listener for peers on every address needs the address at which peers reach it")
		}
		config.Advertise = address.String()
	}
	if config.Dial == nil {
		config.Dial = (&net.Dialer{}).DialContext
	}
	n := &Node{
		config:         config,
		engines:        map[string]ServeFunc{},
		identity:       self,
		pools:          newConnectionPools(config.Watch),
		wire:           wireVersion,
		wake:           make(chan struct{}, 1),
		reading:        semaphore.NewWeighted(1),
		refreshLimiter: rate.NewLimiter(rate.Every(heartbeatInterval), 5),
		self:           Member{ID: rand.Text(), Address: config.Advertise, Digest: self.digest, Serves: config.Serves, Level: stream.CurrentLevel},
	}
	n.view.Store(&memberView{})
	n.Handle(writtenEngine, n.written.serve)
	return n, nil
}

// Handle lets an engine answer requests for a kind of streams, before Run.
func (n *Node) Handle(kind string, engine ServeFunc) { n.engines[kind] = engine }

// Join makes the node known to the others and the others known to it. A reachable
// member reads the membership when it sees an unknown certificate.
func (n *Node) Join(ctx context.Context) error {
	if err := n.writeHeartbeat(ctx); err != nil {
		return err
	}
	n.probeMembers(ctx)
	return nil
}

// Run writes heartbeats, watches the others and answers them until ctx is done or the listener
// fails. When it returns, the connections to the members that it knows are closed for good.
func (n *Node) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer n.closeLinks()
	defer cancel() // ends the connections of the others
	server := n.newServer()
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	failed := make(chan error, 1)
	listener := admittingListener{n.config.Listener, n.pools, n.countMembersAt}
	go func() { failed <- server.ServeTLS(listener, "", "") }()
	ticker := time.NewTicker(heartbeatInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			err := server.Close()
			if ended := <-failed; !errors.Is(ended, http.ErrServerClosed) {
				err = errors.Join(err, ended)
			}
			return err
		case err := <-failed:
			return fmt.Errorf("peer: %w", err)
		case <-n.wake: // a member was found unreachable
		case <-ticker.C:
			n.probeMembers(ctx)
		}
		if err := n.writeHeartbeat(ctx); err != nil && ctx.Err() == nil {
			n.config.Logger.Warn("the membership cannot be read or written", "error", err)
		}
	}
}

// Leave tells the others to send nothing any more, what is under way excepted.
// The node still forwards commands for streams that others own.
func (n *Node) Leave(ctx context.Context) error {
	n.left.Store(true)
	if err := n.config.Registry.Leave(ctx, n.self.ID); err != nil {
		return fmt.Errorf("peer: leave: %w", err)
	}
	return n.readMembership(ctx)
}

// writeHeartbeat writes this member's record, unless it has left, and reads the others'.
func (n *Node) writeHeartbeat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, aliveFor/2)
	defer cancel()
	if !n.left.Load() {
		n.self.Heartbeat++
		n.self.Unreachable = n.view.Load().unreachableIDs()
		if err := n.config.Registry.WriteHeartbeat(ctx, n.self); err != nil {
			return fmt.Errorf("peer: heartbeat: %w", err)
		}
	}
	return n.readMembership(ctx)
}

// readMembership updates the view from the membership.
func (n *Node) readMembership(ctx context.Context) error {
	if err := n.reading.Acquire(ctx, 1); err != nil {
		return err
	}
	defer n.reading.Release(1)
	members, err := n.config.Registry.Members(ctx)
	if err != nil {
		return fmt.Errorf("peer: read members: %w", err)
	}
	before := n.view.Load()
	after, gone := before.nextView(n, members, time.Now())
	n.view.Store(after)
	for _, k := range before.members {
		if k.link != nil && !after.hasMember(k.ID) {
			k.link.retire()
		}
	}
	for _, id := range gone {
		if err := n.config.Registry.Leave(ctx, id); err != nil {
			return fmt.Errorf("peer: remove %s: %w", id, err)
		}
	}
	return nil
}

// probeMembers finds out which members can be reached. It skips members that were
// reached since the last heartbeat.
func (n *Node) probeMembers(ctx context.Context) {
	var probes sync.WaitGroup
	for _, k := range n.view.Load().members {
		if k.link != nil && !k.link.used.Swap(false) {
			probes.Go(func() { k.link.probeMember(ctx) })
		}
	}
	probes.Wait()
}

// closeLinks closes the connections to all the others.
func (n *Node) closeLinks() {
	for _, k := range n.view.Load().members {
		if k.link != nil {
			k.link.close()
		}
	}
}

// acceptsDigest reports whether a certificate with that digest is a member's. A member
// may be so new that only the database knows it.
func (n *Node) acceptsDigest(digest []byte) bool {
	if n.view.Load().digests[string(digest)] {
		return true
	}
	if !n.refreshLimiter.Allow() {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), silence)
	defer cancel()
	return n.readMembership(ctx) == nil && n.view.Load().digests[string(digest)]
}

// Peers returns the other processes as the engine for streams whose names begin
// with kind sees them.
func (n *Node) Peers(kind string) stream.Peers { return kindPeers{n, kind} }

type kindPeers struct {
	node *Node
	kind string
}

// Owner implements [stream.Peers].
func (p kindPeers) Owner(name string) stream.Peer {
	owner := p.node.view.Load().ownerOf(name, time.Now())
	if owner == nil || owner.link == nil || owner.link.down.Load() {
		return nil
	}
	return engineRoute{owner.link, p.kind}
}

// Contenders implements [stream.Peers]: when a stream is owned by a member that
// another cannot reach, all that are alive count as contenders.
func (p kindPeers) Contenders(name string) int {
	v, now := p.node.view.Load(), time.Now()
	owner := v.ownerOf(name, now)
	if owner == nil || owner.link == nil && !v.avoided[owner.ID] {
		return 0
	}
	return v.countAlive(now) - 1
}

// Count returns how many members are alive, this one included, and how many of
// those cannot be reached.
func (n *Node) Count() (alive, unreachable int) {
	now := time.Now()
	for _, k := range n.view.Load().members {
		if now.Sub(k.changed) >= aliveFor {
			continue
		}
		alive++
		if k.link != nil && k.link.down.Load() {
			unreachable++
		}
	}
	return alive, unreachable
}

// Read reports whether every member that is alive reads the commands of a level.
func (n *Node) Read(level stream.Level) bool {
	now := time.Now()
	for _, k := range n.view.Load().members {
		if now.Sub(k.changed) < aliveFor && k.Level < level {
			return false
		}
	}
	return level <= n.self.Level
}

// Replicas returns how many members are alive that serve some of the streams which this
// one serves, this one included.
func (n *Node) Replicas() (alive int) {
	now := time.Now()
	for _, k := range n.view.Load().members {
		if now.Sub(k.changed) < aliveFor && slices.ContainsFunc(n.self.Serves, k.servesStream) {
			alive++
		}
	}
	return alive
}

func (v *memberView) unreachableIDs() (ids []string) {
	for _, k := range v.members {
		if k.link != nil && k.link.down.Load() {
			ids = append(ids, k.ID)
		}
	}
	return ids
}

func (v *memberView) countAlive(now time.Time) (n int) {
	for _, k := range v.members {
		if now.Sub(k.changed) < aliveFor {
			n++
		}
	}
	return n
}

func (v *memberView) hasMember(id string) bool {
	for _, k := range v.members {
		if k.ID == id {
			return true
		}
	}
	return false
}

func (n *Node) errorLog() *log.Logger {
	return slog.NewLogLogger(n.config.Logger.Handler(), slog.LevelDebug)
}

// noHTTP2 keeps the server to HTTP/1.1, which has the upgrade.
func noHTTP2() map[string]func(*http.Server, *tls.Conn, http.Handler) {
	return map[string]func(*http.Server, *tls.Conn, http.Handler){}
}
