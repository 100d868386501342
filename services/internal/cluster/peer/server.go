package peer

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// ServeFunc runs a request that a peer sent to an engine, and gives answer each part of the
// answer, one at a time. An error means that the request is malformed: nothing is run.
type ServeFunc func(ctx context.Context, request []byte, answer func(part []byte)) error

// idleTimeout limits the time without a frame from a peer, which sends one with each of its
// heartbeats.
const idleTimeout = time.Minute

func (n *Node) newServer() *http.Server {
	return &http.Server{
		Handler:           http.HandlerFunc(n.handleUpgrade),
		TLSConfig:         n.identity.tlsConfig(n.acceptsDigest),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          n.errorLog(),
		TLSNextProto:      noHTTP2(),
	}
}

// handleUpgrade refuses a connection, or turns it into one of frames until that ends.
func (n *Node) handleUpgrade(w http.ResponseWriter, r *http.Request) {
	if n.left.Load() {
		http.Error(w, "leaving", http.StatusGone)
		return
	}
	if asked := cmp.Or(r.Header.Get(wireHeader), "1"); asked != n.wire {
		http.Error(w, fmt.Sprintf("requests between processes have version %s here, not %s", n.wire, asked), http.StatusUpgradeRequired)
		return
	}
	if r.Header.Get("Upgrade") != frameProtocol {
		http.Error(w, "a connection begins with an upgrade to "+frameProtocol, http.StatusBadRequest)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		n.config.Logger.Error("a connection of a peer cannot be taken over", "error", err)
		return
	}
	defer closeConn(conn)
	releaseAdmission(conn)
	if buffered.Reader.Buffered() > 0 { // a peer waits for the answer
		return
	}
	if _, err := conn.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + frameProtocol + "\r\n\r\n")); err != nil {
		return
	}
	n.serveFrames(r.Context(), conn)
}

// servedConn is a connection of a member, by the process that answers requests.
type servedConn struct {
	node *Node
	out  *frameWriter

	mu   sync.Mutex
	held requestBudget
}

// serveFrames answers the requests of a connection until it ends or ctx is done.
func (n *Node) serveFrames(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { closeConn(conn) })
	// The peer keeps its budget; it counts no signs of life, and an answer before this end.
	c := &servedConn{node: n, out: newFrameWriter(conn), held: requestBudget{multiple: 2, total: &n.received}}
	defer c.out.close()
	go func() {
		defer cancel()
		_ = c.out.run() // the peer learns of it by the end of the connection
	}()
	for reader := bufio.NewReaderSize(conn, readBuffer); ; {
		if conn.SetReadDeadline(time.Now().Add(idleTimeout)) != nil {
			return
		}
		size := 0
		f, err := readFrame(reader, func(n int) error { size = n; return c.take(n) })
		if err != nil {
			return // by the peer, or by one that breaks the rules
		}
		c.handle(ctx, f, size)
	}
}

var errOverBudget = errors.New("peer: the member has more under way than it may")

func (c *servedConn) take(size int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.held.take(size) {
		return errOverBudget
	}
	return nil
}

func (c *servedConn) give(size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held.give(size)
}

// handle answers a frame, a request to an engine in a goroutine of its own.
func (c *servedConn) handle(ctx context.Context, f frame, size int) {
	h, request, err := splitRequest(f.rest)
	serve, known := c.node.engines[h.engine]
	switch {
	case err != nil || f.kind != frameRequest:
		c.out.add(frameMalformed, f.number, []byte("malformed frame"))
	case c.node.left.Load():
		c.out.add(frameLeaving, f.number)
	case h.engine == "":
		c.out.add(frameEnd, f.number)
	case !known:
		c.out.add(frameMalformed, f.number, []byte("no engine "+h.engine))
	default:
		go func() {
			defer c.give(size)
			c.run(ctx, serve, f.number, request)
		}()
		return
	}
	c.give(size)
}

func (c *servedConn) run(ctx context.Context, serve ServeFunc, number uint64, request []byte) {
	err := serve(ctx, request, func(part []byte) { c.out.addWhenRoom(framePart, number, part) })
	if err != nil {
		c.node.config.Logger.Error("a peer sent a malformed request", "error", err)
		c.out.add(frameMalformed, number, []byte("malformed request"))
		return
	}
	c.out.add(frameEnd, number)
}
