package httpapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/feed/live"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

const (
	// eventWriteTimeout limits a write to a client.
	eventWriteTimeout = 10 * time.Second
	// maxEventBatch limits the events of one write, in bytes.
	maxEventBatch = 32 << 10
)

// getEvents sends Server-Sent Events until the client disconnects, its credential
// expires or the process shuts down.
func (a *API) getEvents(w http.ResponseWriter, r *apiRequest) error {
	topics, err := r.Caller.PollTopics(r.queryParameters("topic"))
	if err != nil {
		return err
	}
	key, expires := keyOf(r.Caller)
	subscriber, err := a.Config.Live.Subscribe(r.Context(), live.Subscription{
		Environment: string(r.Caller.Environment),
		Extension:   r.Caller.Extension.ClientID,
		Channel:     r.Caller.ChannelID,
		OpaqueID:    r.Caller.OpaqueID,
		UserID:      r.Caller.UserID,
		Identity:    r.Caller.SubscriberIdentity(),
		Staff:       !r.Caller.IsAudience(),
		OwnsGlobal:  r.Caller.OwnsGlobal(),
		// Requests of HTTP/1.1 take turns on a connection, and this one does not end.
		OwnConnection: r.ProtoMajor == 1,
		AllChannels:   r.Caller.Role == operation.Admin || r.Caller.Role == operation.Backend,
		Key:           key,
		Overlay:       r.Caller.Role == operation.Overlay,
		Topics:        topics,
		LastEventID:   r.Header.Get("Last-Event-ID"),
	})
	if err != nil {
		return err
	}
	setEventHeaders(w.Header())
	if r.Method == http.MethodHead {
		subscriber.Close()
		w.WriteHeader(http.StatusOK)
		return nil
	}
	s := &eventStream{api: a, subscriber: subscriber, credential: strings.Clone(r.credential)}
	if key.Name != "" {
		s.expires = expires
		s.err = s.checkCredential() // it may have been revoked before the subscription was in force
	}
	s.lease, r.x.lease = r.x.lease, nil
	if s.out, err = takeConnection(r.x); err == nil {
		s.gone = awaitEnd(s.out.(net.Conn)) // ends with the connection
		go s.run()                          // the broker waits for it
		return nil
	}
	w.WriteHeader(http.StatusOK)
	s.out, s.gone = newSharedWriter(r.x.ResponseWriter), r.Context().Done() // so that the exchange need not stay
	r.x.stream = s
	return nil
}

// keyOf returns what the caller's key hangs on and when it expires, in Unix seconds; nothing for a
// caller without a key.
func keyOf(c *operation.Caller) (of event.Source, expires int64) {
	channel := event.Audience{Environment: string(c.Environment), Extension: c.Extension.ClientID, Channel: c.ChannelID}
	switch {
	case c.Role == operation.Overlay:
		return event.OverlaySource(channel), c.Key.Expires
	case c.Staff.Session: // which its use extends
		return event.StaffSource(channel), 0
	case c.Role == operation.StaffKey:
		return event.StaffSource(channel), c.Staff.Expires
	}
	return event.Source{}, 0
}

// eventWriter sends events: the connection itself, where it is this request's alone,
// or the answer.
type eventWriter interface {
	io.Writer
	SetWriteDeadline(at time.Time) error
}

// takeConnection takes the connection from the server. That saves its buffers, the
// goroutine that watches it and the state of the request: most of the cost of a
// subscriber. It fails where requests share the connection.
func takeConnection(x *httpExchange) (eventWriter, error) {
	conn, _, err := http.NewResponseController(x.ResponseWriter).Hijack()
	if err != nil {
		return nil, err
	}
	stopYielding(conn)
	x.Status = http.StatusOK
	head := bytes.NewBufferString("HTTP/1.1 200 OK\r\nConnection: close\r\n")
	_ = x.Header().Write(head) // into a buffer
	head.WriteString("\r\n")
	_ = conn.SetWriteDeadline(time.Now().Add(eventWriteTimeout))
	_, _ = conn.Write(head.Bytes()) // if it fails, the next write does too
	return conn, nil
}

// YieldingConn is a connection that yields the processor to requests before each write.
type YieldingConn interface {
	// StopYielding has it write at once from now on. It is called before any further write.
	StopYielding()
}

// stopYielding has a connection write at once: to yield before each write of a message to thousands of
// subscribers takes a quarter more of processor time.
func stopYielding(conn net.Conn) {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	if c, ok := conn.(YieldingConn); ok {
		c.StopYielding()
	}
}

// awaitEnd returns a channel that is closed when the client disconnects or sends
// anything: after this request it has nothing to say.
func awaitEnd(conn net.Conn) <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = conn.Read(make([]byte, 1)) // whatever it returns
	}()
	return gone
}

// eventStream sends events to one client.
type eventStream struct {
	api        *API
	subscriber *live.Subscriber
	credential string
	expires    int64 // Unix seconds, of a key that expires
	// err is set when the credential turns out to be no longer valid.
	err error
	out eventWriter
	// gone is closed when the client disconnects.
	gone <-chan struct{}
	// lease holds the budget of the request where the stream outlives its handler.
	lease *limit.Lease[netip.Prefix]
}

func (s *eventStream) run() {
	defer s.lease.Release()
	defer s.subscriber.Close()
	if c, ok := s.out.(io.Closer); ok {
		defer c.Close()
	}
	if s.send(s.appendGreeting) != nil {
		return
	}
	pulse := time.NewTicker(contract.CommentInterval)
	defer pulse.Stop()
	expired := s.expiry()
	for err := error(nil); err == nil; {
		select {
		case <-expired:
			return
		case e := <-s.subscriber.Events():
			err = s.send(func(buf []byte) []byte { return s.appendQueued(s.appendEvent(buf, e)) })
		case <-pulse.C:
			if err = s.checkCredential(); err == nil {
				err = s.send(appendHeartbeat)
			}
		case <-s.subscriber.Done():
			if errors.Is(s.subscriber.Err(), live.ErrDraining) {
				_ = s.send(func(buf []byte) []byte { return appendRetry(s.appendQueued(buf)) }) // the client reconnects in any case
			}
			return
		case <-s.gone:
			return
		}
	}
}

// expiry returns a channel that receives when a key expires, nil for all other
// credentials, which the heartbeat checks.
func (s *eventStream) expiry() <-chan time.Time {
	if s.expires == 0 {
		return nil
	}
	return time.After(time.Unix(s.expires, 0).Sub(s.api.Config.Now()))
}

// checkCredential returns an error when the credential is no longer valid.
func (s *eventStream) checkCredential() error {
	verified, err := s.api.Verifier.VerifyHeader(s.credential)
	if err == nil {
		_, err = s.api.ResolveCaller(context.Background(), verified.Caller)
	}
	return err
}

func (s *eventStream) appendGreeting(buf []byte) []byte {
	buf = appendRetry(buf)
	for _, d := range s.subscriber.Greeting() {
		buf = s.appendDelivery(buf, d)
	}
	return buf
}

// appendQueued appends the events that are queued.
func (s *eventStream) appendQueued(buf []byte) []byte {
	for len(buf) < maxEventBatch {
		select {
		case e := <-s.subscriber.Events():
			buf = s.appendEvent(buf, e)
		default:
			return buf
		}
	}
	return buf
}

func (s *eventStream) appendEvent(buf []byte, e *event.Event) []byte {
	if d, ok := s.subscriber.Accept(e); ok {
		buf = s.appendDelivery(buf, d)
	}
	return buf
}

func (s *eventStream) send(fill func([]byte) []byte) error {
	buf, _ := s.api.buffers.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	defer s.api.buffers.Put(buf)
	*buf = fill((*buf)[:0])
	if s.err != nil {
		return s.err
	}
	_ = s.out.SetWriteDeadline(time.Now().Add(eventWriteTimeout))
	_, err := s.out.Write(*buf)
	return err
}
