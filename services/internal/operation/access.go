package operation

import (
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

// mayRead reports whether the caller's credential is good for a poll. Only overlay keys
// are limited to some, and devices to one.
func (c *Caller) mayRead(poll string) bool {
	switch c.Role {
	case Overlay:
		return c.Key.Shows(poll)
	case Device:
		return c.Poll == poll
	}
	return true
}

// CheckReads refuses an overlay key that does not name a poll, and a device of another one.
func (c *Caller) CheckReads(poll string) error {
	if !c.mayRead(poll) {
		return errRole()
	}
	return nil
}

func errRole() error {
	return fault.New(fault.Forbidden, "The JWT role is not allowed to perform this operation.")
}

// PollTopics returns the topics of a caller's subscription. A key has those of the events about its
// polls: all of them, unless it names some.
func (c *Caller) PollTopics(topics []string) ([]string, error) {
	refused := isOfBuffers
	switch {
	case c.Role == Overlay || c.Role == StaffKey:
		refused = func(topic string) bool { return !c.mayFollow(topic) }
	case !c.isModerator():
		return topics, nil
	}
	switch {
	case slices.ContainsFunc(topics, refused):
		return nil, errRole()
	case len(topics) > 0 || c.isModerator():
		return topics, nil
	case c.Role == StaffKey && !c.hasScope(contract.ScopePolls):
		return []string{contract.RankUpdate}, nil // of no question: events about answers have to be named
	}
	return c.keyTopics(), nil
}

// keyTopics returns all topics that a key is good for.
func (c *Caller) keyTopics() (topics []string) {
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
	return topics
}

func isOfBuffers(topic string) bool { return strings.HasPrefix(topic, contract.Accumulate) }

// mayFollow reports whether a key is good for a topic.
func (c *Caller) mayFollow(topic string) bool {
	if c.Role == StaffKey && (!c.hasScope(contract.ScopePolls) || strings.HasPrefix(topic, contract.RankUpdate)) {
		return c.hasScope(contract.ScopeAnswers) && strings.HasPrefix(topic, contract.RankUpdate)
	}
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
	// scopes admit staff keys that have one of them.
	scopes []string
	// withoutGames refuses tokens of games, which end with a pairing: what they make would not.
	withoutGames bool
}

func (a accessRule) allowsCaller(c *Caller) bool {
	if c.Role == Admin && a.validatedAdmin && !c.Validated {
		return false
	}
	if a.withoutGames && c.Family != "" {
		return false
	}
	return slices.Contains(a.roles, c.Role) || slices.ContainsFunc(a.scopes, c.hasScope)
}

// AllowRoles returns the rule that admits callers of these roles.
func AllowRoles(roles ...Role) accessRule { return accessRule{roles: roles} }

// The access lists of section 4.
func anyone() accessRule { return AllowRoles(Viewer, Broadcaster, Admin, Backend) }

// onlookers are anyone and overlay keys.
func onlookers() accessRule { return AllowRoles(Viewer, Broadcaster, Admin, Backend, Overlay) }
func staff() accessRule     { return AllowRoles(Broadcaster, Admin, Backend) }

// orScopes returns the rule that admits staff keys with one of the scopes, too.
func (a accessRule) orScopes(scopes ...string) accessRule { a.scopes = scopes; return a }

// orPolls and orAnswers admit staff keys for polls or for answers, orAnyKey those for either.
func (a accessRule) orPolls() accessRule   { return a.orScopes(contract.ScopePolls) }
func (a accessRule) orAnswers() accessRule { return a.orScopes(contract.ScopeAnswers) }
func (a accessRule) orAnyKey() accessRule {
	return a.orScopes(contract.ScopePolls, contract.ScopeAnswers)
}

// persons are the staff without games.
func persons() accessRule { a := staff(); a.withoutGames = true; return a }

// and adds a role to those of a rule.
func (a accessRule) and(role Role) accessRule {
	a.roles = append(slices.Clone(a.roles), role)
	return a
}

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
