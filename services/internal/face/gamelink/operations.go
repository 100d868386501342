package gamelink

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

// ask has do answer a request for an operation by the connection's identity, or by that of a
// context of inChannel. body has the bytes that the game has sent. The error has the status that the
// same request has over HTTP.
func (c *connection) ask(ctx context.Context, what string, body []byte, do func(context.Context, *operation.Call) error) error {
	credential, err := c.credentialFor(ctx)
	if err != nil {
		return err
	}
	err = c.server.options.Operations.Run(ctx, operation.Request{
		Operation: what, Face: "gamelink", Credential: credential, Client: c.client,
		Remote: operation.NamesRemoteClient(c.request.Header), Body: body,
	}, do)
	if err == nil {
		return nil
	}
	outcome := operation.OutcomeOf(err)
	if outcome.Status == http.StatusUnauthorized {
		c.end(closedRevoked, "the credential has ended")
	}
	return refuse(outcome.Status, outcome.Reason)
}

// replacePoll stores the configuration of a poll.
func (c *connection) replacePoll(ctx context.Context, id string, config json.RawMessage) error {
	return c.ask(ctx, "poll.config.replace", config, func(ctx context.Context, call *operation.Call) error {
		change, err := operation.ParsePollConfig(config)
		if err == nil {
			_, _, err = c.server.options.Operations.ChangePoll(ctx, call, id, change)
		}
		return err
	})
}

// patchPoll changes members of the configuration of a poll.
func (c *connection) patchPoll(ctx context.Context, id string, patch json.RawMessage) error {
	return c.ask(ctx, "poll.config.change", patch, func(ctx context.Context, call *operation.Call) error {
		change, err := operation.ParsePollPatch(patch)
		if err == nil {
			_, _, err = c.server.options.Operations.ChangePoll(ctx, call, id, change)
		}
		return err
	})
}

func (c *connection) resetPoll(ctx context.Context, id string) error {
	return c.ask(ctx, "vote.reset", nil, func(ctx context.Context, call *operation.Call) error {
		return c.server.options.Operations.ResetPoll(ctx, call, id)
	})
}

// sendEvent sends an event to all viewers of the channel, or to the one with an id.
func (c *connection) sendEvent(ctx context.Context, e gameEvent, to string) error {
	return c.ask(ctx, "message.broadcast", e.data, func(ctx context.Context, call *operation.Call) error {
		m, err := operation.NewMessage(e.name, e.data, to)
		if err != nil {
			return err
		}
		return c.server.options.Operations.Broadcast(ctx, call, "", m)
	})
}

// isStatus reports whether an error is a refusal with a status.
func isStatus(err error, status int) bool {
	refused, ok := err.(*gameError) //nolint:errorlint // ask returns it as it is
	return ok && refused.status == status
}

// encode returns a value that a game has sent as JSON.
func encode(value any) (json.RawMessage, error) { return exactjson.Marshal(value) }
