// Package faultproxy is a TCP proxy between a MongoDB driver and a server that
// injects the faults of networks: lost requests, lost answers, requests that arrive
// twice or late, silence, slowness.
//
// It understands the length, the ids and the command name of a wire message,
// nothing else. Only tests may import it.
package faultproxy

import (
	"context"
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
	relay

	mu   sync.Mutex
	plan Plan
	open chan struct{} // closed while bytes pass
}

// Start listens on a port of this machine and forwards to a server, host:port.
func Start(ctx context.Context, server string) (*Proxy, error) {
	p := &Proxy{open: make(chan struct{})}
	close(p.open)
	p.Inject(nil)
	return p, p.start(ctx, server, p.forwardBoth)
}

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

// forwardBoth forwards both directions of a connection until a plan ends it.
func (p *Proxy) forwardBoth(client, server net.Conn) {
	c := &connectionPair{proxy: p, client: client, server: server, actions: map[uint32]Action{}}
	var both sync.WaitGroup
	both.Go(c.forwardRequests)
	both.Go(c.forwardReplies)
	both.Wait()
}
