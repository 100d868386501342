// Package simnet is a TCP network in memory for tests that simulate processes in a bubble
// of testing/synctest: hosts, listeners and connections without a goroutine or a lock that
// a caller waits behind, so that the bubble's clock goes on.
//
// Like TCP, a connection delivers bytes once and in order, or breaks. Between two hosts
// each direction has faults of its own: bytes are late, a segment is lost and sent again
// [Retransmission] later, or the direction is cut: what is under way arrives when it is
// whole again. What a real network does to a connection beyond that, such as a firewall
// that forgets it, looks like a cut that lasts.
//
// Only tests may import it. It imports nothing of the project.
package simnet

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Retransmission is the time after which a lost segment arrives: the least time-out
// of TCP on Linux.
const Retransmission = 200 * time.Millisecond

// LinkFaults are those of one direction between two hosts.
type LinkFaults struct {
	Cut   bool
	Delay time.Duration // at most, of a segment
	Loss  float64       // probability that a segment is sent twice
}

// Network is a set of hosts.
type Network struct {
	mu    sync.Mutex
	rng   *rand.Rand
	usual LinkFaults
	links map[[2]string]LinkFaults // by the addresses that they lead from and to
	hosts map[string]*Host
	conns map[*conn]struct{}
	dials map[chan struct{}]struct{} // closed when a link or a listener has changed
}

// New returns a network whose links have the usual faults.
func New(rng *rand.Rand, usual LinkFaults) *Network {
	return &Network{
		rng: rng, usual: usual, links: map[[2]string]LinkFaults{}, hosts: map[string]*Host{},
		conns: map[*conn]struct{}{}, dials: map[chan struct{}]struct{}{},
	}
}

// Host is a machine with one address.
type Host struct {
	network   *Network
	ip        string
	gone      bool
	listeners map[int]*listener
	port      int // the last one given away
}

// Host returns the host at an IP address.
func (n *Network) Host(ip string) *Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	h, ok := n.hosts[ip]
	if !ok {
		h = &Host{network: n, ip: ip, listeners: map[int]*listener{}, port: 1024}
		n.hosts[ip] = h
	}
	return h
}

// SetUsual sets the faults of all links that have none of their own.
func (n *Network) SetUsual(f LinkFaults) { n.change(func() { n.usual = f }) }

// SetLink sets the faults of the direction from one host to another.
func (n *Network) SetLink(from, to *Host, f LinkFaults) {
	n.change(func() { n.links[[2]string{from.ip, to.ip}] = f })
}

// Heal ends the faults that SetLink has set.
func (n *Network) Heal() { n.change(func() { clear(n.links) }) }

// Kill ends the process of a host for good: its listeners and connections are closed.
func (h *Host) Kill() { h.end(true) }

// Vanish takes a host off the network for good: the others learn nothing of it.
func (h *Host) Vanish() { h.end(false) }

func (h *Host) end(announced bool) {
	h.network.change(func() {
		h.gone = !announced
		for _, l := range h.listeners {
			l.closed = true
			wake(&l.changed)
		}
		clear(h.listeners)
		for c := range h.network.conns {
			if c.local == h {
				c.closeLocked(announced)
			}
		}
	})
}

// change applies a change and wakes all that wait.
func (n *Network) change(do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	do()
	for c := range n.conns {
		wake(&c.changed)
	}
	n.wakeDials()
}

func (n *Network) wakeDials() {
	for d := range n.dials {
		close(d)
	}
	clear(n.dials)
}

func wake(changed *chan struct{}) {
	close(*changed)
	*changed = make(chan struct{})
}

func (n *Network) faults(from, to *Host) LinkFaults {
	if f, ok := n.links[[2]string{from.ip, to.ip}]; ok {
		return f
	}
	return n.usual
}

// lateness returns how long a segment takes. n.mu is held.
func (n *Network) lateness(from, to *Host) time.Duration {
	f := n.faults(from, to)
	late := 50 * time.Microsecond
	if f.Delay > 0 {
		late += time.Duration(n.rng.Int64N(int64(f.Delay)))
	}
	if f.Loss > 0 && n.rng.Float64() < f.Loss {
		late += Retransmission
	}
	return late
}

// Listen opens a listener at a port of the host; port 0 picks one.
func (h *Host) Listen(_ context.Context, _, address string) (net.Listener, error) {
	_, port, err := splitAddress(address)
	if err != nil {
		return nil, err
	}
	h.network.mu.Lock()
	defer h.network.mu.Unlock()
	if port == 0 {
		h.port++
		port = h.port
	}
	if h.gone || h.listeners[port] != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Err: syscall.EADDRINUSE}
	}
	l := &listener{host: h, port: port, changed: make(chan struct{})}
	h.listeners[port] = l
	h.network.wakeDials()
	return l, nil
}

// Dial connects to an address. It waits while the way there or back is cut or the host is
// gone, and is refused where no one listens.
func (h *Host) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	ip, port, err := splitAddress(address)
	if err != nil {
		return nil, err
	}
	to, n := h.network.Host(ip), h.network
	failure := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Addr: to.at(port), Err: err} }
	for {
		n.mu.Lock()
		round := n.lateness(h, to) + n.lateness(to, h)
		n.mu.Unlock()
		if err := sleep(ctx, round); err != nil {
			return nil, failure(err)
		}
		n.mu.Lock()
		if !to.gone && !h.gone && !n.faults(h, to).Cut && !n.faults(to, h).Cut {
			defer n.mu.Unlock()
			if l := to.listeners[port]; l != nil {
				return l.connect(h), nil
			}
			return nil, failure(syscall.ECONNREFUSED)
		}
		changed := make(chan struct{})
		n.dials[changed] = struct{}{}
		n.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			n.mu.Lock()
			delete(n.dials, changed)
			n.mu.Unlock()
			return nil, failure(ctx.Err())
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *Host) at(port int) *net.TCPAddr { return &net.TCPAddr{IP: net.ParseIP(h.ip), Port: port} }

func splitAddress(address string) (ip string, port int, err error) {
	ip, digits, err := net.SplitHostPort(address)
	if err == nil {
		_, err = fmt.Sscan(digits, &port)
	}
	return ip, port, err
}

// Addr implements [net.Listener].
func (l *listener) Addr() net.Addr { return l.host.at(l.port) }

// conn is one end of a connection. The network's mutex guards it.
type conn struct {
	network       *Network
	local, remote *Host
	from, to      *net.TCPAddr
	other         *conn
	changed       chan struct{} // closed when any of what follows has changed

	closed   bool
	incoming []segment
	until    [2]time.Time // deadlines of reads and writes
}

// segment holds the bytes of one write; one without data ends the stream.
type segment struct {
	data []byte
	due  time.Time
}

// Read implements [net.Conn].
func (c *conn) Read(p []byte) (int, error) {
	for {
		c.network.mu.Lock()
		n, wait, err := c.readLocked(p)
		changed := c.changed
		c.network.mu.Unlock()
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
		if wait < 0 {
			<-changed
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// readLocked reads what has arrived. Where there is nothing, it returns how long to
// wait for more; a negative time has no end.
func (c *conn) readLocked(p []byte) (n int, wait time.Duration, err error) {
	now, until := time.Now(), c.until[0]
	if c.closed {
		return 0, 0, &net.OpError{Op: "read", Net: "tcp", Source: c.from, Addr: c.to, Err: net.ErrClosed}
	}
	if !until.IsZero() && !now.Before(until) {
		return 0, 0, &net.OpError{Op: "read", Net: "tcp", Source: c.from, Addr: c.to, Err: os.ErrDeadlineExceeded}
	}
	wait = -1
	if !until.IsZero() {
		wait = until.Sub(now)
	}
	if len(c.incoming) == 0 || c.network.faults(c.remote, c.local).Cut {
		return 0, wait, nil
	}
	first := &c.incoming[0]
	if late := first.due.Sub(now); late > 0 {
		if wait < 0 || late < wait {
			wait = late
		}
		return 0, wait, nil
	}
	if len(first.data) == 0 {
		return 0, 0, io.EOF
	}
	n = copy(p, first.data)
	if first.data = first.data[n:]; len(first.data) == 0 {
		c.incoming = c.incoming[1:]
	}
	return n, 0, nil
}

// Write implements [net.Conn]. It never waits: the buffers have no limit.
func (c *conn) Write(p []byte) (int, error) {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	failure := func(err error) error {
		return &net.OpError{Op: "write", Net: "tcp", Source: c.from, Addr: c.to, Err: err}
	}
	switch until := c.until[1]; {
	case c.closed:
		return 0, failure(net.ErrClosed)
	case !until.IsZero() && !time.Now().Before(until):
		return 0, failure(os.ErrDeadlineExceeded)
	case c.other.closed && !c.remote.gone && !c.network.faults(c.local, c.remote).Cut && !c.network.faults(c.remote, c.local).Cut:
		return 0, failure(syscall.EPIPE)
	}
	if len(p) > 0 {
		c.sendLocked(append([]byte(nil), p...))
	}
	return len(p), nil
}

func (c *conn) sendLocked(data []byte) {
	if c.other.closed {
		return
	}
	due := time.Now().Add(c.network.lateness(c.local, c.remote))
	if n := len(c.other.incoming); n > 0 && due.Before(c.other.incoming[n-1].due) {
		due = c.other.incoming[n-1].due
	}
	c.other.incoming = append(c.other.incoming, segment{data, due})
	wake(&c.other.changed)
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	c.closeLocked(true)
	return nil
}

func (c *conn) closeLocked(announced bool) {
	if c.closed {
		return
	}
	c.closed = true
	delete(c.network.conns, c)
	if announced {
		c.sendLocked(nil)
	}
	wake(&c.changed)
}

// LocalAddr implements [net.Conn].
func (c *conn) LocalAddr() net.Addr { return c.from }

// RemoteAddr implements [net.Conn].
func (c *conn) RemoteAddr() net.Addr { return c.to }

// SetDeadline implements [net.Conn].
func (c *conn) SetDeadline(t time.Time) error { return c.setDeadlines(t, 0, 1) }

// SetReadDeadline implements [net.Conn].
func (c *conn) SetReadDeadline(t time.Time) error { return c.setDeadlines(t, 0) }

// SetWriteDeadline implements [net.Conn].
func (c *conn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(t, 1) }

func (c *conn) setDeadlines(t time.Time, which ...int) error {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	for _, i := range which {
		c.until[i] = t
	}
	wake(&c.changed)
	return nil
}
