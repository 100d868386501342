package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// games gives the release a service for games. A game connects through the ingress as
// the extension's games do, and new pods of the service cost it a connection and no vote.
func games(w *world) {
	It("serves a game, whose connection ends with its pod and no vote with it", func(ctx SpecContext) {
		values := w.values()
		production := values["production"].(object)
		production["services"] = object{"gamelink": object{}}
		production["ingress"].(object)["gameHost"] = "games." + w.host
		Expect(w.upgrade(ctx, values, "--wait", "--timeout", "5m")).To(Succeed())

		g := w.play(ctx, "game")
		w.votes(ctx, "game", "U1")
		g.receives(ctx, 1)
		pods, err := w.pods(ctx, service("gamelink"))
		Expect(err).NotTo(HaveOccurred())
		Expect(pods).NotTo(BeEmpty())
		for i := range pods {
			Expect(w.Delete(ctx, &pods[i])).To(Succeed())
		}
		Expect(g.end(ctx)).To(Equal(websocket.StatusGoingAway))
		w.votes(ctx, "game", "U2")
		g = w.play(ctx, "game")
		w.votes(ctx, "game", "U3")
		g.receives(ctx, 3)

		Expect(w.upgrade(ctx, w.values(), "--wait", "--timeout", "5m")).To(Succeed())
		Eventually(ctx, func() (int, error) {
			pods, err := w.pods(ctx, service("gamelink"))
			return len(pods), err
		}).Should(BeZero())
	}, SpecTimeout(12*time.Minute))
}

// votes has a viewer vote over HTTP.
func (w *world) votes(ctx context.Context, poll, opaque string) {
	GinkgoHelper()
	Expect(w.viewer(opaque).post(ctx, "/vote?id="+poll, object{"value": 1}, nil)).To(Succeed())
}

// game is a connection that speaks GameLink.
type game struct {
	socket *websocket.Conn
	poll   string
}

// gameMessage is an answer or, with the action `update`, a push.
type gameMessage struct {
	Meta struct{ Action string }
	Data struct {
		TopicID string `json:"topic_id"`
		Count   int64
	}
	Errors []json.RawMessage
}

// play connects a game that follows a poll.
func (w *world) play(ctx context.Context, poll string) *game {
	g := &game{poll: poll}
	_, token, _ := strings.Cut(w.broadcaster().authorization, " ")
	Eventually(ctx, func() (err error) {
		g.socket, _, err = websocket.Dial(ctx, strings.Replace(w.ingress, "http", "ws", 1)+"/0.0.2/"+clientID, //nolint:bodyclose // the library needs no close
			&websocket.DialOptions{HTTPClient: w.client, Host: "games." + w.host})
		if err != nil {
			return err
		}
		if err := g.request(ctx, "authenticate", "", object{"client_id": clientID, "jwt": token}); err != nil {
			return err
		}
		return g.request(ctx, "subscribe", "poll", object{"topic_id": poll})
	}).Should(Succeed())
	DeferCleanup(func() { _ = g.socket.CloseNow() }) // it may have ended
	return g
}

// request sends a request and reads its answer.
func (g *game) request(ctx context.Context, action, target string, data object) error {
	err := wsjson.Write(ctx, g.socket, object{"action": action, "params": object{"request_id": 1, "target": target}, "data": data})
	if err != nil {
		return err
	}
	for {
		var m gameMessage
		if err := wsjson.Read(ctx, g.socket, &m); err != nil {
			return err
		}
		if len(m.Errors) > 0 {
			return fmt.Errorf("%s %s: %s", action, target, m.Errors)
		}
		if m.Meta.Action == action {
			return nil
		}
	}
}

// receives reads until the poll has so many votes.
func (g *game) receives(ctx context.Context, votes int64) {
	GinkgoHelper()
	for {
		var m gameMessage
		Expect(wsjson.Read(ctx, g.socket, &m)).To(Succeed())
		if m.Data.TopicID == g.poll && m.Data.Count == votes {
			return
		}
	}
}

// end reads until the service closes the connection and returns its reason.
func (g *game) end(ctx context.Context) websocket.StatusCode {
	for {
		var m gameMessage
		if err := wsjson.Read(ctx, g.socket, &m); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}
