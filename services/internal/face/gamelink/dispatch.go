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
func (r *gameRequest) forgetUnknown(known map[[2]string]handler) {
	if _, ok := known[[2]string{r.action, r.target}]; !ok && !r.isAuthenticate() && !r.awaitsAuthentication() {
		r.action, r.target = "", ""
	}
}

// handlers returns the handler of each action and target. Only staff of the channel reaches them.
func handlers() map[[2]string]handler {
	all := map[[2]string]handler{{contract.ActionBroadcast, ""}: (*connection).broadcast}
	add := func(actions map[string]handler, targets ...string) {
		for _, target := range targets {
			for action, handle := range actions {
				all[[2]string{action, target}] = handle
			}
		}
	}
	add(map[string]handler{
		contract.ActionCreate: (*connection).createPoll, contract.ActionGet: (*connection).getPoll,
		contract.ActionDelete: (*connection).deletePoll, contract.ActionReconfigure: (*connection).reconfigurePoll,
		contract.ActionSubscribe: (*connection).subscribePoll, contract.ActionUnsubscribe: (*connection).unsubscribePoll,
	}, contract.PushPoll)
	add(map[string]handler{
		contract.ActionGet: (*connection).getState, contract.ActionSet: (*connection).setState,
		contract.ActionPatch: (*connection).patchState, contract.ActionUpdate: (*connection).patchState,
		contract.ActionSubscribe: (*connection).subscribeState, contract.ActionUnsubscribe: (*connection).unsubscribeState,
	}, contract.GameState, contract.GameChannel, contract.GameExtension)
	add(map[string]handler{
		contract.ActionGet: (*connection).getConfig, contract.ActionSet: (*connection).setConfig, contract.ActionPatch: (*connection).patchConfig,
		contract.ActionSubscribe: (*connection).subscribeConfig, contract.ActionUnsubscribe: (*connection).unsubscribeConfig,
	}, contract.PushConfig)
	add(map[string]handler{contract.ActionSubscribe: (*connection).subscribeDatastream, contract.ActionUnsubscribe: (*connection).unsubscribeDatastream}, contract.PushDatastream)
	add(map[string]handler{contract.ActionSubscribe: (*connection).subscribePurchases, contract.ActionUnsubscribe: (*connection).unsubscribePurchases},
		contract.PushPurchase, contract.GameTransaction, contract.GameTransactionComplete, contract.GameTransactionCompleted)
	add(map[string]handler{
		contract.ActionGet: (*connection).getTransactions, contract.ActionValidate: (*connection).validateTransaction, contract.ActionRefund: (*connection).refundTransaction,
	}, contract.GameTransaction)
	add(map[string]handler{
		contract.ActionSubscribe: answerOK, contract.ActionUnsubscribe: answerOK, contract.ActionClear: answerOK, contract.ActionRemove: answerOK,
	}, contract.GameMatchmaking)
	add(map[string]handler{contract.ActionGet: getDrops, contract.ActionValidate: validateDrop}, contract.GameDrops)
	add(map[string]handler{contract.ActionSet: (*connection).setMetadata}, contract.GameMetadata)
	add(map[string]handler{contract.ActionSet: (*connection).setActions}, contract.GameActions)
	add(map[string]handler{contract.ActionSet: (*connection).setActionState}, contract.GameActionState)
	add(map[string]handler{
		contract.ActionCreate: (*connection).createMatch, contract.ActionKeepAlive: (*connection).keepMatch, contract.ActionBroadcast: (*connection).broadcastMatch,
		contract.ActionAddChannels: (*connection).addChannels, contract.ActionRemoveChannels: (*connection).removeChannels,
	}, contract.GameMatch)
	add(map[string]handler{
		contract.ActionCreate: (*connection).createMatchPoll, contract.ActionDelete: (*connection).deleteMatchPoll, contract.ActionReconfigure: (*connection).reconfigureMatchPoll,
		contract.ActionSubscribe: (*connection).subscribeMatch, contract.ActionUnsubscribe: (*connection).unsubscribeMatch,
	}, contract.PushMatchPoll)
	return all
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
	all := []string{contract.ActionAuthenticate, contract.ActionSubscribe + " " + contract.GameAuthentication}
	for name := range handlers() {
		all = append(all, strings.TrimSpace(name[0]+" "+name[1]))
	}
	slices.Sort(all)
	return all
}
