package live

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/state"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// follow has everything followed that the listener wants to hear of.
func (l *Listener) follow(ctx context.Context) error {
	wanted := l.wanted()
	for _, name := range slices.Sorted(maps.Keys(wanted)) { // so that errors are always the same
		s, err := l.hub.acquire(name, wanted[name])
		if err != nil {
			return err
		}
		l.sources = append(l.sources, s)
	}
	for _, s := range l.sources {
		if err := s.ready(ctx); err != nil {
			return err
		}
	}
	for i, f := range []message.Feed{l.own.feed(), l.whole.feed()} {
		if at := slices.IndexFunc(l.sources, func(s *source) bool { return s.name == f.Stream() }); at >= 0 {
			l.feeds[i] = l.sources[at]
		}
	}
	return nil
}

func (a audience) feed() message.Feed {
	return message.Feed{Environment: a.environment, Extension: a.extension, Channel: a.channel, Global: a.global}
}

// wanted returns how the sources are made that the listener needs, by name.
func (l *Listener) wanted() makers {
	topics := l.topics
	if len(topics) == 0 {
		topics = []topic{"*"}
	}
	wanted := makers{}
	for _, t := range topics {
		l.addPolls(wanted, t)
		for _, a := range []audience{l.own, l.whole} {
			if t.matches(a.stateUpdate()) {
				l.addDocument(wanted, a)
			}
			if t.messages() {
				l.addFeed(wanted, a)
			}
		}
	}
	return wanted
}

// makers are what makes sources, by the sources' names.
type makers = map[string]func() *source

func (l *Listener) addFeed(wanted makers, a audience) {
	wanted[a.feed().Stream()] = func() *source {
		return &source{every: l.hub.options.MessageEvery, subject: &feed{messages: l.hub.options.Messages, feed: a.feed(), audience: a}}
	}
}

func (a audience) stateUpdate() string {
	if a.global {
		return extensionStateUpdate
	}
	return channelStateUpdate
}

func (l *Listener) addDocument(wanted makers, a audience) {
	caller, scope := state.Caller{Environment: a.environment, Extension: a.extension, Channel: a.channel}, state.Channel
	if a.global {
		scope = state.Extension
	}
	name, _ := caller.Key(scope) // anyone has these
	wanted[name] = func() *source {
		return &source{sort: ofDocument, every: l.hub.options.DocumentEvery, subject: &stateDocument{
			documents: l.hub.options.Documents, caller: caller, scope: scope, name: a.stateUpdate(), audience: a,
		}}
	}
}

func (l *Listener) addPolls(wanted makers, t topic) {
	id, open, ok := t.polls()
	if !ok {
		return
	}
	one := voting.Poll{Environment: l.own.environment, Extension: l.own.extension, Channel: l.own.channel, ID: id}
	if !open {
		wanted[one.Stream()] = func() *source { return l.hub.newPoll(one, false) }
		return
	}
	shared := one
	shared.ID = "global"
	if one.Global() || strings.HasPrefix("global", id) {
		wanted[shared.Siblings()] = func() *source { return l.hub.newSiblings(shared) }
	}
	if !one.Global() {
		wanted[one.Siblings()] = func() *source { return l.hub.newSiblings(one) }
	}
}
