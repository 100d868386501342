package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// The victims beside viewers: a game that plays, games that connect and are paired, and a page of
// staff.
const (
	playPause  = 500 * time.Millisecond
	pairPause  = 2 * time.Second
	staffPause = 500 * time.Millisecond
	typingTime = 500 * time.Millisecond // between the connection of a game and its PIN
)

// players are the victims that use GameLink.
type players struct {
	playing  *gameSocket
	one, new victim // their notes; the sockets are their own
	asking   victim // the page that asks for PINs
}

// startGame connects the game that plays through all phases.
func (v *victims) startGame(ctx context.Context) error {
	v.players.one = victim{kind: requests}
	v.players.new = victim{kind: connections}
	v.players.asking = victim{newClient("127.1.0.4", false), v.broadcaster.credential, requests}
	g, err := v.pairGame(ctx, "127.1.0.5", 0)
	if err != nil {
		return fmt.Errorf("pair a game: %w", err)
	}
	v.players.playing = g
	_, err = g.ask(ctx, "subscribe", "poll", map[string]string{"topic_id": mainPoll})
	return err
}

// pairGame connects a game and pairs it by a PIN, which the broadcaster types meanwhile.
func (v *victims) pairGame(ctx context.Context, source string, typing time.Duration) (*gameSocket, error) {
	g, err := openGame(ctx, v.program.games, extension, source)
	if err != nil {
		return nil, err
	}
	wait(ctx, typing)
	asking := v.players.asking
	response, err := harness.Send(ctx, asking.http, http.MethodPost, v.program.base+"/gamelink/token", asking.credential, "{}")
	if err == nil && response.StatusCode >= http.StatusInternalServerError {
		_ = response.Body.Close() // the status is the answer
		err = &errGame{number: response.StatusCode, detail: "no PIN"}
	}
	if err == nil {
		_, err = g.authenticate(ctx, extension, "pin", readPIN(response, nil))
	}
	if err != nil {
		g.end()
		return nil, err
	}
	return g, nil
}

// play has the game read its poll.
func (v *victims) play(ctx context.Context, due time.Time) {
	ctx, cancel := context.WithTimeout(ctx, latencyLimit)
	defer cancel()
	_, err := v.players.playing.ask(ctx, "get", "poll", map[string]string{"poll_id": mainPoll})
	v.noteGame(v.players.one, due, "game: get poll", err)
}

// joinGame connects another game, pairs it and has it read its poll.
func (v *victims) joinGame(ctx context.Context, due time.Time) {
	ctx, cancel := context.WithTimeout(ctx, latencyLimit+typingTime)
	defer cancel()
	g, err := v.pairGame(ctx, "127.1.0.6", typingTime)
	if err == nil {
		_, err = g.ask(ctx, "get", "poll", map[string]string{"poll_id": mainPoll})
		g.end()
	}
	v.noteGame(v.players.new, due.Add(typingTime), "new game", err)
}

// noteGame notes the outcome of a request over GameLink as one of the API.
func (v *victims) noteGame(one victim, due time.Time, what string, err error) {
	status := http.StatusOK
	if websocket.CloseStatus(err) == websocket.StatusTryAgainLater { // a refusal to authenticate
		status, err = http.StatusServiceUnavailable, nil
	}
	if refused, ok := errors.AsType[*errGame](err); ok {
		status, err = refused.number, nil
	}
	v.note(one, due, what, status, err)
}

// manage has the staff page read the polls and the results.
func (v *victims) manage(ctx context.Context, due time.Time, n int) {
	path := []string{"/polls", "/vote?id=" + mainPoll, "/vote_config?id=" + mainPoll}[n%3]
	v.expect(ctx, v.staff, due, http.MethodGet, v.program.base+path, "")
}
