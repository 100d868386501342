package gamelink

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/operation"

	"github.com/coder/websocket"

	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// Codes with which the server closes a connection, beside those of the protocol.
const closedRevoked websocket.StatusCode = 4001 // the credential has ended

// connection is one game. One goroutine reads and answers its requests, another writes, and
// each subscription has one more.
type connection struct {
	server    *Server
	socket    *websocket.Conn
	extension *tenant.Extension
	request   *http.Request // the upgrade: its address stands for the client's
	client    netip.Prefix

	ctx    context.Context
	cancel context.CancelFunc
	once   sync.Once

	// For the goroutine that reads.
	failures      int               // refused credentials
	refused       int               // other requests that were refused before authentication
	caller        *operation.Caller // of the identity; nil before authentication
	subscriptions map[topicKey]feed
	watch         *subscription   // of the pairing
	named         map[string]bool // kinds of requests whose unknown members the log has
	expiry        *time.Timer

	mu       sync.Mutex
	identity *identity // nil before authentication
	pending  [][]byte
	bytes    int
	ready    chan struct{} // 1: pending is not empty

	polls pollMemory
}

func newConnection(s *Server, socket *websocket.Conn, extension *tenant.Extension, r *http.Request, client netip.Prefix) *connection {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context())) // the context of the upgrade ends with its handler
	return &connection{
		ctx: ctx, cancel: cancel,
		server: s, socket: socket, extension: extension, request: r, client: client,
		subscriptions: map[topicKey]feed{}, named: map[string]bool{}, ready: make(chan struct{}, 1),
		polls: pollMemory{known: map[string]pollKnowledge{}, handled: map[string]uint64{}},
	}
}

// run serves the connection until it ends.
func (c *connection) run() {
	var work sync.WaitGroup
	work.Go(c.writeAll)
	work.Go(c.ping)
	for {
		message, release, err := c.receive()
		if err != nil {
			break
		}
		c.handle(message)
		release()
	}
	c.cancel()
	c.closeSubscriptions()
	c.unwatch()
	_ = c.socket.CloseNow()
	work.Wait()
}

// handle answers one message.
func (c *connection) handle(message []byte) {
	c.server.counters.requests.Add(1)
	c.server.strangers.touch(c, c.server.options.Now())
	request, err := decodeRequest(message)
	var data any
	if err == nil {
		data, err = c.dispatch(request)
	}
	if err != nil && c.caller == nil {
		c.countFailure(request.isAuthenticate())
	}
	if c.ctx.Err() != nil {
		return // it was closed instead of answered
	}
	if c.caller == nil {
		request.forgetUnknown(c.server.kinds)
	}
	answer := serverMessage{Meta: meta{request.id, request.action, request.target, c.server.options.Now().UnixMilli()}, Data: data}
	if err != nil {
		answer.Data, answer.Errors = nil, []gameErrorEntry{errorEntry(err)}
	}
	c.send(encodeASCII(answer))
}

// push sends what no request asked for.
func (c *connection) push(target string, data any) {
	c.server.counters.pushes.Add(1)
	c.send(encodeASCII(serverMessage{Meta: meta{pushID, contract.ActionUpdate, target, c.server.options.Now().UnixMilli()}, Data: data}))
}

// send queues a message. A client that does not read is cut off.
func (c *connection) send(message []byte) {
	c.mu.Lock()
	c.pending, c.bytes = append(c.pending, message), c.bytes+len(message)
	slow := c.bytes > contract.MaxUnreadByGame
	c.mu.Unlock()
	if slow {
		c.cutOff("the client does not read")
		return
	}
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// cutOff ends a connection whose client would not receive a reason.
func (c *connection) cutOff(reason string) {
	c.once.Do(func() {
		c.server.counters.slow.Add(1)
		c.server.options.Logger.Info("a game was cut off", "extension", c.extension.ClientID, "reason", reason)
		c.cancel()
	})
}

// end closes the connection with a code and a reason that its client receives.
func (c *connection) end(code websocket.StatusCode, reason string) {
	c.once.Do(func() {
		_ = c.socket.Close(code, reason)
		c.cancel()
	})
}

// displacedFor limits the time for which a connection that makes room waits for its client.
const displacedFor = 50 * time.Millisecond

// makeRoom closes a connection that never authenticated for another one. Under a flood of them
// it sends no reason, as those that wait for their clients take places, too.
func (c *connection) makeRoom() {
	c.server.counters.displaced.Add(1)
	if !c.server.leaving.TryAcquire(1) {
		c.once.Do(func() { _ = c.socket.CloseNow(); c.cancel() })
		return
	}
	defer c.server.leaving.Release(1)
	hurry := time.AfterFunc(displacedFor, func() { _ = c.socket.CloseNow() })
	defer hurry.Stop()
	c.end(websocket.StatusGoingAway, "another game needs the place")
}

// writeAll writes what is pending, in order.
func (c *connection) writeAll() {
	for {
		select {
		case <-c.ready:
		case <-c.ctx.Done():
			return
		}
		c.mu.Lock()
		batch := c.pending
		c.pending = nil
		c.mu.Unlock()
		for _, message := range batch {
			ctx, cancel := context.WithTimeout(c.ctx, writeTimeout)
			err := c.socket.Write(ctx, websocket.MessageText, message)
			cancel()
			if err != nil {
				c.cutOff("a write took too long or failed")
				return
			}
			c.mu.Lock()
			c.bytes -= len(message)
			c.mu.Unlock()
		}
	}
}

// ping drops a connection that is silent.
func (c *connection) ping() {
	ticker := time.NewTicker(contract.GamePingInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-c.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(c.ctx, silentFor)
		err := c.socket.Ping(ctx)
		cancel()
		if err != nil {
			c.cutOff("the client is silent")
			return
		}
		c.recheck()
	}
}
