// Package faultproxy is a TCP proxy between a MongoDB driver and a server that
// injects the faults of networks: lost requests, lost answers, requests that arrive
// twice or late, silence, slowness.
//
// It understands the length, the ids and the command name of a wire message,
// nothing else. Only tests may import it.
package faultproxy

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Fault is a fault to inject into a command.
type Fault int

const (
	// None injects nothing.
	None Fault = iota
	// LoseRequest resets the connection before the command arrives.
	LoseRequest
	// LoseReply lets the server do the command, and resets the connection in place
	// of its answer.
	LoseReply
	// Repeat delivers the command twice and forwards the second answer, as if the
	// first had been lost and the command retried on a server that does not detect
	// retries.
	Repeat
	// Drip forwards the command and its answer a few bytes at a time.
	Drip
)

// Action is the decision of a Plan about a command.
type Action struct {
	Fault Fault
	// Delay is added before the answer.
	Delay time.Duration
}

// Plan chooses the fault for each command, by name. It runs before the command is
// forwarded and may block. Connections call it concurrently.
type Plan func(command string) Action

// Proxy forwards connections to one server.
type Proxy struct {
	listener net.Listener
	server   string
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu    sync.Mutex
	plan  Plan
	open  chan struct{} // closed while bytes pass
	pairs map[*connectionPair]struct{}
}

// Start listens on a port of this machine and forwards to a server, host:port.
func Start(ctx context.Context, server string) (*Proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, server: server, open: make(chan struct{}), pairs: map[*connectionPair]struct{}{}}
	close(p.open)
	p.Inject(nil)
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	p.running.Go(p.acceptConnections)
	return p, nil
}

// Address returns where the proxy listens, host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Inject sets the plan for the commands to come; nil forwards all.
func (p *Proxy) Inject(plan Plan) {
	if plan == nil {
		plan = func(string) Action { return Action{} }
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan = plan
}

// Blackhole stops all bytes in both directions; new connections are accepted and
// stopped too. When it ends, the held bytes are delivered, late.
func (p *Proxy) Blackhole(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
		if on {
			p.open = make(chan struct{})
		}
	default:
		if !on {
			close(p.open)
		}
	}
}

// Close resets all connections and waits for all goroutines.
func (p *Proxy) Close() error {
	p.cancel()
	err := p.listener.Close()
	p.ResetConnections()
	p.running.Wait()
	return err
}

// ResetConnections resets all connections.
func (p *Proxy) ResetConnections() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pairs {
		c.reset()
	}
}

func (p *Proxy) chooseAction(command string) Action {
	p.mu.Lock()
	plan := p.plan
	p.mu.Unlock()
	return plan(command)
}

// waitOpen waits until bytes may pass.
func (p *Proxy) waitOpen() error {
	p.mu.Lock()
	open := p.open
	p.mu.Unlock()
	select {
	case <-open:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// pauseFor waits for a delay that a plan asks for.
func (p *Proxy) pauseFor(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

func (p *Proxy) acceptConnections() {
	for {
		client, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			p.running.Go(func() { p.serveConnection(client) })
		}
	}
}

// serveConnection forwards one connection until either end closes it or a plan does.
func (p *Proxy) serveConnection(client net.Conn) {
	var dialer net.Dialer
	server, err := dialer.DialContext(p.ctx, "tcp", p.server)
	if err != nil {
		_ = client.Close()
		return
	}
	c := &connectionPair{proxy: p, client: client, server: server, actions: map[uint32]Action{}}
	p.mu.Lock()
	p.pairs[c] = struct{}{}
	ended := p.ctx.Err() != nil
	p.mu.Unlock()
	if ended {
		c.reset()
	}
	var both sync.WaitGroup
	both.Go(c.forwardRequests)
	both.Go(c.forwardReplies)
	both.Wait()
	p.mu.Lock()
	delete(p.pairs, c)
	p.mu.Unlock()
}
