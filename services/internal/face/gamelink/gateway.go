package gamelink

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/state"
)

// patchOperation is an operation of a patch of the channel's state, on which the values of the
// Gateway ride.
type patchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func (c *connection) patchChannel(operations ...patchOperation) error {
	body, err := json.Marshal(operations)
	if err != nil {
		return err
	}
	return c.writeDocument("state.channel", state.Channel, body)
}

// metadataAnswer is the data of the answer to metadata.
type metadataAnswer struct {
	OK     bool  `json:"ok"`
	Stored *bool `json:"logo_stored,omitempty"`
}

func (c *connection) setMetadata(r *gameRequest) (any, error) {
	d := r.data
	values := map[string]string{"name": d.text("name"), "logo": d.text("logo"), "theme": d.text("theme")}
	switch {
	case d.err != nil:
		return nil, d.err
	case len(values["name"]) > contract.MaxGameName:
		return nil, fault.Newf(fault.Invalid, "name must be at most %d bytes", contract.MaxGameName)
	case len(values["logo"]) > contract.MaxGameLogo:
		return nil, refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("logo must be at most %d MiB", contract.MaxGameLogo>>20))
	}
	add := func(names ...string) error {
		var operations []patchOperation
		for _, name := range names {
			if values[name] != "" { // an empty one leaves the field as it is
				operations = append(operations, patchOperation{"add", "/game/metadata/" + name, values[name]})
			}
		}
		if len(operations) == 0 {
			return nil
		}
		return c.patchChannel(operations...)
	}
	err := add("name", "logo", "theme")
	if isStatus(err, http.StatusRequestEntityTooLarge) && values["logo"] != "" {
		return metadataAnswer{true, new(bool)}, add("name", "theme")
	}
	return metadataAnswer{OK: true}, err
}

// gatewayAction describes an action of viewers in a game.
type gatewayAction struct {
	ID          string `json:"id"`
	Category    string `json:"category"`
	State       string `json:"state"`
	Impact      int64  `json:"impact"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Icon        string `json:"icon"`
	Count       int64  `json:"count"`
	Inventory   int64  `json:"inventory"`
}

func (c *connection) setActions(r *gameRequest) (any, error) {
	var items []json.RawMessage
	if json.Unmarshal(r.data.raw("actions", '['), &items) != nil || r.data.err != nil {
		return nil, fault.New(fault.Invalid, "actions must be an array of objects")
	}
	actions := make([]gatewayAction, len(items))
	for i, item := range items {
		d := decodeData(item)
		a := gatewayAction{
			ID: d.required("id"), Category: d.text("category"), State: d.text("state"), Impact: d.integer("impact"),
			Name: d.text("name"), Description: d.text("description"), Icon: d.text("icon"), Count: d.integer("count"),
		}
		a.Inventory = a.Count
		if d.err != nil {
			return nil, d.err
		}
		actions[i] = a
	}
	return done{true}, c.patchChannel(patchOperation{"add", "/game/actions", actions})
}

// unlimited stands for an inventory without end.
const unlimited = 65535

// setActionState changes the count, the inventory or the state of an action. A test of the id
// at its place keeps two changes apart.
func (c *connection) setActionState(r *gameRequest) (any, error) {
	d := r.data
	id := d.required("id")
	count, inventory, state, change := d.integer("count"), d.integer("inventory"), d.text("state"), d.object("delta_inventory").integer("change")
	if d.err != nil {
		return nil, d.err
	}
	for range 8 {
		at, action, err := c.findAction(id)
		if err != nil {
			return nil, err
		}
		before := action
		switch {
		case d.has("count"):
			action.Count = count
		case d.has("inventory"):
			action.Inventory = inventory
		case d.has("state"):
			action.State = state
		case d.has("delta_inventory") && action.Inventory != unlimited && action.Inventory != -1:
			action.Inventory = max(action.Inventory+change, 0)
		}
		path := "/game/actions/" + strconv.Itoa(at)
		err = c.patchChannel(patchOperation{"test", path, before}, patchOperation{"replace", path, action})
		if !isStatus(err, http.StatusBadRequest) {
			return done{true}, err
		}
	}
	return nil, refuse(http.StatusServiceUnavailable, "The actions are being changed too often")
}

func (c *connection) findAction(id string) (int, gatewayAction, error) {
	body, err := c.readDocument("state.channel", state.Channel)
	if err != nil {
		return 0, gatewayAction{}, err
	}
	var channel struct {
		Game struct{ Actions []gatewayAction }
	}
	_ = json.Unmarshal(body, &channel) // others may write something else there
	at := slices.IndexFunc(channel.Game.Actions, func(a gatewayAction) bool { return a.ID == id })
	if at < 0 {
		return 0, gatewayAction{}, refuse(http.StatusNotFound, "No such action")
	}
	return at, channel.Game.Actions[at], nil
}
