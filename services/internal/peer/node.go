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
	// alarm asks for a beat out of turn, when a member was found unreachable.
	alarm chan struct{}
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
		alarm:     make(chan struct{}, 1),
		strangers: rate.NewLimiter(rate.Every(beatEvery), 5),
		self:      Member{ID: rand.Text(), Address: config.Advertise, Digest: self.digest, Serves: config.Serves},
	}
	n.view.Store(&view{})
	return n, nil
}

// Join makes the node known to the others and the others known to it. Those who
// can be reached look into the registry when they are greeted by a stranger.
func (n *Node) Join(ctx context.Context) error {
	if err := n.beat(ctx); err != nil {
		return err
	}
	n.probe(ctx)
	return nil
}

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
		case <-n.alarm: // somebody should know soon
		case <-ticker.C:
			n.probe(ctx)
		}
		if err := n.beat(ctx); err != nil && ctx.Err() == nil {
			n.config.Logger.Warn("the registry of peers cannot be reached", "error", err)
		}
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
		n.self.Unreachable = n.view.Load().unreachable()
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

// probe finds out which members can be reached. Those that are asked all the
// time anyway are left alone.
func (n *Node) probe(ctx context.Context) {
	var probes sync.WaitGroup
	for _, k := range n.view.Load().members {
		if k.link != nil && !k.link.used.Swap(false) {
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

// Rivals implements [stream.Peers]: when a stream is at home with a member that
// another cannot reach, all that are alive are taken for rivals.
func (p peers) Rivals(name string) int {
	v, now := p.node.view.Load(), time.Now()
	owner := v.owner(name, now)
	if owner == nil || owner.link == nil && !v.avoided[owner.ID] {
		return 0
	}
	return v.alive(now) - 1
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

func (v *view) unreachable() (ids []string) {
	for _, k := range v.members {
		if k.link != nil && k.link.down.Load() {
			ids = append(ids, k.ID)
		}
	}
	return ids
}

func (v *view) alive(now time.Time) (n int) {
	for _, k := range v.members {
		if now.Sub(k.changed) < aliveFor {
			n++
		}
	}
	return n
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
