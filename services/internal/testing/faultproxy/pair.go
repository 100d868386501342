package faultproxy

import (
	"net"
	"sync"
	"time"
)

// connectionPair is a connection of a client and its connection to the server.
type connectionPair struct {
	proxy          *Proxy
	client, server net.Conn

	mu      sync.Mutex
	actions map[uint32]Action // for answers, by the request's id
}

// reset ends both connections at once.
func (c *connectionPair) reset() {
	for _, conn := range []net.Conn{c.client, c.server} {
		resetConnection(conn)
	}
}

// forwardRequests forwards messages of the client, also those read before it closed
// its end.
func (c *connectionPair) forwardRequests() {
	for {
		m, err := ReadMessage(c.client)
		if err != nil {
			break
		}
		action := c.proxy.chooseAction(m.commandName())
		if c.proxy.waitOpen() != nil || action.Fault == LoseRequest {
			c.reset()
			return
		}
		c.mu.Lock()
		c.actions[m.requestID()] = action
		c.mu.Unlock()
		if action.Fault == Repeat && c.writeWithFault(c.server, m, None) != nil {
			break
		}
		if c.writeWithFault(c.server, m, action.Fault) != nil {
			break
		}
	}
	// The server reads all that was sent before it sees the end.
	_ = c.server.(*net.TCPConn).CloseWrite()
}

// forwardReplies forwards answers of the server.
func (c *connectionPair) forwardReplies() {
	defer c.reset()
	for {
		m, err := ReadMessage(c.server)
		if err != nil {
			return
		}
		action := c.takeAction(m.responseTo())
		switch action.Fault {
		case LoseReply:
			return
		case Repeat: // the first of two
			continue
		}
		if c.proxy.pauseFor(action.Delay) != nil || c.proxy.waitOpen() != nil || c.writeWithFault(c.client, m, action.Fault) != nil {
			return
		}
	}
}

// takeAction returns the action for an answer. That of a repeated request is for
// the first of its two.
func (c *connectionPair) takeAction(request uint32) Action {
	c.mu.Lock()
	defer c.mu.Unlock()
	action := c.actions[request]
	if action.Fault == Repeat {
		c.actions[request] = Action{Delay: action.Delay}
	} else {
		delete(c.actions, request)
	}
	return action
}

// A dripped message is sent in parts of dropBytes, one each dripTime.
const (
	dropBytes = 256
	dripTime  = time.Millisecond
)

func (c *connectionPair) writeWithFault(to net.Conn, m Message, fault Fault) error {
	for fault == Drip && len(m) > dropBytes {
		if _, err := to.Write(m[:dropBytes]); err != nil {
			return err
		}
		m = m[dropBytes:]
		if err := c.proxy.pauseFor(dripTime); err != nil {
			return err
		}
	}
	_, err := to.Write(m)
	return err
}
