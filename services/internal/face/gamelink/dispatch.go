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
func (r *gameRequest) isAuthenticate() bool {
	return r.action == contract.ActionAuthenticate && r.target == ""
}

// awaitsAuthentication reports whether a request subscribes to what no push is about, which any
// connection may.
func (r *gameRequest) awaitsAuthentication() bool {
	return r.action == contract.ActionSubscribe && r.target == contract.GameAuthentication
}

// forgetUnknown drops an action or a target that no game has, so that an answer repeats no text
// of a client without a credential.
func (r *gameRequest) forgetUnknown(known map[[2]string]kind) {
	if _, ok := known[[2]string{r.action, r.target}]; !ok && !r.isAuthenticate() && !r.awaitsAuthentication() {
		r.action, r.target = "", ""
	}
}

// kind is a kind of request: its handler, and the members that its data may have.
type kind struct {
	handle  handler
	members memberTree
}

// requestKinds returns the kinds of requests by action and target. Only staff of the channel reaches them.
func requestKinds() map[[2]string]kind {
	all := map[[2]string]kind{{contract.ActionBroadcast, ""}: {(*connection).broadcast, only("topic", "data", "message", "ids")}}
	add := func(kinds map[string]kind, targets ...string) {
		for _, target := range targets {
			for action, k := range kinds {
				all[[2]string{action, target}] = k
			}
		}
	}
	config := only(append(configMembers(), "startsAt", "startsIn", "endsAt", "endsIn")...)
	poll := only("poll_id", "prompt", "options", "user_data").with("config", config)
	topic, sku := only("topic_id"), only("sku")
	add(map[string]kind{
		contract.ActionCreate: {(*connection).createPoll, poll}, contract.ActionGet: {(*connection).getPoll, only("poll_id")},
		contract.ActionDelete: {(*connection).deletePoll, only("poll_id")}, contract.ActionReconfigure: {(*connection).reconfigurePoll, only("poll_id").with("config", config)},
		contract.ActionSubscribe: {(*connection).subscribePoll, topic}, contract.ActionUnsubscribe: {(*connection).unsubscribePoll, topic},
	}, contract.PushPoll)
	add(map[string]kind{
		contract.ActionGet: {(*connection).getState, only("state_id")}, contract.ActionSet: {(*connection).setState, only("state_id", "state")},
		contract.ActionPatch: {(*connection).patchState, only("state_id", "state")}, contract.ActionUpdate: {(*connection).patchState, only("state_id", "state")},
		contract.ActionSubscribe: {(*connection).subscribeState, topic}, contract.ActionUnsubscribe: {(*connection).unsubscribeState, topic},
	}, contract.GameState, contract.GameChannel, contract.GameExtension)
	add(map[string]kind{
		contract.ActionGet: {(*connection).getConfig, only("config_id")}, contract.ActionSet: {(*connection).setConfig, only("config")}, contract.ActionPatch: {(*connection).patchConfig, only("config")},
		contract.ActionSubscribe: {(*connection).subscribeConfig, only("config_id", "topic_id")}, contract.ActionUnsubscribe: {(*connection).unsubscribeConfig, only("config_id", "topic_id")},
	}, contract.PushConfig)
	add(map[string]kind{contract.ActionSubscribe: {(*connection).subscribeDatastream, topic}, contract.ActionUnsubscribe: {(*connection).unsubscribeDatastream, topic}}, contract.PushDatastream)
	add(map[string]kind{contract.ActionSubscribe: {(*connection).subscribePurchases, sku}, contract.ActionUnsubscribe: {(*connection).unsubscribePurchases, sku}},
		contract.PushPurchase, contract.GameTransaction, contract.GameTransactionComplete, contract.GameTransactionCompleted)
	add(map[string]kind{
		contract.ActionGet: {(*connection).getTransactions, sku}, contract.ActionValidate: {(*connection).validateTransaction, only("transaction_id", "details")},
		contract.ActionRefund: {(*connection).refundTransaction, only("user_id", "transaction_id", "sku")},
	}, contract.GameTransaction)
	addMatches(add, poll, config)
	addUnserved(add)
	addGateway(add)
	return all
}

// addMatches adds the requests of matches, which only a server's connection may send.
func addMatches(add func(map[string]kind, ...string), poll, config memberTree) {
	id, channels := only("id"), only("id", "channel_ids")
	add(map[string]kind{
		contract.ActionCreate: {(*connection).createMatch, id}, contract.ActionKeepAlive: {(*connection).keepMatch, id},
		contract.ActionBroadcast:   {(*connection).broadcastMatch, only("match_id", "topic", "data", "message")},
		contract.ActionAddChannels: {(*connection).addChannels, channels}, contract.ActionRemoveChannels: {(*connection).removeChannels, channels},
	}, contract.GameMatch)
	add(map[string]kind{
		contract.ActionCreate: {(*connection).createMatchPoll, only("id").with("poll", poll)}, contract.ActionDelete: {(*connection).deleteMatchPoll, only("id", "poll_id")},
		contract.ActionReconfigure: {(*connection).reconfigureMatchPoll, only("id", "poll_id").with("config", config)},
		contract.ActionSubscribe:   {(*connection).subscribeMatch, only("topic_id")}, contract.ActionUnsubscribe: {(*connection).unsubscribeMatch, only("topic_id")},
	}, contract.PushMatchPoll)
}

// addUnserved adds requests that shipped games send, and for which there is nothing here.
func addUnserved(add func(map[string]kind, ...string)) {
	add(map[string]kind{
		contract.ActionSubscribe: {answerOK, only("operation")}, contract.ActionUnsubscribe: {answerOK, only("operation")},
		contract.ActionClear: {answerOK, only()}, contract.ActionRemove: {answerOK, only("id")},
	}, contract.GameMatchmaking)
	add(map[string]kind{contract.ActionGet: {getDrops, only("status")}, contract.ActionValidate: {validateDrop, only("id")}}, contract.GameDrops)
}

// addGateway adds the requests of the clients' Gateway layer, which change the channel's state.
func addGateway(add func(map[string]kind, ...string)) {
	action := only("id", "category", "state", "impact", "name", "description", "icon", "count")
	add(map[string]kind{contract.ActionSet: {(*connection).setMetadata, only("name", "logo", "theme")}}, contract.GameMetadata)
	add(map[string]kind{contract.ActionSet: {(*connection).setActions, only().with("actions", action)}}, contract.GameActions)
	add(map[string]kind{contract.ActionSet: {(*connection).setActionState, only("id", "count", "inventory", "state").with("delta_inventory", only("change"))}}, contract.GameActionState)
}

// dispatch returns the data of the answer to a request.
func (c *connection) dispatch(r *gameRequest) (any, error) {
	switch {
	case r.isAuthenticate():
		return c.authenticate(r)
	case r.awaitsAuthentication():
		return done{true}, nil
	case c.identity == nil:
		return nil, refuse(http.StatusForbidden, "The connection is not authenticated")
	case !c.caller.IsStaff():
		return nil, errNotStaff()
	case r.isOfMatches() && !c.identity.server:
		return nil, errNotServer()
	}
	k, ok := c.server.kinds[[2]string{r.action, r.target}]
	if !ok {
		return nil, refuse(http.StatusNotFound, "Unknown action or target")
	}
	if err := c.checkMembers(r, k.members); err != nil {
		return nil, err
	}
	return k.handle(c, r)
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
	all := []string{contract.ActionAuthenticate, contract.ActionSubscribe + " " + contract.GameAuthentication}
	for name := range requestKinds() {
		all = append(all, strings.TrimSpace(name[0]+" "+name[1]))
	}
	slices.Sort(all)
	return all
}
