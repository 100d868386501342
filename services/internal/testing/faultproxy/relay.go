package faultproxy

import (
	"context"
	"net"
	"sync"
)

// relay connects each of its clients to one server. What passes between the two is up to
// those that embed it.
type relay struct {
	listener net.Listener
	server   string
	forward  func(client, server net.Conn) // until either end closes the connection
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup

	connsMu sync.Mutex
	conns   map[net.Conn]struct{}
}

// start listens on a port of this machine.
func (r *relay) start(ctx context.Context, server string, forward func(client, server net.Conn)) (err error) {
	if r.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	r.server, r.forward, r.conns = server, forward, map[net.Conn]struct{}{}
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	r.running.Go(r.acceptConnections)
	return nil
}

// Address returns where clients connect, host:port.
func (r *relay) Address() string { return r.listener.Addr().String() }

// ResetConnections resets all connections.
func (r *relay) ResetConnections() {
	r.connsMu.Lock()
	defer r.connsMu.Unlock()
	for conn := range r.conns {
		resetConnection(conn)
	}
}

// Close resets all connections and waits for all goroutines.
func (r *relay) Close() error {
	r.cancel()
	err := r.listener.Close()
	r.ResetConnections()
	r.running.Wait()
	return err
}

// acceptConnections serves connections until it cannot accept one. The listener is closed then: clients
// are refused and do not wait for a server.
func (r *relay) acceptConnections() {
	defer func() { _ = r.listener.Close() }()
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.running.Go(func() { r.serveConnection(client) })
	}
}

// serveConnection forwards one connection until either end closes it or it is reset.
func (r *relay) serveConnection(client net.Conn) {
	var dialer net.Dialer
	server, err := dialer.DialContext(r.ctx, "tcp", r.server)
	if err != nil {
		_ = client.Close()
		return
	}
	ends := []net.Conn{client, server}
	r.connsMu.Lock()
	for _, end := range ends {
		if r.conns[end] = struct{}{}; r.ctx.Err() != nil {
			resetConnection(end)
		}
	}
	r.connsMu.Unlock()
	r.forward(client, server)
	r.connsMu.Lock()
	defer r.connsMu.Unlock()
	for _, end := range ends {
		delete(r.conns, end)
	}
}

func resetConnection(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a reset, not an end: nothing more is delivered
	}
	_ = conn.Close()
}
