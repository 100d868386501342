package peer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync/atomic"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

const (
	// silence is how long a peer may say nothing before it is taken for
	// unreachable. One that is merely slow says every tick that it is at work.
	silence = time.Second
	tick    = 200 * time.Millisecond

	working  = 0 // said every tick
	finished = 1 // the answer follows

	maxMessage = 64 << 20 // bytes of a request or an answer
)

// link is the way to one other member.
type link struct {
	member Member
	client *http.Client
	// down says that the member could not be reached; a probe lifts it.
	down atomic.Bool
	// used says that the member was reached since the last beat.
	used  atomic.Bool
	alarm chan<- struct{}
	// left says that the member is leaving and takes nothing any more.
	left atomic.Bool
}

func newLink(n *Node, m Member) *link {
	return &link{member: m, alarm: n.alarm, client: &http.Client{Transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: silence / 2}).DialContext,
		TLSHandshakeTimeout: silence / 2,
		TLSClientConfig:     n.identity.config(func(digest []byte) bool { return bytes.Equal(digest, m.Digest) }),
		MaxIdleConnsPerHost: 64, // lanes of all engines
		IdleConnTimeout:     time.Minute,
	}}}
}

func (l *link) close() { l.client.CloseIdleConnections() }

// route is a link to one of a member's engines.
type route struct {
	*link
	kind string
}

// ID implements [stream.Peer].
func (r route) ID() string { return r.member.ID }

// Send implements [stream.Peer].
func (r route) Send(ctx context.Context, request []byte) ([]byte, error) {
	if r.down.Load() || r.left.Load() {
		return nil, stream.ErrNotSent
	}
	answer, sent, err := r.send(ctx, http.MethodPost, "/"+r.kind, request)
	switch {
	case err == nil:
		r.used.Store(true)
		return answer, nil
	case errors.Is(err, errLeaving):
		r.left.Store(true)
		return nil, stream.ErrNotSent
	case ctx.Err() == nil && !r.down.Swap(true):
		select {
		case r.alarm <- struct{}{}:
		default:
		}
	}
	if !sent {
		return nil, fmt.Errorf("%w: %w", stream.ErrNotSent, err)
	}
	return nil, err
}

// probe finds out whether a member can be reached.
func (l *link) probe(ctx context.Context) {
	_, _, err := l.send(ctx, http.MethodGet, "/", nil)
	switch {
	case errors.Is(err, errLeaving):
		l.left.Store(true)
	case ctx.Err() == nil:
		l.down.Store(err != nil)
	}
}

var (
	errLeaving = errors.New("peer: the member is leaving")
	errSilent  = errors.New("peer: no sign of life")
)

// send sends a request and returns its answer; sent says whether any of it may
// have arrived.
func (l *link) send(ctx context.Context, method, path string, body []byte) (answer []byte, sent bool, err error) {
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
	response, err := l.client.Do(request)
	if err != nil {
		return nil, wrote.Load(), fmt.Errorf("peer %s: %w", l.member.Address, err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusGone:
		return nil, false, errLeaving
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
