package app

import (
	"errors"
	"net"
	"net/netip"
	"runtime"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
)

// connectionLimit bounds the connections of a listener, in all and for each address.
type connectionLimit struct {
	pool *limit.Pool[netip.Prefix]
	// perAddress is for the addresses that are no proxy's.
	perAddress int64
	proxies    httpapi.TrustedProxies
	// waitForRoom is the time for which the listener accepts nothing while the pool is used up,
	// before it closes the connection that it has accepted last; 0: it closes that at once.
	waitForRoom time.Duration
}

// limitedListener closes connections over the limit as soon as they are accepted: they
// take no file descriptor, and clients learn of it at once. (LimitListener of
// golang.org/x/net/netutil would leave them waiting, and knows no addresses.)
type limitedListener struct {
	net.Listener
	limit connectionLimit
	// freed has an element after a connection was closed.
	freed chan struct{}
}

func limitListener(l net.Listener, limit connectionLimit) limitedListener {
	return limitedListener{l, limit, make(chan struct{}, 1)}
}

// Accept implements [net.Listener]. The server repeats it after an error such as EMFILE.
func (l limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		lease := l.limit.leaseFor(conn.RemoteAddr())
		if l.take(lease) == nil {
			return &leasedConn{Conn: conn, lease: lease, freed: l.freed}, nil
		}
		_ = conn.Close() // nothing was written
	}
}

// take takes the place of one connection, and waits for one as long as the limit says.
func (l limitedListener) take(lease *limit.Lease[netip.Prefix]) error {
	err := lease.Take(1)
	if l.limit.waitForRoom == 0 || !isFull(err) {
		return err
	}
	late := time.NewTimer(l.limit.waitForRoom)
	defer late.Stop()
	for isFull(err) {
		select {
		case <-l.freed:
			err = lease.Take(1)
		case <-late.C:
			return err
		}
	}
	return err
}

func isFull(err error) bool {
	refusal, ok := errors.AsType[*limit.Refusal](err)
	return ok && refusal.Full
}

func (c connectionLimit) leaseFor(remote net.Addr) *limit.Lease[netip.Prefix] {
	address, err := netip.ParseAddrPort(remote.String())
	if err != nil || c.proxies.Includes(address.Addr()) {
		return c.pool.Lease(limit.Caller{})
	}
	return c.pool.Lease(limit.Caller{}, limit.Share[netip.Prefix]{Holder: httpapi.ClientNetwork(address.Addr()), Scope: limit.Address, Limit: c.perAddress})
}

// leasedConn holds its lease until it is closed. It yields the processor before each read and write,
// so that requests advance in step, as package httpapi describes. An HTTP/2 connection that has always something to
// read yields to others so: its goroutines pass each frame on among themselves, and would keep a processor for
// ten milliseconds at a time.
type leasedConn struct {
	net.Conn
	lease *limit.Lease[netip.Prefix]
	freed chan<- struct{}
	// streams is set when writes do not yield.
	streams bool
}

var _ httpapi.YieldingConn = (*leasedConn)(nil)

// StopYielding implements [httpapi.YieldingConn], for a stream of events: each write is all that
// its goroutine does.
func (c *leasedConn) StopYielding() { c.streams = true }

// Read implements [net.Conn].
func (c *leasedConn) Read(p []byte) (int, error) {
	runtime.Gosched()
	return c.Conn.Read(p)
}

// Write implements [net.Conn].
func (c *leasedConn) Write(p []byte) (int, error) {
	if !c.streams {
		runtime.Gosched()
	}
	return c.Conn.Write(p)
}

// Close implements [net.Conn].
func (c *leasedConn) Close() error {
	err := c.Conn.Close()
	c.lease.Release()
	select {
	case c.freed <- struct{}{}:
	default:
	}
	return err
}
