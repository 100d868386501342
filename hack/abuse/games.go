package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// enterAsViewer tries to be a game with the tokens that every page has, and to use what only
// games may.
func enterAsViewer(ctx context.Context, a *attacker) {
	roles := []string{"viewer", "moderator", "external", "overlay", "game"}
	a.flood(ctx, 4, func(ctx context.Context, n int64) (string, error) {
		g, err := a.from(n%64+1).openGame(ctx, extension)
		if err != nil {
			return "", err
		}
		defer g.end()
		role := roles[n%int64(len(roles))]
		if _, err := g.authenticate(ctx, extension, "jwt", signGame(extension, role, channel)); err == nil {
			a.breach("a token of the role " + role + " is a game")
		}
		for target, action := range map[string]string{"transaction": "get", "datastream": "subscribe", "twitchPurchaseBits": "subscribe", "poll": "subscribe"} {
			if _, err := g.ask(ctx, action, target, map[string]string{"sku": "*", "topic_id": mainPoll}); err == nil {
				a.breach("a game without a credential may " + action + " " + target)
			}
		}
		return "refused", nil
	})
}

// outliveKey uses what was issued under a key after the key has been removed.
func outliveKey(ctx context.Context, a *attacker) {
	old := signGame(leakyExtension, "backend", "500")
	held, err := a.openGame(ctx, leakyExtension)
	if err != nil {
		a.count(outcomeOf(err))
		return
	}
	defer held.end()
	refresh, err := held.authenticate(ctx, leakyExtension, "jwt", old)
	if err != nil {
		a.count("before: " + outcomeOf(err))
		return
	}
	client := a.newClient(1)
	defer client.CloseIdleConnections()
	pin := a.askForPIN(ctx, client, leakyExtension+" "+old)
	if err := rewriteRegistry(a.Registry, encodedKey(leakyExtension, "production"), encodedKey(leakyExtension, "rotated")); err != nil {
		a.count(err.Error())
		return
	}
	for ctx.Err() == nil { // until the new registry is in force
		if status, err := a.send(ctx, client, leakyExtension+" "+old, http.MethodGet, "/v1/user_info", ""); err == nil && status == "401" {
			break
		}
		wait(ctx, 20*time.Millisecond)
	}
	for kind, credential := range map[string]string{"refresh": refresh, "pin": pin, "jwt": old} {
		g, err := a.openGame(ctx, leakyExtension)
		if err != nil {
			a.count(outcomeOf(err))
			continue
		}
		if _, err = g.authenticate(ctx, leakyExtension, kind, credential); err == nil {
			a.breach("a " + kind + " outlives its key")
		}
		a.count(kind + ": " + outcomeOf(err))
		g.end()
	}
}

// rewriteRegistry replaces a text of the file, as an administrator does.
func rewriteRegistry(path, from, to string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	next := path + ".next"
	if err := os.WriteFile(next, bytes.ReplaceAll(text, []byte(from), []byte(to)), 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// askForPIN returns a PIN that a token of staff gets, or an empty one.
func (a *attacker) askForPIN(ctx context.Context, client *http.Client, credential string) string {
	return readPIN(harness.Send(ctx, client, http.MethodPost, "http://"+a.Address+"/v1/gamelink/token", credential, "{}"))
}

// readPIN returns the PIN of an answer, or an empty one.
func readPIN(response *http.Response, err error) string {
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	var opened struct{ PIN string }
	_ = json.NewDecoder(response.Body).Decode(&opened) // without one it is a refusal
	return opened.PIN
}

// hoardGameSubscriptions subscribes for all that a broadcaster of an empty channel may.
func hoardGameSubscriptions(ctx context.Context, a *attacker) {
	token := signGame(extension, "broadcaster", "666")
	a.flood(ctx, 41, func(ctx context.Context, n int64) (string, error) {
		return a.holdGame(ctx, token, func(i int) string { return fmt.Sprintf("inv%d-%d", n, i) })
	})
}

// watchPrefixes subscribes for every prefix of one id, and votes in that poll.
func watchPrefixes(ctx context.Context, a *attacker) {
	token, id := signGame(extension, "broadcaster", "666"), strings.Repeat("p", 60)
	go a.repeatSlowly(ctx, 50*time.Millisecond, func(n int) (credential, method, path, body string) {
		viewer, err := newCredential(extension, "viewer", "666", fmt.Sprintf("Uprefix%d", n))
		if err != nil {
			panic(err) // the claims are text
		}
		return viewer, http.MethodPost, "/v1/vote?id=" + id, `{"value":1}`
	})
	a.flood(ctx, 20, func(ctx context.Context, _ int64) (string, error) {
		return a.holdGame(ctx, token, func(i int) string { return id[:i%60+1] + "*" })
	})
}

// holdGame authenticates, subscribes for 128 polls, and reads what comes.
func (a *attacker) holdGame(ctx context.Context, token string, topic func(i int) string) (string, error) {
	g, err := a.openGame(ctx, extension)
	if err != nil {
		return "", err
	}
	defer g.end()
	if _, err := g.authenticate(ctx, extension, "jwt", token); err != nil {
		return pauseRefused(ctx, outcomeOf(err))
	}
	for i := range 128 {
		if _, err := g.ask(ctx, "subscribe", "poll", map[string]string{"topic_id": topic(i)}); err != nil {
			a.count("subscribe: " + outcomeOf(err))
			if websocket.CloseStatus(err) != -1 {
				return pauseRefused(ctx, outcomeOf(err))
			}
		}
	}
	for {
		if _, err := g.read(ctx); err != nil {
			if ctx.Err() != nil {
				return "held", nil
			}
			return outcomeOf(err), nil
		}
	}
}

// pauseRefused pauses as an attacker does that was refused, and returns the outcome.
func pauseRefused(ctx context.Context, outcome string) (string, error) {
	wait(ctx, 100*time.Millisecond)
	return outcome, nil
}

// repeatSlowly makes a request each pause.
func (a *attacker) repeatSlowly(ctx context.Context, pause time.Duration, request func(n int) (credential, method, path, body string)) {
	client := a.newClient(1)
	defer client.CloseIdleConnections()
	for n := 0; ctx.Err() == nil; n++ {
		credential, method, path, body := request(n)
		outcome, err := a.send(ctx, client, credential, method, path, body)
		if err != nil && ctx.Err() == nil {
			outcome = describeError(err)
		}
		a.count(method + ": " + outcome)
		wait(ctx, pause)
	}
}

// announceMessages has a message of almost 2 MiB under way on each of many connections that
// never authenticate.
func announceMessages(ctx context.Context, a *attacker) {
	const size = 2<<20 - 1
	frame := make([]byte, 14, 14+size) // a masked frame of text, the mask being 0
	frame[0], frame[1] = 0x81, 0x80|127
	binary.BigEndian.PutUint64(frame[2:], size)
	frame = append(frame, bytes.Repeat([]byte{' '}, size-199)...)
	a.flood(ctx, 400, func(ctx context.Context, n int64) (string, error) {
		conn, err := a.from(n%50 + 1).upgrade(ctx)
		if err != nil {
			return "", err
		}
		defer conn.end()
		if _, err := conn.Write(frame); err != nil {
			return pauseRefused(ctx, "closed")
		}
		return readUntilClosed(ctx, conn), nil
	})
}

// readUntilClosed waits until the program closes a connection of GameLink.
func readUntilClosed(ctx context.Context, conn *boundConn) string {
	n, _ := io.Copy(io.Discard, conn) // the end is the outcome
	switch {
	case ctx.Err() != nil:
		return "held"
	case n == 0:
		return "turned away"
	}
	return "closed"
}

// upgrade makes a connection one of GameLink and sends nothing.
func (a *attacker) upgrade(ctx context.Context) (*boundConn, error) {
	games := &attacker{Address: strings.TrimPrefix(a.Games, "ws://"), Source: a.Source}
	return games.begin(ctx, formatHead("GET", "/1.0.0/"+extension, "", -1)+
		"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n")
}

// echoMessages has long actions repeated that no game has.
func echoMessages(ctx context.Context, a *attacker) {
	action := strings.Repeat("é", 300_000)
	a.flood(ctx, 6, func(ctx context.Context, _ int64) (string, error) {
		g, err := a.openGame(ctx, extension)
		if err != nil {
			return "", err
		}
		defer g.end()
		for {
			if _, err := g.ask(ctx, action, action, nil); err != nil {
				if _, refused := err.(*errGame); !refused { //nolint:errorlint // ask returns it as it is
					return pauseRefused(ctx, outcomeOf(err))
				}
				a.breach("a message of 1.2 MB without a credential is answered")
			}
		}
	})
}

// guessRefreshTokens invents refresh tokens, each of another channel.
func guessRefreshTokens(ctx context.Context, a *attacker) {
	a.flood(ctx, 16, func(ctx context.Context, n int64) (string, error) {
		g, err := a.from(n%32+1).openGame(ctx, extension)
		if err != nil {
			return "", err
		}
		defer g.end()
		for tries := 0; ; tries++ {
			_, err := g.authenticate(ctx, extension, "refresh", fmt.Sprintf("r1.%d.%032d", n, tries))
			if _, refused := err.(*errGame); !refused { //nolint:errorlint // ask returns it as it is
				return outcomeOf(err), nil
			}
			if a.count("refused"); tries > 20 {
				a.breach("a connection may guess more than 20 refresh tokens")
				return "many guesses", nil
			}
		}
	})
}

// rightsOfPIN tries to be a game of all channels by the PIN of a server's token.
func rightsOfPIN(ctx context.Context, a *attacker) {
	client := a.newClient(1)
	defer client.CloseIdleConnections()
	for _, role := range []string{"backend", "admin"} {
		pin := a.askForPIN(ctx, client, extension+" "+signGame(extension, role, "700"))
		g, err := a.openGame(ctx, extension)
		if err != nil {
			a.count(outcomeOf(err))
			continue
		}
		if _, err := g.authenticate(ctx, extension, "pin", pin); err != nil {
			a.count("authenticate: " + outcomeOf(err))
		}
		if _, err = g.ask(ctx, "create", "match", map[string]string{"id": "mine"}); err == nil {
			a.breach("a PIN of " + role + " is good for all channels")
		}
		a.count("create match: " + outcomeOf(err))
		g.end()
	}
	g, err := a.openGame(ctx, extension)
	if err != nil {
		a.count(outcomeOf(err))
		return
	}
	defer g.end()
	_, err = g.authenticate(ctx, extension, "jwt", signGame(extension, "admin", "700"))
	a.count("an admin that is not validated: " + outcomeOf(err))
	if _, err = g.ask(ctx, "create", "match", map[string]string{"id": "mine"}); err == nil {
		a.breach("an admin that is not validated acts in all channels")
	}
}

// holdSilentSockets takes every place for games that have not authenticated, from many
// addresses. The victims connect meanwhile, to the API and as games.
func holdSilentSockets(ctx context.Context, a *attacker) {
	a.flood(ctx, 2_500, func(ctx context.Context, n int64) (string, error) {
		conn, err := a.from(n%200 + 1).upgrade(ctx)
		if err != nil {
			return "", err
		}
		defer conn.end()
		defer wait(ctx, returnPause)
		return readUntilClosed(ctx, conn), nil
	})
}
