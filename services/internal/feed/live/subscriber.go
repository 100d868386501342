package live

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

// Subscription is a client's wish for events.
type Subscription struct {
	Environment, Extension, Channel string
	// OpaqueID and UserID name the viewer whose whispers are included; empty: none are.
	OpaqueID, UserID string
	// Identity is the holder of quotas; empty: only the extension's hold.
	Identity string
	// Staff reports that hidden results are included, AllChannels that entries of buffers
	// are from whichever channel.
	Staff, AllChannels bool
	// OwnsGlobal reports that hidden results of the polls and questions of all channels are
	// included, too.
	OwnsGlobal bool
	// ChannelShare has the subscription count for the games of its channel, which have an eighth
	// of what subscribers hold. It is for subscriptions without an Identity.
	ChannelShare bool
	// OwnConnection reports that the client has a connection for its events alone.
	OwnConnection bool
	// Games reports that the client is a game: it receives the messages to games,
	// configurations and pairings that its topics name, and no other messages.
	Games bool
	// Key holds the keys that the client's credential belongs to, where that is a key: it receives an
	// event when they change. Without, the name is empty.
	Key event.Source
	// Overlay reports that the client has an overlay key, which receives what its topics name of
	// staff. The caller has checked these.
	Overlay bool
	// Topics are names of events, or prefixes of names that * follows. Without topics
	// all events are included.
	Topics []string
	// LastEventID identifies the last event that the client received, or empty.
	LastEventID string
}

// Subscriber receives the events of one subscription. Greeting and Accept are for one
// goroutine.
type Subscriber struct {
	broker    *Broker
	channel   event.Audience
	extension event.Audience
	opaqueID  string
	userID    string // digits, or empty
	side      event.Sight
	games     bool
	key       event.Source
	overlay   bool
	topics    []topic

	ownsGlobal bool

	leases  subscriberLeases
	quota   *sourceQuota
	sources []*trackedSource
	feeds   [3]*trackedSource // as in a cursor; nil: not followed
	buffers []*trackedSource  // likewise

	allChannels bool

	cursor Cursor
	// owed counts the sources that have yet to send the events that were missed after resumedAt. Until
	// they have, the client has received everything up to there only.
	owed      int
	resumedAt uint64
	backlog   []*event.Event
	before    Cursor // of the backlog

	events chan *event.Event
	done   chan struct{}
	once   sync.Once
	reason error
}

// Subscribe returns a subscriber that receives every change from now on and, first,
// what it missed since LastEventID. The caller closes it.
//
// An impossible subscription is fault.Invalid, one beyond a quota of its identity or
// extension fault.RateLimited; fault.Unavailable means that there are too many
// subscribers or that this process is shutting down. Errors of reading are those of the
// domains.
func (b *Broker) Subscribe(ctx context.Context, s Subscription) (*Subscriber, error) {
	topics, err := parseTopics(s.Topics)
	if err != nil {
		return nil, err
	}
	subscriber := &Subscriber{
		broker:    b,
		channel:   event.Audience{Environment: s.Environment, Extension: s.Extension, Channel: s.Channel},
		extension: event.Audience{Environment: s.Environment, Extension: s.Extension, Global: true},
		opaqueID:  s.OpaqueID,
		userID:    digitsOnly(s.UserID),
		side:      event.Viewers,

		ownsGlobal: s.OwnsGlobal,
		games:      s.Games,
		key:        s.Key,
		overlay:    s.Overlay,
		topics:     topics,

		allChannels: s.AllChannels,
		events:      make(chan *event.Event, b.tuning.buffer),
		done:        make(chan struct{}),
	}
	if s.Staff {
		subscriber.side = event.Staff
	} else if !s.Overlay && slices.ContainsFunc(topics, topic.isForStaff) {
		return nil, fault.New(fault.Forbidden, "The JWT role is not allowed to perform this operation.")
	}
	subscriber.leases, err = b.quotas.takeSubscriber(s)
	if err == nil {
		subscriber.quota = b.quotas.sourceQuotaOf(s)
		err = subscriber.followTopics(ctx)
	}
	if err == nil {
		err = b.addSubscriber(subscriber)
	}
	if err == nil && s.LastEventID != "" {
		err = subscriber.resumeAfter(ctx, s.LastEventID)
	}
	if err != nil {
		subscriber.Close()
		return nil, err
	}
	return subscriber, nil
}

// addSubscriber has a subscriber receive events from now on.
func (b *Broker) addSubscriber(s *Subscriber) error {
	b.publishing.Lock()
	defer b.publishing.Unlock()
	if b.draining {
		return errClosed()
	}
	b.subscribers++
	b.leaving.Add(1)
	for _, a := range s.audiences() {
		if b.topics[a] == nil {
			b.topics[a] = map[*Subscriber]struct{}{}
		}
		b.topics[a][s] = struct{}{}
	}
	s.cursor = Cursor{broker: b.id, sequence: b.sequence.of(s.side)}
	for i, f := range s.feeds {
		if f != nil {
			s.cursor.messages[i] = feedCursor{followed: true, number: f.message}
		}
	}
	for _, b := range s.buffers {
		s.cursor.chunks = append(s.cursor.chunks, b.message)
	}
	return nil
}

// Close ends the subscription.
func (s *Subscriber) Close() {
	s.disconnect(context.Canceled)
	s.broker.removeSubscriber(s)
	for _, source := range s.sources {
		s.broker.releaseSource(source)
	}
	s.sources = nil
	s.leases.release()
}

func (b *Broker) removeSubscriber(s *Subscriber) {
	b.publishing.Lock()
	defer b.publishing.Unlock()
	if _, joined := b.topics[s.channel][s]; !joined {
		return
	}
	b.subscribers--
	b.leaving.Done()
	for _, a := range s.audiences() {
		delete(b.topics[a], s)
		if len(b.topics[a]) == 0 {
			delete(b.topics, a)
		}
	}
}

// disconnect ends the flow of events for a reason.
func (s *Subscriber) disconnect(reason error) {
	s.once.Do(func() {
		s.reason = reason
		close(s.done)
	})
}

// Done is closed when the subscriber is disconnected.
func (s *Subscriber) Done() <-chan struct{} { return s.done }

// Err returns ErrSlow, ErrDraining or, after Close, another error. It is for after
// Done.
func (s *Subscriber) Err() error { return s.reason }

// Events returns the channel of events. The caller passes each one to Accept.
func (s *Subscriber) Events() <-chan *event.Event { return s.events }

// sideOf returns the side that the subscriber is on for an event: staff that does not own the
// polls and questions of all channels sees of them what viewers do.
func (s *Subscriber) sideOf(e *event.Event) event.Sight {
	if e.Audience.Global && !s.ownsGlobal && event.IsOwned(e.Name) {
		return event.Viewers
	}
	return s.side
}

// includesEvent reports whether an event of one of the subscriber's audiences belongs to
// its subscription.
func (s *Subscriber) includesEvent(e *event.Event) bool {
	if !e.For.Reaches(s.sideOf(e)) && (!s.overlay || !e.Named) {
		return false
	}
	if e.Keys {
		return s.key.Name != ""
	}
	if s.games {
		return (e.Games || e.Message == 0) && s.matchesName(e.Name)
	}
	return !e.Games && s.mayReceive(e) && s.namesEvent(e)
}

// mayReceive reports whether an event is not one to another viewer.
func (s *Subscriber) mayReceive(e *event.Event) bool {
	return e.To == "" || e.To == s.opaqueID || e.To == s.userID
}

// namesEvent reports whether the subscriber's topics include an event.
func (s *Subscriber) namesEvent(e *event.Event) bool {
	if _, _, ok := e.Span(); ok && e.Audience.Global != s.allChannels {
		return false
	}
	if e.Named {
		return slices.Contains(s.topics, topic(e.Name))
	}
	return len(s.topics) == 0 || s.matchesName(e.Name)
}

// matchesName reports whether the subscriber's topics include a name.
func (s *Subscriber) matchesName(name string) bool {
	return name == contract.Resync || slices.ContainsFunc(s.topics, func(t topic) bool { return t.matchesName(name) })
}

// digitsOnly returns a user id, and "" for what is none: the id in a whisper that is not
// all digits is an opaque id.
func digitsOnly(id string) string {
	if strings.Trim(id, "0123456789") != "" {
		return ""
	}
	return id
}

// TargetOf returns the target of an event that the subscriber receives. That of a whisper
// has the subscriber's own opaque id, whichever id it was addressed to.
func (s *Subscriber) TargetOf(e *event.Event) string {
	if e.To == "" || s.opaqueID == "" {
		return e.Target()
	}
	return event.WhisperTarget(s.opaqueID)
}

// offerEvent queues an event for the subscriber, which is disconnected when its buffer is
// full. broker.publishing is held.
func (s *Subscriber) offerEvent(e *event.Event) {
	if !endsResumption(e) && !s.includesEvent(e) {
		return
	}
	select {
	case s.events <- e:
		s.broker.stats.delivered.Add(1)
	default:
		s.broker.stats.slow.Add(1)
		s.disconnect(ErrSlow)
	}
}

// Delivery is an event for a client, with the id from which it can resume. Without
// an event only the id has changed.
type Delivery struct {
	ID    Cursor
	Event *event.Event
}

// Accept returns the delivery of an event. ok is false where there is none, because
// the client has received the event before.
func (s *Subscriber) Accept(e *event.Event) (d Delivery, ok bool) {
	if endsResumption(e) {
		if s.owed--; s.owed > 0 {
			return Delivery{}, false
		}
		return Delivery{ID: s.resumableFrom(s.cursor)}, true
	}
	s.cursor.sequence = max(s.cursor.sequence, numberOf(e, s.side))
	if _, _, ok := e.Span(); ok {
		if e = s.acceptEntries(e); e == nil {
			return Delivery{}, false
		}
	}
	if e.Message > 0 {
		last := &s.cursor.messages[0]
		switch {
		case e.Audience.Global:
			last = &s.cursor.messages[1]
		case e.Whisper:
			last = &s.cursor.messages[2]
		}
		if e.Message <= last.number {
			return Delivery{}, false
		}
		last.number = e.Message
	}
	return Delivery{ID: s.resumableFrom(s.cursor), Event: e}, true
}

// acceptEntries returns an event about a buffer without the entries that the client has
// received before, nil when it has all.
func (s *Subscriber) acceptEntries(e *event.Event) *event.Event {
	i := slices.IndexFunc(s.buffers, func(b *trackedSource) bool { return e.IsFrom(b.name) })
	last := &s.cursor.chunks[i]
	_, end, _ := e.Span()
	clipped := e.Clip(*last, end)
	if end > *last { // the cursor before is in ids that were handed out
		s.cursor.chunks = slices.Clone(s.cursor.chunks)
		s.cursor.chunks[i] = end
	}
	return clipped
}

// resumableFrom returns the id for a cursor: as long as missed events are owed, it
// stays before them.
func (s *Subscriber) resumableFrom(c Cursor) Cursor {
	if s.owed > 0 {
		c.sequence = s.resumedAt
	}
	return c
}

// Greeting returns the first deliveries: the messages that were missed, and the id
// from which a client that receives no event can resume.
func (s *Subscriber) Greeting() (all []Delivery) {
	now := s.cursor
	s.cursor = s.before
	for _, e := range s.backlog {
		if d, ok := s.Accept(e); ok {
			all = append(all, d)
		}
	}
	s.cursor, s.backlog = now, nil
	return append(all, Delivery{ID: s.resumableFrom(s.cursor)})
}
