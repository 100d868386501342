package faultproxy_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/testing/faultproxy"
)

// startServer starts a server that answers every message with its own body and
// says what it got.
func startServer(t *testing.T) (address string, got <-chan string) {
	t.Helper()
	names := make(chan string, 100)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(conn, names)
		}
	}()
	return listener.Addr().String(), names
}

func serve(conn net.Conn, names chan<- string) {
	defer func() { _ = conn.Close() }() // it may be reset
	for n := uint32(1000); ; n++ {
		m, err := receive(conn)
		if err != nil {
			return
		}
		names <- nameIn(m)
		request := binary.LittleEndian.Uint32(m[4:])
		binary.LittleEndian.PutUint32(m[4:], n)
		binary.LittleEndian.PutUint32(m[8:], request)
		if _, err := conn.Write(m); err != nil {
			return
		}
	}
}

// request returns a message that holds a command, and enough besides to drip.
func request(id uint32, name string) []byte {
	document := append([]byte{0, 0, 0, 0, 0x10}, name...)
	document = append(document, 0, 1, 0, 0, 0)
	document = append(document, make([]byte, 1000)...)
	m := make([]byte, 21, 21+len(document))
	m = append(m, document...)
	binary.LittleEndian.PutUint32(m, uint32(len(m)))
	binary.LittleEndian.PutUint32(m[4:], id)
	binary.LittleEndian.PutUint32(m[12:], 2013)
	return m
}

func nameIn(m []byte) string { return string(m[26 : 26+slices.Index(m[26:], 0)]) }

func receive(conn io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil, err
	}
	m := make([]byte, binary.LittleEndian.Uint32(length[:]))
	copy(m, length[:])
	_, err := io.ReadFull(conn, m[4:])
	return m, err
}

// exchange sends a command on a connection of its own and returns what answers.
func exchange(t *testing.T, address, name string) error {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // it may be reset
	for id := range uint32(2) {         // the second shows that no answer is left over
		if _, err := conn.Write(request(id, name)); err != nil {
			return err
		}
		m, err := receive(conn)
		if err != nil {
			return err
		}
		if to := binary.LittleEndian.Uint32(m[8:]); to != id || nameIn(m) != name {
			return errors.New("another command's answer")
		}
	}
	return nil
}

func TestFaults(t *testing.T) {
	for fault, want := range map[faultproxy.Fault]struct {
		answered bool
		arrives  int
	}{
		faultproxy.None:        {true, 2},
		faultproxy.LoseRequest: {false, 0},
		faultproxy.LoseReply:   {false, 1},
		faultproxy.Repeat:      {true, 4},
		faultproxy.Drip:        {true, 2},
	} {
		address, got := startServer(t)
		proxy, err := faultproxy.Start(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		proxy.Inject(func(command string) faultproxy.Action {
			if command != "insert" {
				return faultproxy.Action{}
			}
			return faultproxy.Action{Fault: fault, Delay: 1}
		})
		if err := exchange(t, proxy.Address(), "insert"); (err == nil) != want.answered {
			t.Errorf("fault %d: %v", fault, err)
		}
		if len(got) != want.arrives {
			t.Errorf("fault %d: %d commands arrived, want %d", fault, len(got), want.arrives)
		}
		if err := exchange(t, proxy.Address(), "find"); err != nil {
			t.Errorf("fault %d: another command: %v", fault, err)
		}
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What is sent into a blackhole arrives when it ends, even if its sender has
// given up.
func TestBlackhole(t *testing.T) {
	address, got := startServer(t)
	proxy, err := faultproxy.Start(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan struct{})
	proxy.Inject(func(string) faultproxy.Action {
		seen <- struct{}{}
		return faultproxy.Action{}
	})
	proxy.Blackhole(true)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", proxy.Address())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(request(1, "late")); err != nil {
		t.Fatal(err)
	}
	<-seen
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	proxy.Inject(nil)
	if len(got) > 0 {
		t.Errorf("%q came through the blackhole", <-got)
	}
	proxy.Blackhole(false)
	if name := <-got; name != "late" {
		t.Errorf("%q arrived, want what was held back", name)
	}
	if err := exchange(t, proxy.Address(), "prompt"); err != nil {
		t.Error(err)
	}
	proxy.ResetConnections()
	if err := proxy.Close(); err != nil {
		t.Error(err)
	}
}
