package live

import "context"

// resume has the listener hear what it missed after an event it heard. Messages
// are told one by one, whichever process it heard the last one from. Of all else
// it is told what there is now, if that was followed in this process all the time.
func (l *Listener) resume(ctx context.Context, id string) error {
	last, err := parsePosition(id)
	lost := err != nil || !l.remembered(last)
	if err == nil {
		missed, err := l.recall(ctx, last)
		if err != nil {
			return err
		}
		lost = lost || missed
	}
	if lost {
		first := newEvent(l.own, "", resync, []byte("{}"))
		l.backlog = append([]*event{first}, l.backlog...)
		return nil
	}
	l.resumed = last.number
	for _, s := range l.all() {
		if l.hub.hasSince(s, last.number) {
			l.owed++
			s.redeliver(returned{l, last.number, l.position.number})
		}
	}
	return nil
}

// remembered reports whether this hub knows everything that has changed since a
// position.
func (l *Listener) remembered(last position) bool {
	l.hub.publishing.Lock()
	defer l.hub.publishing.Unlock()
	if last.hub != l.hub.id {
		return false
	}
	for _, s := range l.sources {
		if s.since > last.number {
			return false
		}
	}
	return true
}

// all returns the listener's sources and those of the polls among them that are
// followed together.
func (l *Listener) all() (all []*source) {
	for _, s := range l.sources {
		if together, ok := s.subject.(*siblings); ok {
			all = append(all, together.all()...)
		} else {
			all = append(all, s)
		}
	}
	return all
}

// hasSince reports whether a source has told anything after an event.
func (h *Hub) hasSince(s *source, after uint64) bool {
	h.publishing.Lock()
	defer h.publishing.Unlock()
	for _, e := range s.sent {
		if e.number > after {
			return true
		}
	}
	return false
}

// recall fetches the messages between a position and the one from which the
// listener hears. It reports whether some are not at hand any more.
func (l *Listener) recall(ctx context.Context, last position) (lost bool, err error) {
	l.before = l.position
	for i, f := range l.feeds {
		if f == nil {
			continue
		}
		from, joined := last.feeds[i], *l.position.feeds[i]
		switch {
		case from == nil:
			lost = true
			continue
		case *from >= joined: // the other process was ahead
			l.position.feeds[i] = from
			continue
		}
		feed := f.subject.(*feed)
		page, err := feed.messages.Since(ctx, feed.feed, *from)
		if err != nil {
			return false, err
		}
		lost = lost || missed(page, *from)
		for _, m := range page.Messages {
			if e := feed.event(m); m.Number <= joined && l.hears(e) {
				l.backlog = append(l.backlog, e)
			}
		}
		l.before.feeds[i] = new(*from)
	}
	return lost, nil
}
