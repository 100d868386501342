package gamelink

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// handler answers a request of an authenticated connection.
type handler func(c *connection, r *gameRequest) (any, error)

// errNotStaff refuses callers that are not a game of the channel's staff.
func errNotStaff() error {
	return refuse(http.StatusForbidden, "The JWT role is not allowed to perform this operation.")
}

// isAuthenticate reports whether a request brings a credential.
func (r *gameRequest) isAuthenticate() bool { return r.action == "authenticate" && r.target == "" }

// forgetUnknown drops an action or a target that no game has, so that an answer repeats no text
// of a client without a credential.
func (r *gameRequest) forgetUnknown(known map[[2]string]handler) {
	if _, ok := known[[2]string{r.action, r.target}]; !ok && !r.isAuthenticate() && (r.action != "subscribe" || r.target != "authentication") {
		r.action, r.target = "", ""
	}
}

// handlers returns the handler of each action and target. Only staff of the channel reaches them.
func handlers() map[[2]string]handler {
	all := map[[2]string]handler{
		{"create", "poll"}: (*connection).createPoll, {"get", "poll"}: (*connection).getPoll,
		{"delete", "poll"}: (*connection).deletePoll, {"reconfigure", "poll"}: (*connection).reconfigurePoll,
		{"subscribe", "poll"}: (*connection).subscribePoll, {"unsubscribe", "poll"}: (*connection).unsubscribePoll,

		{"get", "config"}: (*connection).getConfig, {"set", "config"}: (*connection).setConfig, {"patch", "config"}: (*connection).patchConfig,
		{"subscribe", "config"}: (*connection).subscribeConfig, {"unsubscribe", "config"}: (*connection).unsubscribeConfig,

		{"broadcast", ""}: (*connection).broadcast,

		{"subscribe", "datastream"}: (*connection).subscribeDatastream, {"unsubscribe", "datastream"}: (*connection).unsubscribeDatastream,

		{"get", "transaction"}: (*connection).getTransactions, {"validate", "transaction"}: (*connection).validateTransaction,
		{"refund", "transaction"}: (*connection).refundTransaction,

		{"subscribe", "matchmaking"}: answerOK, {"unsubscribe", "matchmaking"}: answerOK,
		{"clear", "matchmaking"}: answerOK, {"remove", "matchmaking"}: answerOK,
		{"get", "drops"}: getDrops, {"validate", "drops"}: validateDrop,

		{"set", "gameMetadata"}: (*connection).setMetadata, {"set", "gatewayActions"}: (*connection).setActions,
		{"set", "gatewayActionState"}: (*connection).setActionState,

		{"create", "match"}: (*connection).createMatch, {"keepalive", "match"}: (*connection).keepMatch,
		{"add_channels", "match"}: (*connection).addChannels, {"remove_channels", "match"}: (*connection).removeChannels,
		{"broadcast", "match"}: (*connection).broadcastMatch,

		{"create", "match_poll"}: (*connection).createMatchPoll, {"delete", "match_poll"}: (*connection).deleteMatchPoll,
		{"reconfigure", "match_poll"}: (*connection).reconfigureMatchPoll,
		{"subscribe", "match_poll"}:   (*connection).subscribeMatch, {"unsubscribe", "match_poll"}: (*connection).unsubscribeMatch,
	}
	for _, target := range []string{"state", "channel", "extension"} {
		all[[2]string{"get", target}], all[[2]string{"set", target}] = (*connection).getState, (*connection).setState
		all[[2]string{"patch", target}], all[[2]string{"update", target}] = (*connection).patchState, (*connection).patchState
		all[[2]string{"subscribe", target}], all[[2]string{"unsubscribe", target}] = (*connection).subscribeState, (*connection).unsubscribeState
	}
	for _, target := range []string{"twitchPurchaseBits", "transaction", "transaction_complete", "transaction_completed"} {
		all[[2]string{"subscribe", target}], all[[2]string{"unsubscribe", target}] = (*connection).subscribePurchases, (*connection).unsubscribePurchases
	}
	return all
}

// dispatch returns the data of the answer to a request.
func (c *connection) dispatch(r *gameRequest) (any, error) {
	switch {
	case r.isAuthenticate():
		return c.authenticate(r)
	case r.action == "subscribe" && r.target == "authentication":
		return done{true}, nil
	case c.identity == nil:
		return nil, refuse(http.StatusForbidden, "The connection is not authenticated")
	case !c.caller.IsStaff():
		return nil, errNotStaff()
	case r.isOfMatches() && !c.identity.server:
		return nil, errNotServer()
	}
	handle, ok := c.server.handlers[[2]string{r.action, r.target}]
	if !ok {
		return nil, refuse(http.StatusNotFound, "Unknown action or target")
	}
	return handle(c, r)
}

func answerOK(*connection, *gameRequest) (any, error) { return done{true}, nil }

// dropList is the answer to a request for drops: there are none here.
type dropList struct {
	Drops []struct{} `json:"drops"`
}

func getDrops(_ *connection, r *gameRequest) (any, error) {
	switch status := r.data.text("status"); status {
	case "FULFILLED", "CLAIMED", "*", "":
		return dropList{[]struct{}{}}, r.data.err
	}
	return nil, fault.New(fault.Invalid, "status must be FULFILLED, CLAIMED or *")
}

func validateDrop(_ *connection, r *gameRequest) (any, error) {
	r.data.text("id")
	if r.data.err != nil {
		return nil, r.data.err
	}
	return nil, refuse(http.StatusNotFound, "No such drop")
}

// newEvent returns the event that a request to broadcast describes.
func (d *gameData) newEvent() (gameEvent, error) {
	e := gameEvent{name: d.required("topic")}
	for _, name := range []string{"message", "data"} { // data wins
		if d.has(name) {
			e.data = d.raw(name, '{')
		}
	}
	if e.data == nil {
		d.fail("data")
	}
	return e, d.err
}

// gameEvent is an event that a game sends to viewers.
type gameEvent struct {
	name string
	data json.RawMessage
}

// broadcast sends an event to all viewers, or to those with the given ids.
func (c *connection) broadcast(r *gameRequest) (any, error) {
	ids := r.data.texts("ids")
	event, err := r.data.newEvent()
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return done{true}, c.sendEvent(c.ctx, event, "")
	}
	for _, id := range ids {
		if id == "" || len(id) > contract.MaxID {
			return nil, fault.New(fault.Invalid, "Invalid target")
		}
		if err := c.sendEvent(c.ctx, event, id); err != nil {
			return nil, err
		}
	}
	return done{true}, nil
}

// Operations returns every action with its target, such as "get poll".
func Operations() []string {
	all := []string{"authenticate", "subscribe authentication"}
	for name := range handlers() {
		all = append(all, strings.TrimSpace(name[0]+" "+name[1]))
	}
	slices.Sort(all)
	return all
}
