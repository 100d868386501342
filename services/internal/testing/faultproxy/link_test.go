package faultproxy_test

import (
	"io"
	"net"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/testing/faultproxy"
)

// A link delivers what it held when that ends, in order, and resets its connections.
func TestLink(t *testing.T) {
	server, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	link, err := faultproxy.StartLink(t.Context(), server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", link.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	served, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = served.Close() })
	for _, held := range []faultproxy.LinkFaults{{HoldRequests: true}, {HoldAnswers: true}} {
		from, to := client, served
		if held.HoldAnswers {
			from, to = served, client
		}
		link.SetFaults(held)
		post(t, from, "held")
		post(t, to, "free") // the other direction is open
		expect(t, from, "free")
		link.SetFaults(faultproxy.LinkFaults{})
		post(t, from, "last")
		expect(t, to, "heldlast")
	}
	link.ResetConnections()
	if n, err := client.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes came through a connection that was reset", n)
	}
	if err := link.Close(); err != nil {
		t.Error(err)
	}
}

func post(t *testing.T, to net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(to, text); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, from net.Conn, want string) {
	t.Helper()
	text := make([]byte, len(want))
	if _, err := io.ReadFull(from, text); err != nil || string(text) != want {
		t.Fatalf("received %q, %v, want %q", text, err, want)
	}
}
