package simnet_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/testing/simnet"
)

// connect returns a network, two of its hosts and a connection between them.
func connect(t *testing.T) (n *simnet.Network, a, b *simnet.Host, there, back net.Conn) {
	t.Helper()
	n = simnet.New(rand.New(rand.NewPCG(1, 1)), simnet.LinkFaults{Delay: 2 * time.Millisecond})
	a, b = n.Host("10.0.0.1"), n.Host("10.0.0.2")
	listener, err := b.Listen(t.Context(), "tcp", "10.0.0.2:80")
	if err != nil {
		t.Fatal(err)
	}
	if there, err = a.Dial(t.Context(), "tcp", "10.0.0.2:80"); err != nil {
		t.Fatal(err)
	}
	if back, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	return n, a, b, there, back
}

func wantRead(t *testing.T, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Errorf("read %q, %v, want %q", got, err, want)
	}
}

func wantSilence(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute)) // it never fails
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d bytes, %v, want none", n, err)
	}
	_ = c.SetReadDeadline(time.Time{})
}

func mustWrite(t *testing.T, c net.Conn, what string) {
	t.Helper()
	if _, err := c.Write([]byte(what)); err != nil {
		t.Error(err)
	}
}

// A direction that is cut holds what is sent, and the other one goes on.
func TestCutOfOneDirection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, a, b, there, back := connect(t)
		n.SetLink(a, b, simnet.LinkFaults{Cut: true})
		mustWrite(t, there, "lo")
		mustWrite(t, there, "st")
		mustWrite(t, back, "heard")
		wantRead(t, there, "heard")
		wantSilence(t, back)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.Dial(ctx, "tcp", "10.0.0.1:80"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("dial over a cut: %v", err)
		}
		n.Heal()
		wantRead(t, back, "lost")
	})
}

// Bytes come in order, though each segment has a delay of its own.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _, _, there, back := connect(t)
		n.SetUsual(simnet.LinkFaults{Delay: time.Second, Loss: 0.5})
		for _, part := range []string{"in ", "the ", "order ", "of ", "writes"} {
			mustWrite(t, there, part)
		}
		wantRead(t, back, "in the order of writes")
	})
}

// A process that is killed closes its connections; a host that vanishes says nothing.
func TestEndOfHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, there, _ := connect(t)
		b.Kill()
		if _, err := there.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("read: %v", err)
		}
		if _, err := a.Dial(t.Context(), "tcp", "10.0.0.2:80"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial: %v", err)
		}
		_, _, b, there, _ = connect(t)
		b.Vanish()
		mustWrite(t, there, "into the void")
		wantSilence(t, there)
	})
}
