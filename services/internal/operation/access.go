package operation

import (
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

// mayRead reports whether the caller's credential is good for a poll. Only overlay keys
// are limited to some.
func (c *Caller) mayRead(poll string) bool { return c.Role != Overlay || c.Key.Shows(poll) }

// CheckReads refuses an overlay key that does not name a poll.
func (c *Caller) CheckReads(poll string) error {
	if !c.mayRead(poll) {
		return errRole()
	}
	return nil
}

func errRole() error {
	return fault.New(fault.Forbidden, "The JWT role is not allowed to perform this operation.")
}

// PollTopics returns the topics of a caller's subscription. An overlay key has those of the
// events about its polls: all of them, unless it names some.
func (c *Caller) PollTopics(topics []string) ([]string, error) {
	if c.Role != Overlay {
		return topics, nil
	}
	for _, topic := range topics {
		if !c.mayFollow(topic) {
			return nil, errRole()
		}
	}
	if len(topics) > 0 {
		return topics, nil
	}
	polls := c.Key.Polls
	if c.Key.ShowsAllPolls() {
		polls = []string{"*"}
	}
	for _, question := range c.Key.Questions {
		topics = append(topics, contract.RankUpdate+question)
	}
	for _, poll := range polls {
		topics = append(topics, contract.PollEvents(poll)...)
	}
	return topics, nil
}

// mayFollow reports whether an overlay key is good for a topic.
func (c *Caller) mayFollow(topic string) bool {
	prefix, open := strings.CutSuffix(topic, "*")
	if !open {
		id, ok := event.PollID(topic)
		return ok && c.Key.Shows(id) || slices.ContainsFunc(c.Key.Questions, func(id string) bool { return topic == contract.RankUpdate+id })
	}
	// Up to the colon, messages may have names with the prefix.
	_, ok := event.PollPrefix(prefix)
	return ok && strings.Contains(prefix, ":") && c.Key.ShowsAllPolls()
}

// accessRule lists the roles that may use a route.
type accessRule struct {
	roles []Role
	// validatedAdmin admits only validated admins.
	validatedAdmin bool
}

func (a accessRule) allowsCaller(c *Caller) bool {
	if c.Role == Admin && a.validatedAdmin && !c.Validated {
		return false
	}
	return slices.Contains(a.roles, c.Role)
}

// AllowRoles returns the rule that admits callers of these roles.
func AllowRoles(roles ...Role) accessRule { return accessRule{roles: roles} }

// The access lists of section 4.
func anyone() accessRule { return AllowRoles(Viewer, Broadcaster, Admin, Backend) }

// onlookers are anyone and overlay keys.
func onlookers() accessRule { return AllowRoles(Viewer, Broadcaster, Admin, Backend, Overlay) }
func staff() accessRule     { return AllowRoles(Broadcaster, Admin, Backend) }

// AdminOrBackend admits servers: backends and validated admins.
func AdminOrBackend() accessRule {
	return accessRule{roles: []Role{Admin, Backend}, validatedAdmin: true}
}

// isGlobal reports whether an id names a poll or a question of all channels (section 2.1).
func isGlobal(id string) bool { return strings.HasPrefix(id, "global") }

// CheckOwner refuses staff that the extension does not let own what belongs to all channels.
func (c *Caller) CheckOwner(id string) error {
	owners := staff()
	switch c.Extension.GlobalPolls {
	case "admin":
		owners = AdminOrBackend()
	case "backend":
		owners = AllowRoles(Backend)
	}
	if isGlobal(id) && !owners.allowsCaller(c) {
		return fault.New(fault.Forbidden, "The JWT role is not allowed to perform this operation.")
	}
	return nil
}
