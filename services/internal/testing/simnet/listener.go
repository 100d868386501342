package simnet

import "net"

// listener accepts connections.
type listener struct {
	host    *Host
	port    int
	waiting []*conn
	closed  bool
	changed chan struct{}
}

// connect returns the end of a new connection from a host. n.mu is held.
func (l *listener) connect(from *Host) *conn {
	from.port++
	n := l.host.network
	a := &conn{network: n, local: from, remote: l.host, from: from.at(from.port), to: l.host.at(l.port), changed: make(chan struct{})}
	b := &conn{network: n, local: l.host, remote: from, from: a.to, to: a.from, changed: make(chan struct{})}
	a.other, b.other = b, a
	n.conns[a], n.conns[b] = struct{}{}, struct{}{}
	l.waiting = append(l.waiting, b)
	wake(&l.changed)
	return a
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	mu := &l.host.network.mu
	for {
		mu.Lock()
		if l.closed {
			mu.Unlock()
			return nil, &net.OpError{Op: "accept", Net: "tcp", Err: net.ErrClosed}
		}
		if len(l.waiting) > 0 {
			c := l.waiting[0]
			l.waiting = l.waiting[1:]
			mu.Unlock()
			return c, nil
		}
		changed := l.changed
		mu.Unlock()
		<-changed
	}
}

// Close implements [net.Listener].
func (l *listener) Close() error {
	l.host.network.mu.Lock()
	defer l.host.network.mu.Unlock()
	if !l.closed {
		l.closed = true
		delete(l.host.listeners, l.port)
		for _, c := range l.waiting {
			c.closeLocked(true)
		}
		wake(&l.changed)
	}
	return nil
}
