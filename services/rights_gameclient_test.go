package main

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/coder/websocket"
)

// rightsGame is a connection of GameLink.
type rightsGame struct {
	w      *rightsWorld
	socket *websocket.Conn
	client string
	id     int
}

// dial opens a connection, from an address of its own.
func (w *rightsWorld) dial(environment, extension string) *rightsGame {
	w.Helper()
	g, status, err := w.tryDial(environment, extension)
	if err != nil {
		w.Fatal(status, err)
	}
	return g
}

func (w *rightsWorld) tryDial(environment, extension string) (*rightsGame, int, error) {
	path := "/1.0.0/" + extension
	if environment == "sandbox" {
		path = "/sandbox" + path
	}
	header := http.Header{"X-Forwarded-For": {w.address()}}
	socket, res, err := websocket.Dial(w.Context(), w.game+path, &websocket.DialOptions{HTTPHeader: header}) //nolint:bodyclose // the library closes it
	if err != nil {
		return nil, res.StatusCode, err
	}
	socket.SetReadLimit(4 << 20)
	return &rightsGame{w: w, socket: socket, client: extension}, res.StatusCode, nil
}

func (g *rightsGame) end() { _ = g.socket.CloseNow() }

// gameAnswer is an answer or a push of GameLink.
type gameAnswer struct {
	Meta struct {
		ID             int `json:"request_id"`
		Action, Target string
	}
	Data   json.RawMessage
	Errors []struct {
		Status int
		Detail string
	}
}

// status returns 200, or the status of the error.
func (a *gameAnswer) status() int {
	if len(a.Errors) > 0 {
		return a.Errors[0].Status
	}
	return http.StatusOK
}

// ask sends a request and returns the answer to it. It skips pushes.
func (g *rightsGame) ask(action, target, data string) *gameAnswer {
	g.w.Helper()
	g.id++
	message := fmt.Sprintf(`{"action":%q,"params":{"request_id":%d,"target":%q},"data":%s}`, action, g.id, target, data)
	if err := g.socket.Write(g.w.Context(), websocket.MessageText, []byte(message)); err != nil {
		g.w.Fatal(err)
	}
	for {
		if a := g.read(); a.Meta.ID == g.id {
			return a
		}
	}
}

func (g *rightsGame) read() *gameAnswer {
	g.w.Helper()
	_, text, err := g.socket.Read(g.w.Context())
	if err != nil {
		g.w.Fatal(err)
	}
	a := &gameAnswer{}
	if err := json.Unmarshal(text, a); err != nil {
		g.w.Fatal(err)
	}
	return a
}

func (g *rightsGame) tryAuthenticate(member string) *gameAnswer {
	g.w.Helper()
	return g.ask("authenticate", "", `{"client_id":"`+g.client+`",`+member+`}`)
}

// authenticate authenticates with a member of data and returns the answer's members.
func (g *rightsGame) authenticate(member string) map[string]string {
	g.w.Helper()
	a := g.tryAuthenticate(member)
	members := map[string]string{}
	if a.status() != http.StatusOK || json.Unmarshal(a.Data, &members) != nil {
		g.w.Fatalf("authenticate %s: %v %s", member, a.Errors, a.Data)
	}
	return members
}
