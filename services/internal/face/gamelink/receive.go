package gamelink

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/coder/websocket"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// receive reads the next message. release returns its memory, which comes out of the budget of
// request bodies once the connection has authenticated.
func (c *connection) receive() (message []byte, release func(), err error) {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	kind, reader, err := c.socket.Reader(ctx) // it waits for the first frame, for any time
	if err != nil {
		return nil, nil, err
	}
	if kind != websocket.MessageText {
		c.end(websocket.StatusUnsupportedData, "messages are text")
		return nil, nil, errors.New("a message that is no text")
	}
	late := time.AfterFunc(contract.MessageTimeout, cancel)
	defer late.Stop()
	if c.caller == nil {
		message, err = io.ReadAll(reader)
		return message, func() {}, err
	}
	message, release, err = c.server.options.Budgets.ReadMessage(c.caller, reader, contract.MaxGameMessage)
	switch fault.KindOf(err) {
	case fault.RateLimited, fault.Unavailable:
		c.end(websocket.StatusTryAgainLater, "too many bytes of messages at once")
	case fault.TooLarge:
		c.end(websocket.StatusMessageTooBig, "the message is too large")
	}
	return message, release, err
}
