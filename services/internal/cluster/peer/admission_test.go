package peer_test

import (
	"fmt"
	"log/slog"
	"maps"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/cluster/peer"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
)

// connectFrom opens connections from an address of this machine and sends nothing.
func connectFrom(t *testing.T, address string, to net.Addr, n int) {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	for range n {
		conn, err := dialer.DialContext(t.Context(), "tcp", to.String())
		if err != nil {
			t.Skipf("this machine cannot connect from %s: %v", address, err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
}

// awaitRefused waits until a node has refused so many connections.
func awaitRefused(t *testing.T, n *peer.Node, want uint64) {
	t.Helper()
	for ticker := time.NewTicker(time.Millisecond); n.RefusedConnections() < want; <-ticker.C {
		if t.Context().Err() != nil {
			t.Fatalf("%d connections are refused, want %d", n.RefusedConnections(), want)
		}
	}
	if got := n.RefusedConnections(); got != want {
		t.Fatalf("%d connections are refused, want %d", got, want)
	}
}

// reaches checks that a node forwards to the owner of poll/1.
func reaches(t *testing.T, n *peer.Node, want string) {
	t.Helper()
	owner := n.Peers(kind).Owner("poll/1")
	if owner == nil {
		t.Error("the owner is not reached")
		return
	}
	if got, err := send(t, owner, "x"); err != nil || !strings.Contains(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

// Without a certificate, an address has a few connections and all such addresses have some.
// Members connect meanwhile.
func TestConnectionsWithoutCertificate(t *testing.T) {
	r, listener := newRegistry(), listen(t)
	watch := limit.NewWatch(slog.New(slog.DiscardHandler))
	n, err := peer.New(peer.Config{Registry: r, Listener: listener, Serves: []string{"poll/"}, Logger: slog.New(slog.DiscardHandler), Watch: watch})
	if err != nil {
		t.Fatal(err)
	}
	n.Handle(kind, saying("first"))
	if err := n.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	run(t.Context(), t, n)
	connectFrom(t, "127.0.0.2", listener.Addr(), 10)
	awaitRefused(t, n, 6)
	for host := 3; host < 43; host++ {
		connectFrom(t, fmt.Sprint("127.0.0.", host), listener.Addr(), 4)
	}
	awaitRefused(t, n, 6+160-60)
	member := start(t, r, saying("second"))
	reaches(t, member, "first")

	// One of the members' own address is bounded, and disturbs no connection that there is.
	connectFrom(t, "127.0.0.1", listener.Addr(), 100)
	awaitRefused(t, n, 6+160-60+100-(16+2*4))
	reaches(t, member, "first")
	want := map[limit.Bound]uint64{
		{Limit: "other_peer_connections", Scope: limit.Address}: 6, {Limit: "other_peer_connections"}: 160 - 60,
		{Limit: "peer_connections", Scope: limit.Address}: 100 - (16 + 2*4),
	}
	if got := watch.Refusals(); !maps.Equal(got, want) {
		t.Errorf("the watch has %v, want %v", got, want)
	}
}

// Members that share an address which none of them advertises count only until they have
// shown their certificates.
func TestMembersBehindOneAddress(t *testing.T) {
	r := newRegistry()
	startNamed := func(name string, serves ...string) *peer.Node {
		listener := listen(t)
		return startAt(t, r, listener, fmt.Sprint("localhost:", listener.Addr().(*net.TCPAddr).Port), saying(name), serves...)
	}
	startNamed("first", "poll/")
	for range 5 { // a node reads the membership for as many unknown certificates at once
		reaches(t, startNamed("other"), "first")
	}
}
