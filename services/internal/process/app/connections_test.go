package app

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
)

// fakeConn is a connection from some address.
type fakeConn struct {
	net.Conn
	from   net.Addr
	closed chan struct{}
}

func (c *fakeConn) RemoteAddr() net.Addr { return c.from }
func (c *fakeConn) Close() error         { close(c.closed); return nil }

// fakeListener accepts what it is sent: connections or errors.
type fakeListener chan any

func (l fakeListener) Accept() (net.Conn, error) {
	switch next := (<-l).(type) {
	case net.Conn:
		return next, nil
	case error:
		return nil, next
	}
	return nil, net.ErrClosed
}
func (l fakeListener) Close() error   { return nil }
func (l fakeListener) Addr() net.Addr { return &net.TCPAddr{} }

func connFrom(address string) *fakeConn {
	return &fakeConn{from: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address + ":1")), closed: make(chan struct{})}
}

// Connections over the limit of their address, or over that of all, are closed at once.
// Those of a trusted proxy have no limit of their own.
func TestConnectionLimits(t *testing.T) {
	watch := limit.NewWatch(slog.New(slog.DiscardHandler))
	pool := limit.NewPool[netip.Prefix]("connections", 5, watch)
	listener := make(fakeListener, 10)
	l := limitListener(listener, connectionLimit{pool: pool, perAddress: 2, proxies: httpapi.TrustedProxies{netip.MustParsePrefix("10.0.0.0/8")}})
	accept := func(address string) net.Conn {
		t.Helper()
		listener <- connFrom(address)
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	refuse := func(address string) {
		t.Helper()
		refused := connFrom(address)
		listener <- refused
		listener <- errors.New("end")
		if conn, err := l.Accept(); err == nil {
			t.Errorf("%v is accepted", conn.RemoteAddr())
		}
		<-refused.closed
	}
	first := accept("203.0.113.1")
	accept("203.0.113.1")
	refuse("203.0.113.1")
	accept("10.0.0.1")
	accept("10.0.0.1")
	accept("10.0.0.1")
	refuse("203.0.113.2") // the sixth
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	accept("203.0.113.1")
	if got, want := watch.Refusals(), map[limit.Bound]uint64{{Limit: "connections", Scope: limit.Address}: 1, {Limit: "connections"}: 1}; !maps.Equal(got, want) {
		t.Errorf("the metric and the log name %v, want %v", got, want)
	}
	if got, want := pool.Stats(), (limit.Stats{Used: 5, Limit: 5, Full: 1, OverShare: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A listener that waits for room accepts a connection when another one ends, and closes it after the
// time for that.
func TestListenerThatWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := make(fakeListener, 10)
		l := limitListener(listener, connectionLimit{pool: limit.NewPool[netip.Prefix]("connections", 1, nil), perAddress: 1, waitForRoom: time.Second})
		accepted := make(chan net.Conn)
		go func() {
			defer close(accepted)
			for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
				accepted <- conn
			}
		}()
		listener <- connFrom("203.0.113.1")
		first := <-accepted
		listener <- connFrom("203.0.113.2")
		synctest.Wait()
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		if conn := <-accepted; !strings.HasPrefix(conn.RemoteAddr().String(), "203.0.113.2") {
			t.Errorf("%v is accepted", conn.RemoteAddr())
		}
		late := connFrom("203.0.113.3")
		began := time.Now()
		listener <- late
		<-late.closed
		if took := time.Since(began); took != time.Second {
			t.Errorf("a connection without room is closed after %v", took)
		}
		listener <- errors.New("end")
		if conn, ok := <-accepted; ok {
			t.Errorf("%v is accepted", conn.RemoteAddr())
		}
	})
}

// However connections end, nothing of the limit stays in use.
func TestConnectionsReturnTheirLimit(t *testing.T) {
	pool := limit.NewPool[netip.Prefix]("connections", 20, nil)
	listener := make(fakeListener)
	l := limitListener(listener, connectionLimit{pool: pool, perAddress: 5})
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			accepted <- conn
		}
	}()
	var closing sync.WaitGroup
	for range 4 {
		closing.Go(func() {
			var held []net.Conn
			for conn := range accepted {
				if held = append(held, conn); rand.IntN(2) == 0 {
					_ = held[0].Close() // it is a fake
					held = held[1:]
				}
			}
			for _, conn := range held {
				_ = conn.Close()
			}
		})
	}
	for range 2_000 {
		listener <- connFrom([]string{"203.0.113.1", "203.0.113.2", "203.0.113.3", "[2001:db8::1]"}[rand.IntN(4)])
	}
	listener <- errors.New("end")
	closing.Wait()
	if stats := pool.Stats(); stats.Used != 0 {
		t.Errorf("%+v", stats)
	}
}

// The server goes on accepting when there were no file descriptors for a while.
func TestShortageOfDescriptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := make(fakeListener)
		server := httpapi.NewServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
		ended := make(chan error)
		limited := limitListener(listener, connectionLimit{pool: limit.NewPool[netip.Prefix]("connections", 1, nil)})
		go func() { ended <- server.Serve(limited) }()
		for range 20 {
			listener <- &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
		}
		here, there := net.Pipe()
		listener <- there
		go func() { _, _ = here.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")) }()
		answer := make([]byte, 12)
		if _, err := here.Read(answer); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 404") {
			t.Errorf("%q, %v", answer, err)
		}
		_ = here.Close() // the test is over
		close(listener)
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		_ = server.Shutdown(context.WithoutCancel(t.Context())) // nothing is under way
	})
}

func TestDivideResources(t *testing.T) {
	for _, test := range []struct {
		memory, descriptors int64
		perAddress          int
		want                resourceLimits
	}{
		{0, 1 << 20, 0, resourceLimits{1 << 30, 32768, 0, 4096, 1024, 65536, 29491, 65536, 64 << 20, 128 << 20, 85899345, 178956970}},
		{1 << 30, 3000, 0, resourceLimits{1 << 30, 2232, 0, 279, 279, 35000, 29491, 65536, 64 << 20, 128 << 20, 85899345, 178956970}},
		{16 << 30, 1 << 20, 50, resourceLimits{16 << 30, 524288, 0, 65536, 50, 1 << 20, 50_000, 1 << 20, 1 << 30, 2 << 30, 512 << 20, 1 << 30}},
		{minMemory, 100, 0, resourceLimits{minMemory, 50, 0, 6, 6, 2098, 1843, 4096, 16 << 20, 8 << 20, 5368709, 11184810}},
	} {
		if got := divideResources(test.memory, test.descriptors, test.perAddress); got != test.want {
			t.Errorf("%d bytes and %d descriptors:\n%+v, want\n%+v", test.memory, test.descriptors, got, test.want)
		}
	}
	shared := divideResources(1<<30, 3000, 0)
	if shared.shareWithGames(); shared.connections != 1116 || shared.games != 1116 || shared.unauthenticatedGames != 279 {
		t.Errorf("beside games: %+v", shared)
	}
	if got := countDescriptors(); got < 16 {
		t.Errorf("%d descriptors", got)
	}
}
