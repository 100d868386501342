package live

import (
	"strings"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

// topic is the name of an event or, with * at its end, a prefix of names.
type topic string

func parseTopics(texts []string) ([]topic, error) {
	if len(texts) > contract.MaxTopics {
		return nil, fault.Newf(fault.Invalid, "There must be at most %d topics", contract.MaxTopics)
	}
	topics := make([]topic, len(texts))
	for i, text := range texts {
		star := strings.IndexByte(text, '*')
		if text == "" || len(text) > contract.MaxTopic || star >= 0 && star < len(text)-1 {
			return nil, fault.New(fault.Invalid, "Invalid topic")
		}
		topics[i] = topic(text)
		if star >= 0 && topics[i].isForStaff() {
			return nil, fault.New(fault.Invalid, "A topic of accumulate or rank_update must be the whole name")
		}
	}
	return topics, nil
}

// namePrefix returns the topic without its *, and whether it has one.
func (t topic) namePrefix() (prefix string, open bool) { return strings.CutSuffix(string(t), "*") }

func (t topic) matchesName(name string) bool {
	if prefix, open := t.namePrefix(); open {
		return strings.HasPrefix(name, prefix)
	}
	return string(t) == name
}

// pollPrefix returns the id of the poll that a topic names or, if open, the prefix of
// their ids. ok is false when it names none.
func (t topic) pollPrefix() (id string, open, ok bool) {
	prefix, open := t.namePrefix()
	if open {
		id, ok = event.PollPrefix(prefix)
	} else {
		id, ok = event.PollID(prefix)
	}
	return id, open, ok
}

// isForStaff reports whether a topic names what only staff receives.
func (t topic) isForStaff() bool {
	_, ok := event.NamedSource("", "", "", string(t))
	return ok
}

// includesMessages reports whether a topic may name messages.
func (t topic) includesMessages() bool {
	prefix, _ := t.namePrefix()
	return event.IsMessageName(prefix)
}
