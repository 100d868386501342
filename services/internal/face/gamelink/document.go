package gamelink

import (
	"context"
	"encoding/json"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/state"
)

// stateAnswer is the data of answers about a state document.
type stateAnswer struct {
	OK    bool            `json:"ok"`
	State json.RawMessage `json:"state"`
}

// stateID returns the document that a request names: by state_id or, in the older form, by its
// target.
func (r *gameRequest) stateID(member string) (id string, scope state.Scope, err error) {
	if id = r.target; id == contract.GameState {
		id = r.data.text(member)
	}
	switch id {
	case contract.GameChannel:
		return id, state.Channel, r.data.err
	case contract.GameExtension:
		return id, state.Extension, r.data.err
	}
	return "", scope, fault.Newf(fault.Invalid, "%s must be channel or extension", member)
}

// updateOf returns the name of the events about the state or the configuration with that id.
func updateOf(id string, config bool) string {
	return event.Source{Config: config, Audience: event.Audience{Global: id == contract.GameExtension}}.UpdateName()
}

// readDocument returns a document by a name of its operation, such as state.channel.
func (c *connection) readDocument(name string, scope state.Scope) (body json.RawMessage, err error) {
	err = c.ask(c.ctx, name+".read", nil, func(ctx context.Context, call *operation.Call) error {
		found, err := c.server.options.Operations.ReadDocuments(ctx, call, scope)
		if err == nil {
			body = operation.BodyOf(found[0])
		}
		return err
	})
	return body, err
}

// writeDocument replaces a document by an object, or patches it by an array.
func (c *connection) writeDocument(name string, scope state.Scope, body json.RawMessage) error {
	asked, parse := name+".replace", document.Replace
	if body[0] == '[' {
		asked, parse = name+".change", document.GamePatch
	}
	return c.ask(c.ctx, asked, body, func(ctx context.Context, call *operation.Call) error {
		change, err := parse(body)
		if err == nil {
			_, err = c.server.options.Operations.WriteDocument(ctx, call, scope, change, nil)
		}
		return err
	})
}

func (c *connection) getState(r *gameRequest) (any, error) {
	id, scope, err := r.stateID("state_id")
	if err != nil {
		return nil, err
	}
	body, err := c.readDocument("state."+id, scope)
	return stateAnswer{true, body}, err
}

func (c *connection) setState(r *gameRequest) (any, error) {
	return c.writeState(r, '{')
}

func (c *connection) patchState(r *gameRequest) (any, error) {
	return c.writeState(r, '[')
}

func (c *connection) writeState(r *gameRequest, first byte) (any, error) {
	id, scope, err := r.stateID("state_id")
	body := r.data.raw("state", first)
	if err == nil {
		err = r.data.err
	}
	if err == nil {
		err = c.writeDocument("state."+id, scope, body)
	}
	if err != nil {
		return nil, err
	}
	after, err := c.readDocument("state."+id, scope)
	return stateAnswer{true, after}, err
}

func (c *connection) subscribeState(r *gameRequest) (any, error) {
	id, _, err := r.stateID("topic_id")
	if err != nil {
		return nil, err
	}
	return done{true}, c.subscribe(topicKey{contract.GameState, id}, []string{updateOf(id, false)}, func(_ context.Context, e *event.Event) error {
		c.push(id, map[string]any{"topic_id": id, "state": e.Data})
		return nil
	})
}

func (c *connection) unsubscribeState(r *gameRequest) (any, error) {
	id, _, err := r.stateID("topic_id")
	c.unsubscribe(topicKey{contract.GameState, id})
	return done{true}, err
}

// configAnswer is the data of answers and pushes about a configuration.
type configAnswer struct {
	Config json.RawMessage `json:"config"`
	ID     string          `json:"config_id"`
	Topic  string          `json:"topic_id,omitempty"`
}

func (c *connection) getConfig(r *gameRequest) (any, error) {
	id := r.data.text("config_id")
	switch id {
	case contract.GameChannel:
		body, err := c.readDocument("config.channel", state.ChannelConfig)
		return configAnswer{Config: body, ID: id}, err
	case contract.GameExtension:
		body, err := c.readDocument("config.extension", state.ExtensionConfig)
		return configAnswer{Config: body, ID: id}, err
	case "combined":
		body, err := c.readConfigs()
		return configAnswer{Config: body, ID: id}, err
	}
	return nil, fault.New(fault.Invalid, "config_id must be channel, extension or combined")
}

// readConfigs returns both configurations as they are at one moment.
func (c *connection) readConfigs() (body json.RawMessage, err error) {
	err = c.ask(c.ctx, "config.read", nil, func(ctx context.Context, call *operation.Call) error {
		found, err := c.server.options.Operations.ReadDocuments(ctx, call, state.ChannelConfig, state.ExtensionConfig)
		if err == nil {
			body, err = encode(map[string]json.RawMessage{"channel": operation.BodyOf(found[0]), "extension": operation.BodyOf(found[1])})
		}
		return err
	})
	return body, err
}

func (c *connection) setConfig(r *gameRequest) (any, error) {
	return c.writeConfig(r, '{')
}

func (c *connection) patchConfig(r *gameRequest) (any, error) {
	return c.writeConfig(r, '[')
}

func (c *connection) writeConfig(r *gameRequest, first byte) (any, error) {
	body := r.data.raw("config", first)
	if r.data.err != nil {
		return nil, r.data.err
	}
	return done{true}, c.writeDocument("config.channel", state.ChannelConfig, body)
}

// configTopic returns the configuration that a subscription names.
func (r *gameRequest) configTopic() (string, error) {
	id := r.data.text("config_id")
	if id == "" {
		id = r.data.text("topic_id")
	}
	if r.data.err != nil || id != contract.GameChannel && id != contract.GameExtension {
		return "", fault.New(fault.Invalid, "config_id must be channel or extension")
	}
	return id, nil
}

func (c *connection) subscribeConfig(r *gameRequest) (any, error) {
	id, err := r.configTopic()
	if err != nil {
		return nil, err
	}
	return done{true}, c.subscribe(topicKey{contract.PushConfig, id}, []string{updateOf(id, true)}, func(_ context.Context, e *event.Event) error {
		c.push(contract.PushConfig, configAnswer{Config: e.Data, ID: id, Topic: id})
		return nil
	})
}

func (c *connection) unsubscribeConfig(r *gameRequest) (any, error) {
	id, err := r.configTopic()
	c.unsubscribe(topicKey{contract.PushConfig, id})
	return done{true}, err
}
