package live

import (
	"context"
	"maps"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

// followTopics acquires every source that the subscriber asked for.
func (s *Subscriber) followTopics(ctx context.Context) error {
	wanted := s.wantedSources()
	for _, name := range slices.Sorted(maps.Keys(wanted)) { // so that errors are always the same
		source, err := s.broker.acquireSource(name, s.quota, wanted[name])
		if err != nil {
			return err
		}
		s.sources = append(s.sources, source)
	}
	for _, source := range s.sources {
		if err := source.awaitFirst(ctx); err != nil {
			return err
		}
	}
	for _, source := range s.sources { // ordered by name
		if source.kind == event.Buffer {
			s.buffers = append(s.buffers, source)
		}
	}
	for i, feed := range s.allFeeds() {
		if at := slices.IndexFunc(s.sources, func(source *trackedSource) bool { return source.name == feed.Name }); at >= 0 {
			s.feeds[i] = s.sources[at]
		}
	}
	return nil
}

// audiences returns the subscriber's channel and its extension.
func (s *Subscriber) audiences() [2]event.Audience { return [2]event.Audience{s.channel, s.extension} }

// allFeeds returns the feeds with messages for the subscriber, in the order of a cursor.
func (s *Subscriber) allFeeds() []event.Source {
	feeds := []event.Source{event.FeedSource(s.channel), event.FeedSource(s.extension)}
	if s.opaqueID != "" {
		feeds = append(feeds, event.WhisperSource(s.channel))
	}
	return feeds
}

// sourceFactories create sources, by the sources' names.
type sourceFactories = map[string]func() *trackedSource

// wantedSources returns factories of the sources that the subscriber needs.
func (s *Subscriber) wantedSources() sourceFactories {
	topics := s.topics
	if len(topics) == 0 {
		topics = []topic{"*"}
	}
	wanted := sourceFactories{}
	if s.key.Name != "" {
		s.addSource(wanted, s.key)
	}
	for _, t := range topics {
		s.addPolls(wanted, t)
		if named, ok := event.NamedSource(s.channel.Environment, s.channel.Extension, s.channel.Channel, string(t)); ok {
			s.addSource(wanted, named)
		}
		for _, a := range s.audiences() {
			for _, d := range event.DocumentSources(a) {
				if t.matchesName(d.UpdateName()) {
					s.addSource(wanted, d)
				}
			}
		}
		if s.games {
			s.addGames(wanted, t)
			continue
		}
		if t.includesMessages() {
			for _, feed := range s.allFeeds() {
				s.addSource(wanted, feed)
			}
		}
	}
	return wanted
}

// addGames adds the sources that only games follow.
func (s *Subscriber) addGames(wanted sourceFactories, t topic) {
	switch {
	case t.matchesName(event.PairingUpdate):
		s.addSource(wanted, event.PairingSource(s.channel))
	case t.includesMessages():
		s.addSource(wanted, event.GameSource(s.channel))
	}
}

func (s *Subscriber) addSource(wanted sourceFactories, of event.Source) {
	wanted[of.Name] = func() *trackedSource { return s.broker.newItem(of) }
}

func (s *Subscriber) addPolls(wanted sourceFactories, t topic) {
	id, open, ok := t.pollPrefix()
	if !ok {
		return
	}
	own := s.channel
	if !open {
		s.addSource(wanted, event.PollSource(own.Environment, own.Extension, own.Channel, id))
		return
	}
	for _, a := range event.PollAudiences(own.Environment, own.Extension, own.Channel, id) {
		wanted[event.PollStreams(a)] = func() *trackedSource { return s.broker.newPollGroup(a) }
	}
}
