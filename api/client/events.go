package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/tmaxmax/go-sse"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// idleTimeout is the longest silence of a stream; the service sends a comment every 15 s.
const idleTimeout = time.Minute

// Resync is the name of an event after which a subscriber reads again what it shows: the
// service does not know what it has missed.
const Resync = contract.Resync

// Event is an event of the service, or a message.
type Event struct {
	Target string // broadcast, global or whisper-<id>
	Name   string // such as vote_update:lunch; [Resync]: what was read may be outdated
	Data   json.RawMessage
}

// Subscribe calls receive with each event of the topics, or of all that the caller may
// receive where there are none, until that returns an error, the service refuses, or the
// context ends. It returns that error. After an interruption it resumes: every message
// arrives, and the latest value of everything else.
//
// With subscribed other than nil, Subscribe calls that each time the subscription is in
// force: what is read from then on is followed by every later change.
func (c *Client) Subscribe(ctx context.Context, topics []string, subscribed func() error, receive func(Event) error) error {
	pause := backoff.NewExponentialBackOff()
	s := &subscription{client: c, topics: topics, subscribed: subscribed, receive: receive, pause: pause}
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := s.follow(ctx)
		refused := &Error{}
		switch {
		case err == nil: // the service ends a stream with its token, or when it drains
			err = errInterrupted
		case errors.As(err, &refused) && refused.Status < http.StatusInternalServerError && refused.Status != http.StatusTooManyRequests,
			errors.As(err, new(*receiverError)):
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(0))
	if stopped, ok := errors.AsType[*receiverError](err); ok {
		return stopped.error
	}
	return err
}

var errInterrupted = errors.New("the stream has ended")

// receiverError is an error of the receiver, or of an event that cannot be read.
type receiverError struct{ error }

type subscription struct {
	client     *Client
	topics     []string
	subscribed func() error
	receive    func(Event) error
	pause      *backoff.ExponentialBackOff
	last       string // the id of the last event
}

// follow receives events until the stream ends.
func (s *subscription) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer body.Close()
	s.pause.Reset()
	if s.subscribed != nil {
		if err := s.subscribed(); err != nil {
			return &receiverError{err}
		}
	}
	idle := time.AfterFunc(idleTimeout, cancel)
	defer idle.Stop()
	for message, err := range sse.Read(&watchedReader{body, idle}, nil) {
		if err != nil {
			return err
		}
		if s.last = message.LastEventID; message.Data == "" {
			continue // the id alone: a place to resume from
		}
		event, err := parseEvent(message)
		if err == nil {
			err = s.receive(event)
		}
		if err != nil {
			return &receiverError{err}
		}
	}
	return nil
}

func parseEvent(message sse.Event) (Event, error) {
	var envelope struct {
		Event string
		Data  json.RawMessage
	}
	err := json.Unmarshal([]byte(message.Data), &envelope)
	event := Event{Target: message.Type, Data: envelope.Data}
	if parts := strings.SplitN(envelope.Event, ":", 3); len(parts) == 3 {
		event.Name = parts[2] // after the environment and the extension
	}
	return event, err
}

// open opens the stream with each credential until the service accepts one.
func (s *subscription) open(ctx context.Context) (io.ReadCloser, error) {
	values, err := s.client.credentials()
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	err = errors.New("no key to sign with")
	for _, value := range values {
		var body io.ReadCloser
		if body, err = s.openWith(ctx, value); StatusOf(err) != http.StatusUnauthorized {
			return body, err
		}
	}
	return nil, err
}

func (s *subscription) openWith(ctx context.Context, credential string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.client.base+"/events"+encodeQuery(url.Values{"topic": s.topics}), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", credential)
	if s.last != "" {
		request.Header.Set("Last-Event-ID", s.last)
	}
	endless := *s.client.http
	endless.Timeout = 0
	response, err := endless.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxResponseBytes))
	return nil, errors.Join(newError(response, content), err)
}

// watchedReader puts a timer off with each read.
type watchedReader struct {
	io.Reader

	idle *time.Timer
}

func (r *watchedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.idle.Reset(idleTimeout)
	return n, err
}
