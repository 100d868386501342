package gamelink

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/operation"

	"github.com/cenkalti/backoff/v5"
	"github.com/coder/websocket"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/feed/live"
	"github.com/acclaim-dev/acclaim/services/pairing"
)

// topicKey names a subscription of a connection.
type topicKey struct{ target, id string }

// feed turns events into pushes until it is closed.
type feed interface{ close() }

// eventHandler does what follows from an event. Where it fails, it is called again.
type eventHandler func(context.Context, *event.Event) error

// subscription is a subscriber of the broker whose events a goroutine turns into pushes.
type subscription struct {
	subscriber *live.Subscriber
	cancel     context.CancelFunc
	ended      chan struct{}
}

func (s *subscription) close() {
	s.cancel()
	s.subscriber.Close()
	<-s.ended
}

// subscribe has each event of topics handled. A repeated one changes nothing.
func (c *connection) subscribe(name topicKey, topics []string, handle eventHandler) error {
	return c.addFeed(name, func() (feed, error) { return c.follow(c.ctx, c.identity.channel, topics, handle) })
}

// addFeed opens the feed of that name unless there is one.
func (c *connection) addFeed(name topicKey, open func() (feed, error)) error {
	if c.subscriptions[name] != nil {
		return nil
	}
	if len(c.subscriptions) >= contract.MaxGameSubscriptions {
		return refuse(http.StatusTooManyRequests, "Too many subscriptions of one connection")
	}
	f, err := open()
	if err == nil {
		c.subscriptions[name] = f
	}
	return err
}

func (c *connection) follow(ctx context.Context, channel string, topics []string, handle eventHandler) (*subscription, error) {
	i := c.speaksFor()
	subscriber, err := c.server.options.Live.Subscribe(ctx, live.Subscription{
		Environment: string(c.server.options.Environment), Extension: c.extension.ClientID, Channel: channel,
		Staff: true, OwnsGlobal: i.ownsGlobal, Games: true, Topics: topics,
		ChannelShare: !i.server, // which follows many channels
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &subscription{subscriber, cancel, make(chan struct{})}
	go func() {
		defer close(s.ended)
		defer cancel()
		for {
			select {
			case e := <-subscriber.Events():
				c.handleEvent(ctx, e, handle)
			case <-subscriber.Done():
				switch {
				case errors.Is(subscriber.Err(), live.ErrSlow):
					go c.end(websocket.StatusPolicyViolation, "the client does not keep up")
				case errors.Is(subscriber.Err(), live.ErrDraining):
					go c.end(websocket.StatusGoingAway, "this process is shutting down")
				}
				return
			}
		}
	}()
	return s, nil
}

// maxTries limits how often an event is handled that fails to be, to about 10 seconds.
const maxTries = 10

// handleEvent handles an event, again where that fails. Where it fails too often, the
// connection ends, as no later event may repeat what this one says: a client that connects
// again reads everything.
func (c *connection) handleEvent(ctx context.Context, e *event.Event, handle eventHandler) {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval, pauses.Multiplier = 50*time.Millisecond, 2*time.Second, 2
	try := func() (struct{}, error) { return struct{}{}, handle(ctx, e) }
	_, err := backoff.Retry(ctx, try, backoff.WithBackOff(pauses), backoff.WithMaxTries(maxTries), backoff.WithMaxElapsedTime(0))
	if err != nil && ctx.Err() == nil {
		c.server.options.Logger.Warn("a game was cut off", "extension", c.extension.ClientID, "event", e.Name, "error", err)
		go c.end(websocket.StatusTryAgainLater, "an update cannot be read") // it waits for the client
	}
}

func (c *connection) unsubscribe(name topicKey) {
	if s := c.subscriptions[name]; s != nil {
		delete(c.subscriptions, name)
		s.close()
	}
}

func (c *connection) closeSubscriptions() {
	for name := range c.subscriptions {
		c.unsubscribe(name)
	}
	c.forgetPolls()
}

// watchPairing closes the connection when its pairing ends.
func (c *connection) watchPairing() error {
	if c.watch != nil {
		return nil
	}
	i := c.identity
	channel := pairing.Channel{Owner: c.owner(), ID: i.channel}
	check := func(ctx context.Context, _ *event.Event) error {
		_, err := c.server.options.Pairing.Resolve(ctx, channel, i.pairing, c.keyIDs())
		if fault.KindOf(err) == fault.Unauthenticated {
			go c.end(closedRevoked, "the pairing has ended") // it waits for the client
			return nil
		}
		return err
	}
	s, err := c.follow(c.ctx, i.channel, []string{event.PairingUpdate}, check)
	if err != nil {
		return err
	}
	c.watch = s
	return check(c.ctx, nil)
}

func (c *connection) unwatch() {
	if c.watch != nil {
		c.watch.close()
		c.watch = nil
	}
}

// datastreamEvent is an object that a viewer sent.
type datastreamEvent struct {
	Event     json.RawMessage `json:"event"`
	Timestamp int64           `json:"timestamp"` // Unix seconds
}

func (c *connection) subscribeDatastream(r *gameRequest) (any, error) {
	if r.data.text("topic_id"); r.data.err != nil {
		return nil, r.data.err
	}
	return done{true}, c.subscribe(topicKey{contract.PushDatastream, ""}, []string{operation.DatastreamMessage}, func(_ context.Context, e *event.Event) error {
		if e.Name == operation.DatastreamMessage {
			c.push(contract.PushDatastream, map[string]any{"events": []datastreamEvent{{e.Data, c.server.options.Now().Unix()}}})
		}
		return nil
	})
}

func (c *connection) unsubscribeDatastream(*gameRequest) (any, error) {
	c.unsubscribe(topicKey{contract.PushDatastream, ""})
	return done{true}, nil
}
