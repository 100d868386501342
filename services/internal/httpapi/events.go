package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/live"
)

// Live is what the route of events needs of package live.
type Live interface {
	Subscribe(ctx context.Context, s live.Subscription) (*live.Listener, error)
}

const (
	// heartbeat is how often a listener who hears nothing is shown that the
	// connection lives. With each its credential is looked at again.
	heartbeat = 15 * time.Second
	// listenerPatience is how long a listener may take to let anything through.
	listenerPatience = 10 * time.Second
	// eventsAtOnce is how many bytes are gathered at most before they are sent.
	eventsAtOnce = 32 << 10
)

// eventRoutes are the events and what adds to them.
func (a *API) eventRoutes() []Route {
	if a.config.Live == nil {
		return nil
	}
	return append([]Route{
		{Method: http.MethodGet, Path: "/events", access: anyone(), handle: a.getEvents, inQuery: true},
	}, a.messageRoutes()...)
}

// getEvents sends Server-Sent Events until the client goes away, its credential
// ends or the process does.
func (a *API) getEvents(w http.ResponseWriter, r *request) error {
	listener, err := a.config.Live.Subscribe(r.Context(), live.Subscription{
		Environment: string(r.caller.Environment),
		Extension:   r.caller.Extension.ClientID,
		Channel:     r.caller.ChannelID,
		OpaqueID:    r.caller.OpaqueID,
		Topics:      r.parameters("topic"),
		LastEventID: r.Header.Get("Last-Event-ID"),
	})
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies pass on what comes as it comes
	if r.Method == http.MethodHead {
		listener.Close()
		w.WriteHeader(http.StatusOK)
		return nil
	}
	s := &eventStream{api: a, listener: listener, credential: strings.Clone(r.credential)}
	if s.wire, err = takeOver(r.x); err == nil {
		go s.run() // the hub waits for it
		return nil
	}
	w.WriteHeader(http.StatusOK)
	s.wire, s.gone = answered{w, http.NewResponseController(w)}, r.Context().Done()
	// What the server allows a request is not meant for this one. A writer without
	// deadlines, as in tests, needs none lifted.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	s.run()
	return nil
}

// wire is what events are written to: the connection itself, where it is this
// request's alone, or the answer.
type wire interface {
	io.Writer
	SetWriteDeadline(at time.Time) error
}

// takeOver takes the connection from the server, which spares its buffers, the
// goroutine that watches it and all that belongs to the request: most of what a
// listener would cost. It fails where connections are shared.
func takeOver(x *exchange) (wire, error) {
	conn, _, err := http.NewResponseController(x.ResponseWriter).Hijack()
	if err != nil {
		return nil, err
	}
	x.status = http.StatusOK
	head := bytes.NewBufferString("HTTP/1.1 200 OK\r\nConnection: close\r\n")
	_ = x.Header().Write(head) // into a buffer
	head.WriteString("\r\n")
	_ = conn.SetWriteDeadline(time.Now().Add(listenerPatience))
	_, _ = conn.Write(head.Bytes()) // if it fails, so does what follows
	return conn, nil
}

// answered is an answer that is sent as it is written.
type answered struct {
	http.ResponseWriter
	*http.ResponseController
}

func (a answered) Write(b []byte) (int, error) {
	n, err := a.ResponseWriter.Write(b)
	if err == nil {
		err = a.Flush()
	}
	return n, err
}

// eventStream is the way to one listener.
type eventStream struct {
	api        *API
	listener   *live.Listener
	credential string
	wire       wire
	// gone is closed when the client is; nil where only a write shows that.
	gone <-chan struct{}
}

func (s *eventStream) run() {
	defer s.listener.Close()
	if c, ok := s.wire.(io.Closer); ok {
		defer c.Close()
	}
	if s.send(func(buf []byte) []byte { return s.listener.Greet(appendRetry(buf)) }) != nil {
		return
	}
	pulse := time.NewTicker(heartbeat)
	defer pulse.Stop()
	for err := error(nil); err == nil; {
		select {
		case e := <-s.listener.Events():
			err = s.send(func(buf []byte) []byte { return s.gather(s.listener.Append(buf, e)) })
		case <-pulse.C:
			if _, err = s.api.verifier.verify(s.credential); err == nil {
				err = s.send(func(buf []byte) []byte { return append(buf, ":\n\n"...) })
			}
		case <-s.listener.Done():
			s.farewell()
			return
		case <-s.gone:
			return
		}
	}
}

// farewell sends what is left to a listener who is to come back, and when.
func (s *eventStream) farewell() {
	if errors.Is(s.listener.Err(), live.ErrDraining) {
		_ = s.send(func(buf []byte) []byte { return appendRetry(s.gather(buf)) }) // who is gone comes back later
	}
}

// gather appends what else there is to hear.
func (s *eventStream) gather(buf []byte) []byte {
	for len(buf) < eventsAtOnce {
		select {
		case e := <-s.listener.Events():
			buf = s.listener.Append(buf, e)
		default:
			return buf
		}
	}
	return buf
}

// appendRetry appends how long a listener waits before it comes back: not all of
// them at once.
func appendRetry(buf []byte) []byte {
	buf = strconv.AppendInt(append(buf, "retry: "...), 500+rand.Int64N(2500), 10)
	return append(buf, "\n\n"...)
}

func (s *eventStream) send(fill func([]byte) []byte) error {
	buf, _ := s.api.buffers.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	defer s.api.buffers.Put(buf)
	*buf = fill((*buf)[:0])
	_ = s.wire.SetWriteDeadline(time.Now().Add(listenerPatience))
	_, err := s.wire.Write(*buf)
	// Where connections are shared, a deadline ends a stream that nothing is written to.
	_ = s.wire.SetWriteDeadline(time.Time{})
	return err
}
