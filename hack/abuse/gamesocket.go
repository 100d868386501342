package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/coder/websocket"
	"github.com/golang-jwt/jwt/v5"
)

// gameSocket is a connection to GameLink that asks one thing at a time.
type gameSocket struct {
	conn   *websocket.Conn
	asked  int
	pushed chan gameMessage // what the program sent by itself; full ones are dropped
}

// gameMessage is an answer or a push.
type gameMessage struct {
	Meta struct {
		RequestID int    `json:"request_id"`
		Target    string `json:"target"`
	} `json:"meta"`
	Data   json.RawMessage `json:"data"`
	Errors []struct {
		Number int    `json:"number"`
		Detail string `json:"detail"`
	} `json:"errors"`
}

// pushID is the request id of a push.
const pushID = 65535

// openGame connects a game of an extension from a loopback address.
func openGame(ctx context.Context, games, extension, source string) (*gameSocket, error) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
	client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
	conn, response, err := websocket.Dial(ctx, games+"/1.0.0/"+extension, &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		return nil, err
	}
	if response.Body != nil {
		_ = response.Body.Close() // the connection is the answer
	}
	conn.SetReadLimit(4 << 20)
	return &gameSocket{conn: conn, pushed: make(chan gameMessage, 64)}, nil
}

// openGame connects from the attacker's address.
func (a *attacker) openGame(ctx context.Context, extension string) (*gameSocket, error) {
	return openGame(ctx, a.Games, extension, a.Source)
}

func (g *gameSocket) end() { _ = g.conn.CloseNow() }

// errGame is the refusal of a request.
type errGame struct {
	number int
	detail string
}

func (e *errGame) Error() string { return fmt.Sprintf("%d %s", e.number, e.detail) }

// ask sends a request and returns the data of its answer, or an *errGame.
func (g *gameSocket) ask(ctx context.Context, action, target string, data any) (json.RawMessage, error) {
	g.asked = (g.asked + 1) % 128
	request := map[string]any{"action": action, "params": map[string]any{"request_id": g.asked, "target": target}, "data": data}
	encoded, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	if err := g.conn.Write(ctx, websocket.MessageText, encoded); err != nil {
		return nil, err
	}
	for {
		answer, err := g.read(ctx)
		switch {
		case err != nil:
			return nil, err
		case answer.Meta.RequestID != g.asked:
			continue
		case len(answer.Errors) > 0:
			return nil, &errGame{answer.Errors[0].Number, answer.Errors[0].Detail}
		}
		return answer.Data, nil
	}
}

// read returns the next message, and keeps a copy of a push.
func (g *gameSocket) read(ctx context.Context) (m gameMessage, err error) {
	_, message, err := g.conn.Read(ctx)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(message, &m); err != nil {
		return m, err
	}
	if m.Meta.RequestID == pushID {
		select {
		case g.pushed <- m:
		default:
		}
	}
	return m, nil
}

// authenticate sends a credential: a pin, a refresh token or a jwt.
func (g *gameSocket) authenticate(ctx context.Context, extension, kind, credential string) (refresh string, err error) {
	data, err := g.ask(ctx, "authenticate", "", map[string]string{"client_id": extension, kind: credential})
	if err != nil {
		return "", err
	}
	var granted struct{ Refresh string }
	return granted.Refresh, json.Unmarshal(data, &granted)
}

// signGame returns a JWT that a game sends.
func signGame(extension, role, channel string) string {
	token, err := signClaims(extension, "production", jwt.MapClaims{"role": role, "channel_id": channel, "user_id": channel, "opaque_user_id": "U" + channel})
	if err != nil {
		panic(err) // the claims are text
	}
	return token
}

// outcomeOf names what became of a request over GameLink.
func outcomeOf(err error) string {
	if err == nil {
		return "ok"
	}
	if refused, ok := errors.AsType[*errGame](err); ok {
		return fmt.Sprint(refused.number)
	}
	if status := websocket.CloseStatus(err); status != -1 {
		return fmt.Sprint("closed ", int(status))
	}
	return describeError(err)
}
