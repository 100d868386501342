package faultproxy

import (
	"net"
	"syscall"
	"testing"
)

// exhausted is a listener that can accept no connection.
type exhausted struct {
	net.Listener
	accepts int
	closed  bool
}

func (e *exhausted) Accept() (net.Conn, error) {
	if e.accepts++; e.accepts > 100 {
		return nil, net.ErrClosed
	}
	return nil, syscall.EMFILE
}

func (e *exhausted) Close() error {
	e.closed = true
	return nil
}

// A relay that cannot accept connections ends and refuses clients. It does not try again and again.
func TestRelayThatCannotAccept(t *testing.T) {
	listener := &exhausted{}
	(&relay{listener: listener}).acceptConnections()
	if listener.accepts != 1 || !listener.closed {
		t.Errorf("it accepted %d times; closed: %t", listener.accepts, listener.closed)
	}
}
