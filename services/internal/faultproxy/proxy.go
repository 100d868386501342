// Package faultproxy is a TCP proxy between a MongoDB driver and a server, and
// lets happen between them what networks let happen: lost requests, lost
// answers, requests that arrive twice or late, silence, slowness.
//
// It understands no more of the wire protocol than where a message ends, which
// one answers which and what a command is called. Only tests may import it.
package faultproxy

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Fault is what befalls a command.
type Fault int

const (
	// None is the ordinary course of things.
	None Fault = iota
	// LoseRequest resets the connection before the command arrives.
	LoseRequest
	// LoseReply lets the server do the command, and resets the connection in place
	// of its answer.
	LoseReply
	// Repeat delivers the command twice and passes on the second answer, as if the
	// first had been lost and the command been retried on a server that keeps no
	// record of what it did.
	Repeat
	// Drip passes the command and its answer on a few bytes at a time.
	Drip
)

// Action is what a Plan decides about a command.
type Action struct {
	Fault Fault
	// Delay is how long its answer is held back.
	Delay time.Duration
}

// Plan decides what befalls each command, by name. It runs before the command
// goes on and may take its time. Connections ask it at the same time.
type Plan func(command string) Action

// Proxy passes connections on to one server.
type Proxy struct {
	listener net.Listener
	server   string
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu    sync.Mutex
	plan  Plan
	open  chan struct{} // closed while bytes pass
	pairs map[*pair]struct{}
}

// Start listens on a port of this machine for what is to go to a server,
// host:port.
func Start(ctx context.Context, server string) (*Proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, server: server, open: make(chan struct{}), pairs: map[*pair]struct{}{}}
	close(p.open)
	p.Inject(nil)
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	p.running.Go(p.accept)
	return p, nil
}

// Address returns where the proxy listens, host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Inject makes plan decide about the commands to come; nil lets all pass.
func (p *Proxy) Inject(plan Plan) {
	if plan == nil {
		plan = func(string) Action { return Action{} }
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan = plan
}

// Blackhole stops all bytes, in both directions and on new connections too, which
// are accepted. When it ends, what was held back arrives, late.
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

// Close resets all connections and waits until nothing runs any more.
func (p *Proxy) Close() error {
	p.cancel()
	err := p.listener.Close()
	p.Reset()
	p.running.Wait()
	return err
}

// Reset resets all connections.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pairs {
		c.reset()
	}
}

func (p *Proxy) decide(command string) Action {
	p.mu.Lock()
	plan := p.plan
	p.mu.Unlock()
	return plan(command)
}

// passable waits until bytes may pass.
func (p *Proxy) passable() error {
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

// pause waits for a delay that a plan asks for.
func (p *Proxy) pause(d time.Duration) error {
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

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			p.running.Go(func() { p.serve(client) })
		}
	}
}

// serve passes one connection on until either end closes it or a plan does.
func (p *Proxy) serve(client net.Conn) {
	var dialer net.Dialer
	server, err := dialer.DialContext(p.ctx, "tcp", p.server)
	if err != nil {
		_ = client.Close()
		return
	}
	c := &pair{proxy: p, client: client, server: server, fates: map[uint32]Action{}}
	p.mu.Lock()
	p.pairs[c] = struct{}{}
	ended := p.ctx.Err() != nil
	p.mu.Unlock()
	if ended {
		c.reset()
	}
	var both sync.WaitGroup
	both.Go(c.requests)
	both.Go(c.replies)
	both.Wait()
	p.mu.Lock()
	delete(p.pairs, c)
	p.mu.Unlock()
}
