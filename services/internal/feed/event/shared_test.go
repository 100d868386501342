package event_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/feed/live"
	"github.com/acclaim-dev/acclaim/services/internal/feed/sink"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/voting"
)

const registry = `
extensions:
- clientID: ext
  ownerUserID: "1000"
  secrets: [{value: b25lLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==}]
  sinks:
  - name: hook
    webhook: {url: "https://example.com/hook", secrets: [{value: aG9vay1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}
  - {name: viewers, pubsub: {}}
`

// counted counts the reads of polls.
type counted struct {
	event.PollReader
	reads atomic.Int64
}

func (c *counted) Conclude(ctx context.Context, p voting.Poll, now time.Time) (voting.Overview, error) {
	c.reads.Add(1)
	return c.PollReader.Conclude(ctx, p, now)
}

// received counts what another system received.
type received struct {
	mu       sync.Mutex
	requests int
}

func (r *received) RoundTrip(request *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	_, err := io.Copy(io.Discard, request.Body)
	return &http.Response{StatusCode: http.StatusNoContent, Header: http.Header{}, Body: http.NoBody, Request: request}, err
}

// A poll with a subscriber and two sinks is read once for each change, not three
// times.
func TestOneReadForEachChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, clock, notifier := storetest.NewMemory(), stream.SystemClock(), &event.Notifier{}
		hinting := stream.Options{Exclusive: true, Applied: notifier.Notify}
		votes := voting.NewService(store, clock, hinting)
		messages := message.NewService(store, clock, hinting)
		documents := document.NewService(store, clock, document.Options{Changed: notifier.Notify})
		polls, other := &counted{PollReader: votes}, &received{}
		reader := event.NewReader(event.Stores{Polls: polls, Documents: documents, Messages: messages})
		broker := live.New(live.Options{Reader: reader, Notifier: notifier, Streams: store.Streams})
		sinks := sink.New(sink.Options{
			Store: store, Reader: reader, Notifier: notifier, Streams: store.Streams, Keys: store.Keys,
			Tail: event.LocalTail{Streams: store, Documents: store}, Alone: true, Transport: other, Environments: []tenant.Environment{tenant.Production},
		})
		parsed, err := tenant.Parse([]byte(registry))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		sinks.Start(ctx, func() *tenant.Registry { return parsed })
		go sinks.Run(ctx)
		subscriber, err := broker.Subscribe(t.Context(), live.Subscription{Environment: "production", Extension: "ext", Channel: "1"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		<-time.After(2 * time.Minute) // rate limits have room
		poll := voting.Poll{Environment: "production", Extension: "ext", Channel: "1", ID: "p"}
		for n := range 10 {
			polls.reads.Store(0)
			sent := other.requests
			if _, err := votes.Vote(t.Context(), poll, voting.Voter{OpaqueID: fmt.Sprint("U", n)}, 1, 1); err != nil {
				t.Fatal(err)
			}
			<-time.After(3 * time.Second)
			synctest.Wait()
			if reads := polls.reads.Load(); reads != 1 {
				t.Errorf("vote %d: the poll was read %d times", n, reads)
			}
			if other.requests != sent+2 || len(subscriber.Events()) != n+1 {
				t.Errorf("vote %d: %d requests, %d events", n, other.requests-sent, len(subscriber.Events()))
			}
		}
		cancel()
		subscriber.Close()
		for _, closer := range []func(context.Context) error{sinks.Close, broker.Close, messages.Close, votes.Close, documents.Close} {
			if err := closer(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		}
	})
}
