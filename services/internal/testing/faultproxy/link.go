package faultproxy

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Link is a TCP proxy in front of one server that knows nothing of what it forwards: the
// network between two processes that speak TLS.
type Link struct {
	listener net.Listener
	server   string
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu      sync.Mutex
	faults  LinkFaults
	changed chan struct{} // closed when the faults change
	conns   map[net.Conn]struct{}
}

// LinkFaults are the faults of a link from now on; the zero value has none.
type LinkFaults struct {
	// HoldRequests and HoldAnswers hold what clients send and what the server answers. When
	// that ends, the held bytes are delivered, late.
	HoldRequests, HoldAnswers bool
	// Delay is added to each segment that arrives, one after the other.
	Delay time.Duration
}

// StartLink listens on a port of this machine and forwards to a server, host:port, which need
// not be there yet.
func StartLink(ctx context.Context, server string) (*Link, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &Link{listener: listener, server: server, changed: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l.running.Go(l.acceptConnections)
	return l, nil
}

// Address returns where the link listens, host:port.
func (l *Link) Address() string { return l.listener.Addr().String() }

// SetFaults sets the faults of all connections, those to come included.
func (l *Link) SetFaults(faults LinkFaults) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = faults
	close(l.changed)
	l.changed = make(chan struct{})
}

// ResetConnections resets all connections.
func (l *Link) ResetConnections() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn := range l.conns {
		resetConnection(conn)
	}
}

// Close resets all connections and waits for all goroutines.
func (l *Link) Close() error {
	l.cancel()
	err := l.listener.Close()
	l.ResetConnections()
	l.running.Wait()
	return err
}

func (l *Link) acceptConnections() {
	for {
		client, err := l.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			l.running.Go(func() { l.serveConnection(client) })
		}
	}
}

// serveConnection forwards one connection until either end closes it or the link is reset.
func (l *Link) serveConnection(client net.Conn) {
	var dialer net.Dialer
	server, err := dialer.DialContext(l.ctx, "tcp", l.server)
	if err != nil {
		_ = client.Close()
		return
	}
	ends := []net.Conn{client, server}
	l.mu.Lock()
	for _, end := range ends {
		if l.conns[end] = struct{}{}; l.ctx.Err() != nil {
			resetConnection(end)
		}
	}
	l.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { l.forward(client, server, func(f LinkFaults) bool { return f.HoldRequests }) })
	both.Go(func() { l.forward(server, client, func(f LinkFaults) bool { return f.HoldAnswers }) })
	both.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, end := range ends {
		delete(l.conns, end)
	}
}

// forward forwards one direction, and ends both with it.
func (l *Link) forward(from, to net.Conn, held func(LinkFaults) bool) {
	defer func() {
		_, _ = from.Close(), to.Close()
	}()
	segment := make([]byte, 64<<10)
	for {
		n, err := from.Read(segment)
		if n > 0 {
			if l.awaitPassage(held) != nil {
				return
			}
			if _, err := to.Write(segment[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// awaitPassage waits for the delay of a segment and while its direction is held.
func (l *Link) awaitPassage(held func(LinkFaults) bool) error {
	l.mu.Lock()
	faults, changed := l.faults, l.changed
	l.mu.Unlock()
	if faults.Delay > 0 {
		timer := time.NewTimer(faults.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-changed:
		case <-l.ctx.Done():
			return l.ctx.Err()
		}
	}
	for held(faults) {
		select {
		case <-changed:
		case <-l.ctx.Done():
			return l.ctx.Err()
		}
		l.mu.Lock()
		faults, changed = l.faults, l.changed
		l.mu.Unlock()
	}
	return nil
}
