package live

import (
	"context"
	"sync"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Subscription says who listens, and to what.
type Subscription struct {
	Environment, Extension, Channel string
	// OpaqueID is whose whispers are heard; empty: nobody's.
	OpaqueID string
	// Topics are names of events, or what they begin with and then *. Without any
	// all is heard that there is.
	Topics []string
	// LastEventID is that of the last event that was heard, or empty.
	LastEventID string
}

// Listener is one who listens. Greet and Append are for one goroutine.
type Listener struct {
	hub     *Hub
	own     audience // the channel
	whole   audience // the extension
	opaque  string
	topics  []topic
	sources []*source
	feeds   [2]*source // of the channel and of the extension; nil: not listened to

	position position
	// owed is how many sources have still to tell what was missed after resumed.
	// As long as they have, the listener has heard all up to there only.
	owed    int
	resumed uint64
	backlog []*event
	before  position // of the backlog

	events chan *event
	done   chan struct{}
	once   sync.Once
	reason error
}

// Subscribe returns a listener that hears of every change from now on and, first,
// of what it missed since LastEventID. The caller closes it.
//
// A subscription that makes no sense is fault.Invalid; fault.Unavailable means
// that there are too many listeners or that this process is going away. Errors of
// reading are those of the domains.
func (h *Hub) Subscribe(ctx context.Context, s Subscription) (*Listener, error) {
	topics, err := parseTopics(s.Topics)
	if err != nil {
		return nil, err
	}
	l := &Listener{
		hub:    h,
		own:    audience{environment: s.Environment, extension: s.Extension, channel: s.Channel},
		whole:  audience{environment: s.Environment, extension: s.Extension, global: true},
		opaque: s.OpaqueID,
		topics: topics,
		events: make(chan *event, h.options.Buffer),
		done:   make(chan struct{}),
	}
	err = l.follow(ctx)
	if err == nil {
		err = h.join(l)
	}
	if err == nil && s.LastEventID != "" {
		err = l.resume(ctx, s.LastEventID)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// join has a listener hear from now on.
func (h *Hub) join(l *Listener) error {
	h.publishing.Lock()
	defer h.publishing.Unlock()
	switch {
	case h.draining:
		return errClosed()
	case h.listeners >= h.options.MaxListeners:
		return fault.New(fault.Unavailable, "too many listeners")
	}
	h.listeners++
	h.leaving.Add(1)
	for _, a := range []audience{l.own, l.whole} {
		if h.rooms[a] == nil {
			h.rooms[a] = map[*Listener]struct{}{}
		}
		h.rooms[a][l] = struct{}{}
	}
	l.position = position{hub: h.id, number: h.number}
	for i, f := range l.feeds {
		if f != nil {
			l.position.feeds[i] = new(f.message)
		}
	}
	return nil
}

// Close ends the listener.
func (l *Listener) Close() {
	l.end(context.Canceled)
	l.hub.leave(l)
	for _, s := range l.sources {
		l.hub.release(s)
	}
	l.sources = nil
}

func (h *Hub) leave(l *Listener) {
	h.publishing.Lock()
	defer h.publishing.Unlock()
	if _, joined := h.rooms[l.own][l]; !joined {
		return
	}
	h.listeners--
	h.leaving.Done()
	for _, a := range []audience{l.own, l.whole} {
		delete(h.rooms[a], l)
		if len(h.rooms[a]) == 0 {
			delete(h.rooms, a)
		}
	}
}

// end tells the listener's goroutine that there is nothing more to hear.
func (l *Listener) end(reason error) {
	l.once.Do(func() {
		l.reason = reason
		close(l.done)
	})
}

// Done is closed when the listener is cut off. Err then says why.
func (l *Listener) Done() <-chan struct{} { return l.done }

// Err returns ErrSlow, ErrDraining or, after Close, another error. It is for after
// Done.
func (l *Listener) Err() error { return l.reason }

// Events are what there is to hear, for Append.
func (l *Listener) Events() <-chan *event { return l.events }

// hears reports whether an event of one of the listener's rooms is for it.
func (l *Listener) hears(e *event) bool {
	if e.to != "" && e.to != l.opaque {
		return false
	}
	if len(l.topics) == 0 || e.name == resync {
		return true
	}
	for _, t := range l.topics {
		if t.matches(e.name) {
			return true
		}
	}
	return false
}

// offer hands an event to the listener, who is cut off when it has too many
// already. hub.publishing is held.
func (l *Listener) offer(e *event) {
	if e.frame != nil && !l.hears(e) {
		return
	}
	select {
	case l.events <- e:
		l.hub.stats.delivered.Add(1)
	default:
		l.hub.stats.slow.Add(1)
		l.end(ErrSlow)
	}
}

// Append appends an event as it is sent: its id and its frame, or nothing where
// the listener has heard it before.
func (l *Listener) Append(buf []byte, e *event) []byte {
	if e.frame == nil {
		if l.owed--; l.owed > 0 {
			return buf
		}
		return append(l.appendID(buf, l.position), '\n')
	}
	l.position.number = max(l.position.number, e.number)
	if e.message > 0 {
		feed := l.position.feeds[0]
		if e.audience.global {
			feed = l.position.feeds[1]
		}
		if e.message <= *feed {
			return buf
		}
		*feed = e.message
	}
	return append(l.appendID(buf, l.position), e.frame...)
}

func (l *Listener) appendID(buf []byte, p position) []byte {
	if l.owed > 0 {
		p.number = l.resumed
	}
	return append(p.append(append(buf, "id: "...)), '\n')
}

// Greet appends what comes first: what was missed of messages, and the id from
// which one who hears nothing can go on.
func (l *Listener) Greet(buf []byte) []byte {
	now := l.position
	l.position = l.before
	for _, e := range l.backlog {
		buf = l.Append(buf, e)
	}
	l.position, l.backlog = now, nil
	return append(l.appendID(buf, l.position), '\n')
}
