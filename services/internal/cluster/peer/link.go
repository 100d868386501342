package peer

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

const (
	// silence is the time without a byte from a peer after which it counts as
	// unreachable. One that is merely slow gives a sign of life every tick.
	silence = time.Second
	tick    = 200 * time.Millisecond

	// wireVersion counts the versions of the requests and answers between processes: of the frames
	// here, of the groups of package stream and of the commands and results of the
	// domains. A change that the version before cannot read raises it. Versions before 3
	// had no frames: each request was one of HTTP.
	wireVersion = "3"
	wireHeader  = "Acclaim-Wire"
	// frameProtocol names the frames to HTTP: a connection begins with an upgrade to it.
	frameProtocol = "acclaim-frames"
)

// memberLink is the way to one other member.
type memberLink struct {
	member Member
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	tls    *tls.Config
	wire   string           // version
	sent   *trafficCounters // of all links
	log    *slog.Logger
	// connecting lets callers share the attempt to connect, and conn is its last success.
	connecting singleflight.Group
	conn       atomic.Pointer[clientConn]
	// down is set when the member could not be reached; a probe clears it.
	down atomic.Bool
	// used is set when the member was reached since the last heartbeat.
	used atomic.Bool
	wake chan<- struct{}
	// left is set when the member is leaving and accepts no more requests.
	left atomic.Bool
	// retired is set when the member is not in the membership any more.
	retired atomic.Bool
}

func newLink(n *Node, m Member) *memberLink {
	return &memberLink{
		member: m, wake: n.wake, wire: n.wire, sent: &n.sent, log: n.config.Logger, dial: n.config.Dial,
		tls: n.identity.tlsConfig(func(digest []byte) bool { return bytes.Equal(digest, m.Digest) }),
	}
}

// retire closes the connection as soon as no request is under way, for good.
func (l *memberLink) retire() {
	l.retired.Store(true)
	if c := l.conn.Load(); c != nil {
		c.retire()
	}
}

// close closes the connection at once.
func (l *memberLink) close() {
	l.retire()
	if c := l.conn.Load(); c != nil {
		c.fail(errClosed)
	}
}

// engineRoute is a link to one of a member's engines.
type engineRoute struct {
	*memberLink
	kind string
}

// ID implements [stream.Peer].
func (r engineRoute) ID() string { return r.member.ID }

// Send implements [stream.Peer].
func (r engineRoute) Send(ctx context.Context, request []byte, receive func(part []byte)) error {
	if r.down.Load() || r.left.Load() {
		return stream.ErrNotSent
	}
	err := r.exchange(ctx, requestHeader{engine: r.kind}, request, receive)
	switch {
	case err == nil:
		r.used.Store(true)
	case errors.Is(err, errLeaving):
		r.left.Store(true)
	case errors.Is(err, errBusy), errors.Is(err, errTooLarge), ctx.Err() != nil:
	case r.markDown(err):
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
	return err
}

// probeMember finds out whether a member can be reached.
func (l *memberLink) probeMember(ctx context.Context) {
	err := l.exchange(ctx, requestHeader{}, nil, func([]byte) {})
	switch {
	case errors.Is(err, errLeaving):
		l.left.Store(true)
	case errors.Is(err, errBusy), ctx.Err() != nil:
	case err != nil:
		l.markDown(err)
	default:
		l.down.Store(false)
	}
}

// markDown notes that the member could not be reached, and reports whether it could before.
func (l *memberLink) markDown(err error) (changed bool) {
	if changed = !l.down.Swap(true); changed && errors.Is(err, errWire) {
		l.log.Warn("commands are not forwarded to a process of another version", "error", err)
	}
	return changed
}

var errWire = errors.New("peer: the member refuses the version of requests")

// exchange sends a request over the connection to the member, which it opens if there is none.
func (l *memberLink) exchange(ctx context.Context, h requestHeader, request []byte, receive func(part []byte)) error {
	c, err := l.connect(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", stream.ErrNotSent, err)
	}
	return c.exchangeRequest(ctx, h, request, receive)
}

func (l *memberLink) connect(ctx context.Context) (*clientConn, error) {
	if c := l.conn.Load(); c != nil && c.isUsable() {
		return c, nil
	}
	if l.retired.Load() {
		return nil, errClosed
	}
	c, err, _ := l.connecting.Do("", func() (any, error) {
		if c := l.conn.Load(); c != nil && c.isUsable() {
			return c, nil
		}
		c, err := l.open(context.WithoutCancel(ctx)) // others may wait for it; silence limits it
		if err != nil {
			return nil, fmt.Errorf("peer %s: %w", l.member.Address, err)
		}
		l.conn.Store(c)
		if l.retired.Load() {
			c.retire()
		}
		return c, nil
	})
	if err != nil {
		return nil, err
	}
	return c.(*clientConn), nil
}

// open opens a connection that carries frames.
func (l *memberLink) open(ctx context.Context) (*clientConn, error) {
	begun := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, silence, errSilent)
	defer cancel()
	raw, err := l.dialSoon(ctx)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, l.tls)
	heard := new(atomic.Uint64)
	reader := bufio.NewReaderSize(countedReader{conn, heard}, readBuffer)
	if err = conn.SetDeadline(begun.Add(silence)); err == nil {
		err = l.upgrade(ctx, conn, reader)
	}
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		closeConn(conn)
		return nil, err
	}
	return newClientConn(conn, reader, heard, l.sent), nil
}

func (l *memberLink) dialSoon(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, silence/2)
	defer cancel()
	return l.dial(ctx, "tcp", l.member.Address)
}

// upgrade asks the member for frames of this version.
func (l *memberLink) upgrade(ctx context.Context, conn *tls.Conn, reader *bufio.Reader) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+l.member.Address+"/", nil)
	if err != nil {
		return err
	}
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", frameProtocol)
	request.Header.Set(wireHeader, l.wire)
	if err := request.Write(conn); err != nil {
		return err
	}
	response, err := http.ReadResponse(reader, request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusSwitchingProtocols:
		return nil
	case http.StatusGone:
		return errLeaving
	case http.StatusUpgradeRequired, http.StatusOK: // before versions had numbers
		said, _ := io.ReadAll(io.LimitReader(response.Body, 200)) // the status says enough
		return fmt.Errorf("%w: %s", errWire, cmp.Or(string(bytes.TrimSpace(said)), response.Status))
	default:
		return errors.New(response.Status)
	}
}
