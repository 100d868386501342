package gamelink

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/coder/websocket"

	"github.com/acclaim-dev/acclaim/services/internal/event"
	"github.com/acclaim-dev/acclaim/services/internal/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/live"
	"github.com/acclaim-dev/acclaim/services/pairing"
)

// topicKey names a subscription of a connection.
type topicKey struct{ target, id string }

// feed turns events into pushes until it is closed.
type feed interface{ close() }

// subscription is a subscriber of the broker whose events a goroutine turns into pushes.
type subscription struct {
	subscriber *live.Subscriber
	ended      chan struct{}
}

func (s *subscription) close() {
	s.subscriber.Close()
	<-s.ended
}

// subscribe has handle called with each event of topics. A repeated one changes nothing.
func (c *connection) subscribe(name topicKey, topics []string, handle func(*event.Event)) error {
	return c.addFeed(name, func() (feed, error) { return c.follow(c.ctx, c.identity.channel, topics, handle) })
}

// addFeed opens the feed of that name unless there is one.
func (c *connection) addFeed(name topicKey, open func() (feed, error)) error {
	if c.subscriptions[name] != nil {
		return nil
	}
	if len(c.subscriptions) >= maxSubscriptions {
		return refuse(http.StatusTooManyRequests, "Too many subscriptions of one connection")
	}
	f, err := open()
	if err == nil {
		c.subscriptions[name] = f
	}
	return err
}

func (c *connection) follow(ctx context.Context, channel string, topics []string, handle func(*event.Event)) (*subscription, error) {
	subscriber, err := c.server.options.Live.Subscribe(ctx, live.Subscription{
		Environment: string(c.server.options.Environment), Extension: c.extension.ClientID, Channel: channel,
		Staff: true, Games: true, Topics: topics,
	})
	if err != nil {
		return nil, err
	}
	s := &subscription{subscriber, make(chan struct{})}
	go func() {
		defer close(s.ended)
		for {
			select {
			case e := <-subscriber.Events():
				handle(e)
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
}

// watchPairing closes the connection when its pairing ends.
func (c *connection) watchPairing() error {
	if c.watch != nil {
		return nil
	}
	i := c.identity
	channel := pairing.Channel{Owner: c.owner(), ID: i.channel}
	check := func(*event.Event) {
		if _, err := c.server.options.Pairing.Resolve(c.ctx, channel, i.family); err != nil && c.ctx.Err() == nil {
			go c.end(closedRevoked, "the pairing has ended") // it waits for the client
		}
	}
	s, err := c.follow(c.ctx, i.channel, []string{event.PairingUpdate}, check)
	if err == nil {
		c.watch = s
		check(nil)
	}
	return err
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
	return done{true}, c.subscribe(topicKey{"datastream", ""}, []string{httpapi.DatastreamMessage}, func(e *event.Event) {
		if e.Name == httpapi.DatastreamMessage {
			c.push("datastream", map[string]any{"events": []datastreamEvent{{e.Data, c.server.options.Now().Unix()}}})
		}
	})
}

func (c *connection) unsubscribeDatastream(*gameRequest) (any, error) {
	c.unsubscribe(topicKey{"datastream", ""})
	return done{true}, nil
}
