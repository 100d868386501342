package peer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// Two processes have a connection for each direction of requests. It carries frames:
//
//	frame   = { size(4) kind(1) number rest }
//	request = { engine trace groups }
//
// where size counts the bytes after it. The one that has dialed sends requests, numbered
// from 1, and the other answers each in parts, in any order. A request to no engine is
// answered at once: it is a probe or, with the number 0, asks for a sign of life.
const (
	frameRequest   = 1
	framePart      = 2 // a part of an answer
	frameEnd       = 3 // the answer is complete
	frameMalformed = 4 // nothing was run, and the reason follows
	frameLeaving   = 5 // nothing was run: the member accepts no more
)

const (
	maxMessage = 64 << 20 // bytes of a frame
	// requestsUnderWay and bytesUnderWay limit the requests of a connection that have no
	// complete answer; one request alone may be larger.
	requestsUnderWay = 1024
	bytesUnderWay    = 64 << 20
	// answersWaiting limits the bytes of answers that wait for the peer to take them, unless
	// one alone is larger.
	answersWaiting = 8 << 20
	// stallTimeout limits the time in which a peer takes what was written.
	stallTimeout = 10 * time.Second
	readBuffer   = 16 << 10 // a TLS record
	// bufferKept limits the buffer that a connection keeps while it writes nothing.
	bufferKept = 256 << 10
)

var errTooLarge = errors.New("peer: the message is too large")

// frame is one as it was read.
type frame struct {
	kind   byte
	number uint64
	rest   []byte
}

func appendFrame(buf []byte, kind byte, number uint64, rest ...[]byte) []byte {
	start := len(buf)
	buf = binary.AppendUvarint(append(buf, 0, 0, 0, 0, kind), number)
	for _, part := range rest {
		buf = append(buf, part...)
	}
	binary.LittleEndian.PutUint32(buf[start:], uint32(len(buf)-start-4)) //nolint:gosec // at most maxMessage
	return buf
}

// readFrame reads a frame. It calls take with the size before it allocates memory.
func readFrame(r *bufio.Reader, take func(size int) error) (frame, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return frame{}, err
	}
	n := binary.LittleEndian.Uint32(size[:])
	if n > maxMessage {
		return frame{}, fmt.Errorf("%w: %d bytes", errTooLarge, n)
	}
	if err := take(int(n)); err != nil {
		return frame{}, err
	}
	buf := make([]byte, n)
	if _, err := io.ReadFull(r, buf); err != nil {
		return frame{}, err
	}
	fields := wire.NewReader(buf)
	f := frame{kind: fields.Byte(), number: fields.Uvarint()}
	f.rest = fields.Rest()
	return f, fields.Err()
}

// requestHeader is the part of a request before the groups.
type requestHeader struct {
	engine string // the kind of streams; empty: none
	trace  string // a W3C traceparent, empty without one
}

func (h requestHeader) encode() []byte {
	return wire.AppendBytes(wire.AppendBytes(nil, h.engine), h.trace)
}

func splitRequest(rest []byte) (h requestHeader, groups []byte, err error) {
	r := wire.NewReader(rest)
	h = requestHeader{engine: r.Text(), trace: r.Text()}
	return h, r.Rest(), r.Err()
}

// frameWriter writes the frames of one end of a connection: those that wait while a write
// is under way leave in the next.
type frameWriter struct {
	conn net.Conn
	wake chan struct{} // holds one when frames wait
	done chan struct{} // closed at the end

	mu             sync.Mutex
	waiting, spare []byte
	added, begun   uint64        // bytes that were added, and those of them that may have left
	room           chan struct{} // closed when none wait any more
	closed         bool
}

func newFrameWriter(conn net.Conn) *frameWriter {
	return &frameWriter{conn: conn, wake: make(chan struct{}, 1), done: make(chan struct{}), room: make(chan struct{})}
}

// add adds a frame and returns its place among the bytes of the connection. It does not wait:
// the caller bounds what it adds.
func (w *frameWriter) add(kind byte, number uint64, rest ...[]byte) (at uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addLocked(kind, number, rest...)
}

func (w *frameWriter) addLocked(kind byte, number uint64, rest ...[]byte) (at uint64) {
	if w.closed {
		return w.added
	}
	before := len(w.waiting)
	w.waiting = appendFrame(w.waiting, kind, number, rest...)
	at = w.added
	w.added += uint64(len(w.waiting) - before) //nolint:gosec // it grows
	if before == 0 {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	return at
}

// addWhenRoom adds a frame when few bytes wait, or reports false at the end of the connection.
func (w *frameWriter) addWhenRoom(kind byte, number uint64, rest []byte) bool {
	for {
		w.mu.Lock()
		room, closed := w.room, w.closed
		fits := len(w.waiting) == 0 || len(w.waiting)+len(rest) <= answersWaiting
		if fits && !closed {
			w.addLocked(kind, number, rest)
		}
		w.mu.Unlock()
		if fits || closed {
			return !closed
		}
		select {
		case <-room:
		case <-w.done:
		}
	}
}

// run writes frames until a write fails or close is called.
func (w *frameWriter) run() error {
	for {
		select {
		case <-w.wake:
		case <-w.done:
			return nil
		}
		buf := w.takeFrames()
		if err := w.conn.SetWriteDeadline(time.Now().Add(stallTimeout)); err != nil {
			return err
		}
		if _, err := w.conn.Write(buf); err != nil {
			return err
		}
		w.keepBuffer(buf)
	}
}

func (w *frameWriter) takeFrames() (buf []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	buf, w.waiting, w.spare = w.waiting, w.spare, nil
	w.begun = w.added
	close(w.room)
	w.room = make(chan struct{})
	return buf
}

func (w *frameWriter) keepBuffer(buf []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.spare == nil && cap(buf) <= bufferKept {
		w.spare = buf[:0]
	}
}

// close ends run and drops what waits. It returns the place from which on nothing has left.
func (w *frameWriter) close() (begun uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed, w.waiting, w.spare = true, nil, nil
		close(w.done)
	}
	return w.begun
}

// closeConn closes a connection without the last message of TLS, which would wait for a peer
// that takes nothing.
func closeConn(conn net.Conn) {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	_ = conn.Close() // nothing that was written is needed
}
