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
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// Config says what a node is made of.
type Config struct {
	Registry Registry
	// Listener is where the other members send requests. The node closes it.
	Listener net.Listener
	// Advertise is the address, as host:port, at which they reach it; that of
	// Listener when empty.
	Advertise string
	// Serves lists prefixes of the names of the streams that may be at home here.
	Serves []string
	// Engines deal with requests, by the first element of their streams' names.
	Engines map[string]Serve
	Logger  *slog.Logger
}

// Node is this process among its peers.
type Node struct {
	config   Config
	identity identity
	self     Member
	view     atomic.Pointer[view]
	left     atomic.Bool
	// strangers bounds how often an unknown certificate makes the node read the
	// registry out of turn.
	strangers *rate.Limiter
	reading   sync.Mutex
}

// New returns a node. Nobody knows of it before Join.
func New(config Config) (*Node, error) {
	self, err := newIdentity()
	if err != nil {
		return nil, fmt.Errorf("peer: make a certificate: %w", err)
	}
	if config.Advertise == "" {
		address, ok := config.Listener.Addr().(*net.TCPAddr)
		if !ok || address.IP.IsUnspecified() {
			return nil, errors.New("a listener for peers on every address needs to be told at which of them it is reached")
		}
		config.Advertise = address.String()
	}
	n := &Node{
		config:    config,
		identity:  self,
		strangers: rate.NewLimiter(rate.Every(beatEvery), 5),
		self:      Member{ID: rand.Text(), Address: config.Advertise, Digest: self.digest, Serves: config.Serves},
	}
	n.view.Store(&view{})
	return n, nil
}

// Join makes the node known to the others and the others known to it.
func (n *Node) Join(ctx context.Context) error { return n.beat(ctx) }

// Run beats, watches the others and answers them until ctx is done.
func (n *Node) Run(ctx context.Context) error {
	server := n.server()
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	failed := make(chan error, 1)
	go func() { failed <- server.ServeTLS(n.config.Listener, "", "") }()
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			err := server.Close()
			if ended := <-failed; !errors.Is(ended, http.ErrServerClosed) {
				err = errors.Join(err, ended)
			}
			n.disconnect()
			return err
		case err := <-failed:
			return fmt.Errorf("peer: %w", err)
		case <-ticker.C:
		}
		if err := n.beat(ctx); err != nil && ctx.Err() == nil {
			n.config.Logger.Warn("the registry of peers cannot be reached", "error", err)
		}
		n.probe(ctx)
	}
}

// Leave tells the others to send nothing any more, what is under way excepted.
// The node still passes on what is at home elsewhere.
func (n *Node) Leave(ctx context.Context) error {
	n.left.Store(true)
	if err := n.config.Registry.Leave(ctx, n.self.ID); err != nil {
		return fmt.Errorf("peer: leave: %w", err)
	}
	return n.read(ctx)
}

// beat writes this member's record, unless it has left, and reads the others'.
func (n *Node) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, aliveFor/2)
	defer cancel()
	if !n.left.Load() {
		n.self.Beat++
		if err := n.config.Registry.Beat(ctx, n.self); err != nil {
			return fmt.Errorf("peer: beat: %w", err)
		}
	}
	return n.read(ctx)
}

// read takes over who is in the registry.
func (n *Node) read(ctx context.Context) error {
	n.reading.Lock()
	defer n.reading.Unlock()
	members, err := n.config.Registry.Members(ctx)
	if err != nil {
		return fmt.Errorf("peer: read members: %w", err)
	}
	before := n.view.Load()
	after, gone := before.next(n, members, time.Now())
	n.view.Store(after)
	for _, k := range before.members {
		if k.link != nil && !after.has(k.ID) {
			k.link.close()
		}
	}
	for _, id := range gone {
		if err := n.config.Registry.Leave(ctx, id); err != nil {
			return fmt.Errorf("peer: remove %s: %w", id, err)
		}
	}
	return nil
}

// probe looks after the members that could not be reached.
func (n *Node) probe(ctx context.Context) {
	var probes sync.WaitGroup
	for _, k := range n.view.Load().members {
		if k.link != nil && k.link.down.Load() {
			probes.Go(func() { k.link.probe(ctx) })
		}
	}
	probes.Wait()
}

// disconnect closes the connections to all the others.
func (n *Node) disconnect() {
	for _, k := range n.view.Load().members {
		if k.link != nil {
			k.link.close()
		}
	}
}

// accepts reports whether a certificate with that digest is a member's. A member
// may be so young that the registry has to be asked.
func (n *Node) accepts(digest []byte) bool {
	if n.view.Load().digests[string(digest)] {
		return true
	}
	if !n.strangers.Allow() {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), silence)
	defer cancel()
	return n.read(ctx) == nil && n.view.Load().digests[string(digest)]
}

// Peers returns the other processes as the engine for streams whose names begin
// with kind sees them.
func (n *Node) Peers(kind string) stream.Peers { return peers{n, kind} }

type peers struct {
	node *Node
	kind string
}

// Owner implements [stream.Peers].
func (p peers) Owner(name string) stream.Peer {
	owner := p.node.view.Load().owner(name, time.Now())
	if owner == nil || owner.link == nil || owner.link.down.Load() {
		return nil
	}
	return route{owner.link, p.kind}
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

func (v *view) has(id string) bool {
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

// noHTTP2 keeps the server to HTTP/1.1: there is one request at a time on a
// connection.
func noHTTP2() map[string]func(*http.Server, *tls.Conn, http.Handler) {
	return map[string]func(*http.Server, *tls.Conn, http.Handler){}
}
