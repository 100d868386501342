package faultproxy

import (
	"net"
	"sync"
	"time"
)

// pair is a connection of a client and the one to the server that goes with it.
type pair struct {
	proxy          *Proxy
	client, server net.Conn

	mu    sync.Mutex
	fates map[uint32]Action // of the answers that are due, by the request's id
}

// reset ends both connections at once.
func (c *pair) reset() {
	for _, conn := range []net.Conn{c.client, c.server} {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset, not an end: nothing more is delivered
		}
		_ = conn.Close()
	}
}

// requests passes on what the client sends. What was read before the client
// closed its end still arrives.
func (c *pair) requests() {
	for {
		m, err := readMessage(c.client)
		if err != nil {
			break
		}
		action := c.proxy.decide(m.command())
		if c.proxy.passable() != nil || action.Fault == LoseRequest {
			c.reset()
			return
		}
		c.mu.Lock()
		c.fates[m.id()] = action
		c.mu.Unlock()
		if action.Fault == Repeat && c.write(c.server, m, None) != nil {
			break
		}
		if c.write(c.server, m, action.Fault) != nil {
			break
		}
	}
	// The server reads all that was sent before it sees the end.
	_ = c.server.(*net.TCPConn).CloseWrite()
}

// replies passes on what the server answers.
func (c *pair) replies() {
	defer c.reset()
	for {
		m, err := readMessage(c.server)
		if err != nil {
			return
		}
		action := c.fate(m.responseTo())
		switch action.Fault {
		case LoseReply:
			return
		case Repeat: // the first of two
			continue
		}
		if c.proxy.pause(action.Delay) != nil || c.proxy.passable() != nil || c.write(c.client, m, action.Fault) != nil {
			return
		}
	}
}

// fate returns what is to befall an answer. That of a repeated request is for
// the first of its two.
func (c *pair) fate(request uint32) Action {
	c.mu.Lock()
	defer c.mu.Unlock()
	action := c.fates[request]
	if action.Fault == Repeat {
		c.fates[request] = Action{Delay: action.Delay}
	} else {
		delete(c.fates, request)
	}
	return action
}

// A message that drips goes in drops, which take dripTime each.
const (
	dropBytes = 256
	dripTime  = time.Millisecond
)

func (c *pair) write(to net.Conn, m message, fault Fault) error {
	for fault == Drip && len(m) > dropBytes {
		if _, err := to.Write(m[:dropBytes]); err != nil {
			return err
		}
		m = m[dropBytes:]
		if err := c.proxy.pause(dripTime); err != nil {
			return err
		}
	}
	_, err := to.Write(m)
	return err
}
