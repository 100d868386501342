package peer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync/atomic"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

const (
	// silence is the time without a byte from a peer after which it counts as
	// unreachable. One that is merely slow sends a byte every tick.
	silence = time.Second
	tick    = 200 * time.Millisecond

	working  = 0 // sent every tick
	finished = 1 // the answer follows

	maxMessage = 64 << 20 // bytes of a request or an answer

	// wireVersion is that of the requests and answers between processes: of the framing
	// here, of the groups of package stream and of the commands and results of the
	// domains. A change that the version before cannot read raises it. A request without
	// a version is one of version 1.
	wireVersion = "2"
	wireHeader  = "Acclaim-Wire"
)

// memberLink is the way to one other member.
type memberLink struct {
	member Member
	client *http.Client
	wire   string // version
	log    *slog.Logger
	// down is set when the member could not be reached; a probe clears it.
	down atomic.Bool
	// used is set when the member was reached since the last heartbeat.
	used atomic.Bool
	wake chan<- struct{}
	// left is set when the member is leaving and accepts no more requests.
	left atomic.Bool
}

func newLink(n *Node, m Member) *memberLink {
	return &memberLink{member: m, wake: n.wake, wire: n.wire, log: n.config.Logger, client: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, silence/2)
			defer cancel()
			return n.config.Dial(ctx, network, address)
		},
		TLSHandshakeTimeout: silence / 2,
		TLSClientConfig:     n.identity.tlsConfig(func(digest []byte) bool { return bytes.Equal(digest, m.Digest) }),
		MaxIdleConnsPerHost: 64, // queues of all engines
		IdleConnTimeout:     time.Minute,
	}}}
}

func (l *memberLink) close() { l.client.CloseIdleConnections() }

// engineRoute is a link to one of a member's engines.
type engineRoute struct {
	*memberLink
	kind string
}

// ID implements [stream.Peer].
func (r engineRoute) ID() string { return r.member.ID }

// Send implements [stream.Peer].
func (r engineRoute) Send(ctx context.Context, request []byte) ([]byte, error) {
	if r.down.Load() || r.left.Load() {
		return nil, stream.ErrNotSent
	}
	answer, sent, err := r.sendRequest(ctx, http.MethodPost, "/"+r.kind, request)
	switch {
	case err == nil:
		r.used.Store(true)
		return answer, nil
	case errors.Is(err, errLeaving):
		r.left.Store(true)
		return nil, stream.ErrNotSent
	case ctx.Err() == nil && r.markDown(err):
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
	if !sent {
		return nil, fmt.Errorf("%w: %w", stream.ErrNotSent, err)
	}
	return nil, err
}

// probeMember finds out whether a member can be reached.
func (l *memberLink) probeMember(ctx context.Context) {
	_, _, err := l.sendRequest(ctx, http.MethodGet, "/", nil)
	switch {
	case errors.Is(err, errLeaving):
		l.left.Store(true)
	case ctx.Err() != nil:
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

var (
	errLeaving = errors.New("peer: the member is leaving")
	errSilent  = errors.New("peer: no sign of life")
	errWire    = errors.New("peer: the member refuses the version of requests")
)

// sendRequest sends a request and returns its answer; sent reports whether any of it
// may have arrived.
func (l *memberLink) sendRequest(ctx context.Context, method, path string, body []byte) (answer []byte, sent bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer alarm.Stop()
	var wrote atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
	request, err := http.NewRequestWithContext(ctx, method, "https://"+l.member.Address+path, bytes.NewReader(body))
	if err != nil {
		return nil, false, err
	}
	request.Header.Set(wireHeader, l.wire)
	response, err := l.client.Do(request)
	if err != nil {
		return nil, wrote.Load(), fmt.Errorf("peer %s: %w", l.member.Address, err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusGone:
		return nil, false, errLeaving
	case http.StatusUpgradeRequired:
		said, _ := io.ReadAll(io.LimitReader(response.Body, 200)) // the status says enough
		return nil, false, fmt.Errorf("%w: %s: %s", errWire, l.member.Address, bytes.TrimSpace(said))
	default:
		return nil, true, fmt.Errorf("peer %s: %s", l.member.Address, response.Status)
	}
	answer, err = readAnswer(response.Body, func() { alarm.Reset(silence) })
	return answer, true, err
}

// readAnswer skips the signs of life before an answer; each calls alive.
func readAnswer(body io.Reader, alive func()) ([]byte, error) {
	buffered := bufio.NewReader(body)
	for {
		switch b, err := buffered.ReadByte(); {
		case err != nil:
			return nil, err
		case b == working:
			alive()
		default:
			answer, err := io.ReadAll(io.LimitReader(buffered, maxMessage))
			if err != nil || len(answer) == maxMessage {
				return nil, errors.Join(err, errors.New("peer: the answer is cut off"))
			}
			return slices.Clip(answer), nil
		}
	}
}
