package gamelink

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

// stateAnswer is the data of answers about a state document.
type stateAnswer struct {
	OK    bool            `json:"ok"`
	State json.RawMessage `json:"state"`
}

// statePath returns the route of the document that a request names: by state_id or, in the
// older form, by its target.
func (r *gameRequest) statePath(member string) (id, path string, err error) {
	if id = r.target; id == "state" {
		id = r.data.text(member)
	}
	switch id {
	case "channel", "extension":
		return id, "/" + id + "_state", r.data.err
	}
	return "", "", fault.Newf(fault.Invalid, "%s must be channel or extension", member)
}

func (c *connection) getState(r *gameRequest) (any, error) {
	_, path, err := r.statePath("state_id")
	if err != nil {
		return nil, err
	}
	return c.readState(path)
}

func (c *connection) readState(path string) (any, error) {
	body, err := c.call(c.ctx, http.MethodGet, path, nil)
	return stateAnswer{true, body}, err
}

func (c *connection) setState(r *gameRequest) (any, error) {
	return c.writeState(r, http.MethodPost, '{')
}

func (c *connection) patchState(r *gameRequest) (any, error) {
	return c.writeState(r, http.MethodPatch, '[')
}

func (c *connection) writeState(r *gameRequest, method string, first byte) (any, error) {
	_, path, err := r.statePath("state_id")
	body := r.data.raw("state", first)
	if err == nil {
		err = r.data.err
	}
	if err == nil {
		_, err = c.call(httpapi.WithGamePatch(c.ctx), method, path, body)
	}
	if err != nil {
		return nil, err
	}
	return c.readState(path)
}

func (c *connection) subscribeState(r *gameRequest) (any, error) {
	id, _, err := r.statePath("topic_id")
	if err != nil {
		return nil, err
	}
	return done{true}, c.subscribe(topicKey{"state", id}, []string{id + "_state_update"}, func(_ context.Context, e *event.Event) error {
		c.push(id, map[string]any{"topic_id": id, "state": e.Data})
		return nil
	})
}

func (c *connection) unsubscribeState(r *gameRequest) (any, error) {
	id, _, err := r.statePath("topic_id")
	c.unsubscribe(topicKey{"state", id})
	return done{true}, err
}

// configAnswer is the data of answers and pushes about a configuration.
type configAnswer struct {
	Config json.RawMessage `json:"config"`
	ID     string          `json:"config_id"`
	Topic  string          `json:"topic_id,omitempty"`
}

func (c *connection) getConfig(r *gameRequest) (any, error) {
	path := ""
	id := r.data.text("config_id")
	switch id {
	case "channel", "extension":
		path = "/config/" + id
	case "combined":
		path = "/config"
	default:
		return nil, fault.New(fault.Invalid, "config_id must be channel, extension or combined")
	}
	body, err := c.call(c.ctx, http.MethodGet, path, nil)
	return configAnswer{Config: body, ID: id}, err
}

func (c *connection) setConfig(r *gameRequest) (any, error) {
	return c.writeConfig(r, http.MethodPost, '{')
}

func (c *connection) patchConfig(r *gameRequest) (any, error) {
	return c.writeConfig(r, http.MethodPatch, '[')
}

func (c *connection) writeConfig(r *gameRequest, method string, first byte) (any, error) {
	body := r.data.raw("config", first)
	if r.data.err != nil {
		return nil, r.data.err
	}
	_, err := c.call(httpapi.WithGamePatch(c.ctx), method, "/config/channel", body)
	return done{true}, err
}

// configTopic returns the configuration that a subscription names.
func (r *gameRequest) configTopic() (string, error) {
	id := r.data.text("config_id")
	if id == "" {
		id = r.data.text("topic_id")
	}
	if r.data.err != nil || id != "channel" && id != "extension" {
		return "", fault.New(fault.Invalid, "config_id must be channel or extension")
	}
	return id, nil
}

func (c *connection) subscribeConfig(r *gameRequest) (any, error) {
	id, err := r.configTopic()
	if err != nil {
		return nil, err
	}
	return done{true}, c.subscribe(topicKey{"config", id}, []string{id + "_config_update"}, func(_ context.Context, e *event.Event) error {
		c.push("config", configAnswer{Config: e.Data, ID: id, Topic: id})
		return nil
	})
}

func (c *connection) unsubscribeConfig(r *gameRequest) (any, error) {
	id, err := r.configTopic()
	c.unsubscribe(topicKey{"config", id})
	return done{true}, err
}
