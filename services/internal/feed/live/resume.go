package live

import (
	"context"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

// resumeAfter has the subscriber receive what it missed after an event. It receives every
// missed message, whichever process sent it the last one. Of all other sources it
// receives the current value, if this process followed them all the time.
func (s *Subscriber) resumeAfter(ctx context.Context, id string) error {
	last, err := parseCursor(id)
	lost := err != nil || !s.followedSince(last)
	if err == nil {
		missed, err := s.loadBacklog(ctx, last)
		if err != nil {
			return err
		}
		lost = lost || missed
	}
	if lost {
		s.backlog = append([]*event.Event{event.NewResync(s.channel)}, s.backlog...)
		return nil
	}
	s.resumedAt = last.sequence
	for _, source := range s.allSources() {
		if s.broker.publishedSince(source, last.sequence, s.side) {
			s.owed++
			source.resendMissed(resumption{s, last.sequence, s.cursor.sequence})
		}
	}
	return nil
}

// endOfResumption returns the mark that follows what a source resends.
func endOfResumption() *event.Event { return &event.Event{} }

func endsResumption(e *event.Event) bool { return e.Name == "" }

// followedSince reports whether this broker knows everything that has changed since
// a cursor.
func (s *Subscriber) followedSince(last Cursor) bool {
	s.broker.publishing.Lock()
	defer s.broker.publishing.Unlock()
	if last.broker != s.broker.id {
		return false
	}
	for _, source := range s.sources {
		if source.since.of(s.side) > last.sequence {
			return false
		}
	}
	return true
}

// allSources returns the subscriber's sources, with each group of polls replaced by
// its polls.
func (s *Subscriber) allSources() (all []*trackedSource) {
	for _, source := range s.sources {
		if group, ok := source.refresher.(*pollGroup); ok {
			all = append(all, group.allPolls()...)
		} else {
			all = append(all, source)
		}
	}
	return all
}

// publishedSince reports whether a source has published anything for a side after an event.
func (b *Broker) publishedSince(s *trackedSource, after uint64, side event.Sight) bool {
	b.publishing.Lock()
	defer b.publishing.Unlock()
	for _, e := range s.newestOf(side) {
		if numberOf(e, side) > after {
			return true
		}
	}
	return false
}

// loadBacklog reads the messages between a cursor and the one from which the
// subscriber receives events. It reports whether some are not in memory any more.
func (s *Subscriber) loadBacklog(ctx context.Context, last Cursor) (lost bool, err error) {
	s.before = s.cursor
	for i, f := range s.feeds {
		if f == nil {
			continue
		}
		from, joined := last.messages[i], s.cursor.messages[i].number
		switch {
		case !from.followed:
			lost = true
			continue
		case from.number >= joined: // the other process was ahead
			s.cursor.messages[i], s.before.messages[i] = from, from
			continue
		}
		source := f.refresher.(*itemRefresher).source
		change, err := s.broker.options.Reader.Changes(ctx, source, event.Knowledge{Message: from.number}, 0, time.Now(), s.side)
		if err != nil {
			return false, err
		}
		lost = lost || change.Missed
		for _, step := range change.Steps {
			if e := step.Event; e.Message > 0 && e.Message <= joined && s.includesEvent(e) {
				s.backlog = append(s.backlog, e)
			}
		}
		s.before.messages[i] = from
	}
	missed, err := s.loadBuffers(ctx, last)
	return lost || missed, err
}

// loadBuffers is loadBacklog for the entries of buffers.
func (s *Subscriber) loadBuffers(ctx context.Context, last Cursor) (lost bool, err error) {
	if len(last.chunks) != len(s.buffers) {
		return len(s.buffers) > 0, nil
	}
	s.before.chunks = slices.Clone(s.cursor.chunks)
	for i := range s.buffers {
		missed, err := s.loadEntries(ctx, i, last.chunks[i])
		if err != nil {
			return false, err
		}
		lost = lost || missed
	}
	return lost, nil
}

// missedPages limits the pages of entries of one buffer that a subscriber receives when it
// resumes.
const missedPages = 64

// loadEntries reads the entries of a buffer between a chunk and the one from which the
// subscriber receives events. It reports whether there are more than it may receive.
func (s *Subscriber) loadEntries(ctx context.Context, i int, from uint64) (lost bool, err error) {
	joined, source := s.cursor.chunks[i], s.buffers[i].refresher.(*itemRefresher).source
	if from >= joined { // the other process was ahead
		s.cursor.chunks[i], s.before.chunks[i] = from, from
		return false, nil
	}
	s.before.chunks[i] = from
	for range missedPages {
		change, err := s.broker.options.Reader.Changes(ctx, source, event.Knowledge{Head: from}, 0, time.Now(), s.side)
		if err != nil {
			return false, err
		}
		for _, step := range change.Steps {
			for _, e := range append(step.Event.ByChannel(), step.Event) {
				if e = e.Clip(from, joined); e != nil && s.isAddressed(e) && s.includesEvent(e) {
					s.backlog = append(s.backlog, e)
				}
			}
			from = step.After.Head
		}
		if len(change.Steps) == 0 || from >= joined {
			return false, nil
		}
	}
	s.before.chunks[i] = from
	return true, nil
}

// isAddressed reports whether an event is for one of the subscriber's audiences.
func (s *Subscriber) isAddressed(e *event.Event) bool {
	return e.Audience == s.channel || e.Audience == s.extension
}
