package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/pairing"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// overlayRoutes returns the routes of overlay keys, the credentials of broadcast software.
func overlayRoutes() []Route {
	return []Route{
		{Method: http.MethodPost, Path: "/overlay_keys", access: staff(), handle: (*API).postOverlayKey},
		{Method: http.MethodGet, Path: "/overlay_keys", access: staff(), handle: (*API).getOverlayKeys},
		{Method: http.MethodDelete, Path: "/overlay_keys", access: staff(), handle: (*API).deleteOverlayKey},
	}
}

// resolveCaller returns the caller of a credential that can be revoked, as long as it is
// good, and any other caller unchanged.
func (a *API) resolveCaller(ctx context.Context, c *Caller) (*Caller, error) {
	if c.Role != Overlay {
		return a.resolveFamily(ctx, c)
	}
	if a.config.Pairing == nil {
		return nil, unauthenticated(fault.New(fault.Unauthenticated, "no overlay keys are known here"))
	}
	key, err := a.config.Pairing.ResolveOverlayKey(ctx, c.pairingChannel(), c.KeyID, a.config.Now())
	if fault.KindOf(err) == fault.Unauthenticated {
		err = unauthenticated(err)
	}
	if err != nil {
		return nil, err
	}
	resolved := *c
	resolved.Key = key
	return &resolved, nil
}

// mayRead reports whether the caller's credential is good for a poll. Only overlay keys
// are limited to some.
func (c *Caller) mayRead(poll string) bool { return c.Role != Overlay || c.Key.Shows(poll) }

func (c *Caller) checkReads(poll string) error {
	if !c.mayRead(poll) {
		return errRole()
	}
	return nil
}

func errRole() error {
	return fault.New(fault.Forbidden, "The JWT role is not allowed to perform this operation.")
}

// pollTopics returns the topics of a caller's subscription. An overlay key has those of the
// events about its polls: all of them, unless it names some.
func (c *Caller) pollTopics(topics []string) ([]string, error) {
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
		topics = append(topics, event.RankName(question))
	}
	for _, poll := range polls {
		topics = append(topics, event.PollNames(poll)...)
	}
	return topics, nil
}

// mayFollow reports whether an overlay key is good for a topic.
func (c *Caller) mayFollow(topic string) bool {
	prefix, open := strings.CutSuffix(topic, "*")
	if !open {
		id, ok := event.PollID(topic)
		return ok && c.Key.Shows(id) || slices.ContainsFunc(c.Key.Questions, func(id string) bool { return topic == event.RankName(id) })
	}
	// Up to the colon, messages may have names with the prefix.
	_, ok := event.PollPrefix(prefix)
	return ok && strings.Contains(prefix, ":") && c.Key.ShowsAllPolls()
}

// newOverlayKey is the answer to the creation of a key. Its credential is in no other
// answer.
type newOverlayKey struct {
	pairing.OverlayKey
	// Credential is the value of the Authorization header, and of access_token.
	Credential string `json:"credential"`
}

func (a *API) postOverlayKey(w http.ResponseWriter, r *apiRequest) error {
	body, now := decodeObject(r.body), a.config.Now()
	key := pairing.OverlayKey{ID: pairing.NewOverlayID(), Name: body.text("name"), Created: now.Unix()}
	if body.has("polls") {
		key.Polls = append([]string{}, body.texts("polls")...)
	}
	if body.has("questions") {
		key.Questions = append([]string{}, body.texts("questions")...)
	}
	if body.has("expires") {
		key.Expires = max(1, body.integer("expires", 0)) // 0 is none
	}
	if body.err != nil {
		return body.err
	}
	if r.caller.hasQuotas() {
		if err := a.take(r, "Too many bytes stored", r.byteClaims(1)...); err != nil {
			return err
		}
	}
	if err := a.config.Pairing.AddOverlayKey(r.Context(), r.caller.pairingChannel(), key, now); err != nil {
		return err
	}
	token, err := a.signToken(r.caller.Extension, sandbox.Grant{
		Role: string(Overlay), ChannelID: r.caller.ChannelID, OpaqueID: "overlay-" + key.ID, KeyID: key.ID, Lifetime: key.Lifetime(now),
	})
	if err != nil {
		return err
	}
	return writeValue(w, newOverlayKey{key, r.caller.Extension.ClientID + " " + token})
}

func (a *API) getOverlayKeys(w http.ResponseWriter, r *apiRequest) error {
	keys, err := a.config.Pairing.OverlayKeys(r.Context(), r.caller.pairingChannel(), a.config.Now())
	if err != nil {
		return err
	}
	return writeValue(w, map[string][]pairing.OverlayKey{"keys": append([]pairing.OverlayKey{}, keys...)})
}

func (a *API) deleteOverlayKey(w http.ResponseWriter, r *apiRequest) error {
	id, _ := r.queryParameter("id")
	return writeDone(w, a.config.Pairing.RevokeOverlayKey(r.Context(), r.caller.pairingChannel(), id))
}
