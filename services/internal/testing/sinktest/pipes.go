package sinktest

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// PipeNetwork are connections in memory, for tests with virtual time: in a bubble of
// testing/synctest nothing may wait for a network.
type PipeNetwork struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

// NewPipes returns pipes for [Options.Listener].
func NewPipes() *PipeNetwork {
	p := &PipeNetwork{conns: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

// Transport returns a transport that connects to the server under any address.
func (p *PipeNetwork) Transport() *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		here, there := net.Pipe()
		select {
		case p.conns <- there:
			return here, nil
		case <-p.closed:
			return nil, net.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
}

// Accept implements [net.Listener].
func (p *PipeNetwork) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (p *PipeNetwork) Close() error {
	p.close()
	return nil
}

// Addr implements [net.Listener].
func (p *PipeNetwork) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
