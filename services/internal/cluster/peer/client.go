package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

var (
	errLeaving = errors.New("peer: the member is leaving")
	errSilent  = errors.New("peer: no sign of life")
	errBusy    = errors.New("peer: too many requests are under way")
	errClosed  = errors.New("peer: the connection is closed")
)

// clientConn is a connection to a member, by the process that sends requests.
type clientConn struct {
	conn   net.Conn
	reader *bufio.Reader
	out    *frameWriter
	heard  *atomic.Uint64 // reads that returned bytes

	mu       sync.Mutex
	err      error // set at the end
	number   uint64
	underWay map[uint64]*exchange
	held     requestBudget
	retired  bool // ends when no request is under way
	// watch asks for signs of life while requests are under way. quiet counts the ticks
	// since the member said something, which it had said seen times then.
	watch    *time.Timer
	watching bool
	quiet    int
	seen     uint64
}

// exchange is a request under way. The mutex of its connection guards it.
type exchange struct {
	size    int
	at      uint64 // place among the bytes of the connection
	changed chan struct{}
	parts   [][]byte
	ended   bool
	err     error
	// abandoned is set when its caller has gone.
	abandoned bool
}

// newClientConn begins to use a connection. reader may hold what the member has said already,
// and counts its reads. sent counts the requests of all connections.
func newClientConn(conn net.Conn, reader *bufio.Reader, heard *atomic.Uint64, sent *trafficCounters) *clientConn {
	c := &clientConn{
		conn: conn, reader: reader, heard: heard, out: newFrameWriter(conn), underWay: map[uint64]*exchange{},
		held: requestBudget{multiple: 1, total: sent},
	}
	c.watch = time.AfterFunc(time.Hour, c.checkLife)
	c.watch.Stop()
	go func() { c.fail(c.out.run()) }()
	go func() { c.fail(c.readAnswers()) }()
	return c
}

// isUsable reports whether the connection takes requests.
func (c *clientConn) isUsable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err == nil && !c.retired
}

// exchangeRequest sends a request and gives receive each part of its answer. An error wraps
// [stream.ErrNotSent] if the member certainly does not run the request.
func (c *clientConn) exchangeRequest(ctx context.Context, h requestHeader, request []byte, receive func(part []byte)) error {
	x, err := c.begin(h, request)
	if err != nil {
		return err
	}
	for {
		select {
		case <-x.changed:
		case <-ctx.Done():
			c.abandon(x)
			return ctx.Err()
		}
		parts, ended, err := c.takeParts(x)
		for _, part := range parts {
			receive(part)
		}
		if ended {
			return err
		}
	}
}

func (c *clientConn) begin(h requestHeader, request []byte) (*exchange, error) {
	head := h.encode()
	x := &exchange{size: len(head) + len(request), changed: make(chan struct{}, 1)}
	if x.size > maxMessage-16 {
		return nil, fmt.Errorf("%w: %w: %d bytes", stream.ErrNotSent, errTooLarge, x.size)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		return nil, fmt.Errorf("%w: %w", stream.ErrNotSent, c.err)
	case c.retired:
		return nil, fmt.Errorf("%w: %w", stream.ErrNotSent, errClosed)
	case !c.held.take(x.size):
		return nil, fmt.Errorf("%w: %w", stream.ErrNotSent, errBusy)
	}
	c.number++
	c.underWay[c.number] = x
	x.at = c.out.add(frameRequest, c.number, head, request)
	if !c.watching {
		c.watching, c.quiet, c.seen = true, 0, c.heard.Load()
		c.watch.Reset(tick)
	}
	return x, nil
}

// takeParts returns the parts of an answer that have arrived since the last call.
func (c *clientConn) takeParts(x *exchange) (parts [][]byte, ended bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	parts, x.parts = x.parts, nil
	return parts, x.ended, x.err
}

// abandon drops what arrives for a request. The member may still be at it.
func (c *clientConn) abandon(x *exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x.abandoned, x.parts = true, nil
}

// readAnswers reads frames until the connection ends.
func (c *clientConn) readAnswers() error {
	for {
		f, err := readFrame(c.reader, func(int) error { return nil })
		if err != nil {
			return err
		}
		c.deliver(f)
	}
}

func (c *clientConn) deliver(f frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.underWay[f.number]
	if x == nil { // a sign of life
		return
	}
	switch f.kind {
	case framePart:
		if !x.abandoned {
			x.parts = append(x.parts, f.rest)
			x.wake()
		}
		return
	case frameEnd:
	case frameLeaving:
		x.err = fmt.Errorf("%w: %w", stream.ErrNotSent, errLeaving)
	default:
		x.err = fmt.Errorf("peer: the member refuses a request: %s", f.rest)
	}
	c.end(f.number, x)
	if c.retired && len(c.underWay) == 0 {
		c.failLocked(errClosed)
	}
}

// end ends a request. c.mu is held.
func (c *clientConn) end(number uint64, x *exchange) {
	delete(c.underWay, number)
	c.held.give(x.size)
	x.ended = true
	x.wake()
}

func (x *exchange) wake() {
	select {
	case x.changed <- struct{}{}:
	default:
	}
}

// checkLife runs every tick while requests are under way. It asks for a sign of life, and
// ends the connection after silence.
func (c *clientConn) checkLife() {
	c.mu.Lock()
	defer c.mu.Unlock()
	heard := c.heard.Load()
	if c.quiet++; heard != c.seen {
		c.quiet, c.seen = 0, heard
	}
	switch {
	case c.err != nil:
	case len(c.underWay) == 0:
		c.watching = false
	case c.quiet >= int(silence/tick):
		c.failLocked(errSilent)
	default:
		c.out.add(frameRequest, 0, requestHeader{}.encode())
		c.watch.Reset(tick)
	}
}

// retire ends the connection when no request is under way.
func (c *clientConn) retire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired = true; len(c.underWay) == 0 {
		c.failLocked(errClosed)
	}
}

// fail ends the connection. The outcome of requests that may have left is unknown.
func (c *clientConn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failLocked(err)
}

func (c *clientConn) failLocked(err error) {
	if c.err != nil {
		return
	}
	if err == nil {
		err = errClosed
	}
	c.err = err
	begun := c.out.close()
	c.watch.Stop()
	for number, x := range c.underWay {
		if x.err = err; x.at >= begun {
			x.err = fmt.Errorf("%w: %w", stream.ErrNotSent, err)
		}
		c.end(number, x)
	}
	closeConn(c.conn)
}

// countedReader counts the reads that return bytes.
type countedReader struct {
	io.Reader
	reads *atomic.Uint64
}

func (r countedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.reads.Add(1)
	}
	return n, err
}
