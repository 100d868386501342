package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// made returns the members of the answer to a POST, none where it is refused.
func (a *attacker) made(ctx context.Context, credential, path, body string) (fields struct{ ID, Credential string }) {
	client := a.newClient(1)
	defer client.CloseIdleConnections()
	status, answer, err := harness.Ask(ctx, client, http.MethodPost, "http://"+a.Address+path, credential, body)
	if err != nil || status != http.StatusOK || json.Unmarshal(answer, &fields) != nil {
		a.count(fmt.Sprintf("prepare: %s %d", path, status))
	}
	return fields
}

// listen reads the events of a credential until they end or the context does, and returns the status of
// the answer. A line with a text that is not empty is a breach.
func (a *attacker) listen(ctx context.Context, what, credential, secret string) string {
	conn, err := a.begin(ctx, formatHead("GET", "/v1/events", credential, -1)+"\r\n")
	if err != nil {
		return describeError(err)
	}
	defer conn.end()
	lines := bufio.NewScanner(conn)
	lines.Scan()
	status := lines.Text()
	for lines.Scan() {
		if secret != "" && bytes.Contains(lines.Bytes(), []byte(secret)) {
			a.breach(what + " receives what is for another")
		}
	}
	return status
}

// exceedKeys uses staff keys of the victims' channel for what is not in their scopes, and revoked ones.
func exceedKeys(ctx context.Context, a *attacker) {
	staff := mustCredential("broadcaster", channel, "U-broadcaster")
	key := func(scopes string) struct{ ID, Credential string } {
		return a.made(ctx, staff, "/v1/staff_keys", `{"name":"x","scopes":[`+scopes+`]}`)
	}
	polls, answers, revoked := key(`"polls"`), key(`"answers"`), key(`"polls","answers"`)
	open := make(chan string, 1)
	go func() { open <- a.listen(ctx, "", revoked.Credential, "") }()
	wait(ctx, 500*time.Millisecond) // until the stream is open
	if a.status(ctx, staff, http.MethodDelete, "/v1/staff_keys?id="+revoked.ID, "") != http.StatusOK {
		a.breach("a staff key cannot be revoked")
	}
	all := forgery{what: "a revoked key", credential: revoked.Credential, body: `{"id":"forged","config":{}}`}.
		of("GET /v1/staff", "GET /v1/vote?id="+mainPoll, "POST /v1/vote_config", "GET /v1/events", "GET /v1/rank?id="+mainPoll)
	body := `{"id":"globalforged","config":{},"value":1,"event":"x","data":{},"name":"x","scopes":["polls"],"user":"Uattacker000000","add":1}`
	none := []string{"POST /v1/vote?id=" + mainPoll, "POST /v1/vote_modifier?id=" + mainPoll, "POST /v1/staff_keys", "GET /v1/staff_keys", "DELETE /v1/staff_keys?id=" + polls.ID,
		"POST /v1/overlay_keys", "POST /v1/broadcast", "POST /v1/gamelink/token", "POST /v1/channel_state", "GET /v1/accumulate?id=x", "GET /v1/vote_logs?id=" + mainPoll}
	all = append(all, forgery{what: "a key for polls", credential: polls.Credential, body: body}.
		of(append(none, "GET /v1/rank?id=x", "POST /v1/rank_config?id=x", "DELETE /v1/rank?id=x", "POST /v1/rank_moderation?id=x", "GET /v1/events?topic=rank_update:x", "POST /v1/vote_config")...)...)
	all = append(all, forgery{what: "a key for answers", credential: answers.Credential, body: body}.
		of(append(none, "GET /v1/vote?id="+mainPoll, "DELETE /v1/vote?id="+mainPoll, "POST /v1/vote_config", "PATCH /v1/vote_config", "GET /v1/polls", "GET /v1/events?topic=vote_update:*")...)...)
	var alive sync.WaitGroup
	alive.Go(func() {
		a.repeatWell(ctx, "a key within its scope", func(ctx context.Context) int {
			return a.status(ctx, polls.Credential, http.MethodGet, "/v1/vote?id="+mainPoll, "")
		})
	})
	alive.Go(func() {
		select {
		case status := <-open:
			a.count("the stream of a revoked key ends: " + status)
		case <-time.After(a.Duration - 2*time.Second):
			a.breach("the stream of a revoked key goes on")
		}
	})
	a.forge(ctx, all)
	alive.Wait()
}

// newDevice is the outcome of a person whose device asks for a credential beside many addresses that the
// program refuses.
const newDevice = "a new device of another channel"

// floodDevices asks for credentials of devices from one address, then from many, while viewers vote. The
// credentials are good for a vote in their poll.
func floodDevices(ctx context.Context, a *attacker) {
	const poll, other = "devices", "others"
	staff, far := mustCredential("broadcaster", channel, "U-broadcaster"), mustCredential("broadcaster", "77", "U77")
	for _, made := range [][2]string{{staff, poll}, {staff, other}, {far, poll}} {
		if a.status(ctx, made[0], http.MethodPost, "/v1/vote_config", `{"id":"`+made[1]+`","config":{"deviceVoting":true}}`) != http.StatusOK {
			a.breach("staff cannot let devices vote")
		}
	}
	body := func(channel string) string {
		return `{"client":"` + extension + `","channel":"` + channel + `","poll":"` + poll + `"}`
	}
	device := a.from(240).made(ctx, "", "/v1/devices", body(channel)).Credential
	var alive sync.WaitGroup
	alive.Go(func() {
		a.repeatWell(ctx, "a viewer's vote", func(ctx context.Context) int {
			return a.status(ctx, a.Viewer, http.MethodPost, "/v1/vote?id="+poll, `{"value":1}`)
		})
	})
	first, end := context.WithTimeout(ctx, a.Duration/6)
	alive.Go(func() {
		all := forgery{what: "a device", credential: device, body: `{"id":"devices","config":{},"value":1,"event":"x","data":{}}`}.
			of("GET /v1/vote?id="+other, "POST /v1/vote?id="+other, "GET /v1/vote?id="+mainPoll, "POST /v1/vote_config", "DELETE /v1/vote?id=devices", "GET /v1/poll?id=devices", "GET /v1/polls", "GET /v1/events",
				"POST /v1/accumulate?id=x", "POST /v1/rank?id=x", "POST /v1/whisper_self", "POST /v1/datastream", "GET /v1/viewer_state", "POST /v1/viewer_state", "GET /v1/user_info", "GET /v1/staff", "POST /v1/gamelink/token")
		a.forge(first, append(all, forgery{what: "a device as a viewer", credential: strings.Replace(device, " device.", " ", 1)}.of("GET /v1/vote?id=devices")...))
	})
	a.askForDevices(first, 1, new(atomic.Int64), body(channel))
	end()
	const crowd = 100
	var refused atomic.Int64
	alive.Go(func() {
		for refused.Load() < crowd && ctx.Err() == nil { // what all addresses share has something left
			wait(ctx, 20*time.Millisecond)
		}
		a.repeatWell(ctx, newDevice, func(ctx context.Context) int {
			return a.from(241).status(ctx, "", http.MethodPost, "/v1/devices", body("77"))
		})
	})
	a.askForDevices(ctx, crowd, &refused, body(channel))
	alive.Wait()
}

// askForDevices asks for credentials of devices from so many addresses, and counts the refusals.
func (a *attacker) askForDevices(ctx context.Context, addresses int64, refused *atomic.Int64, body string) {
	clients := make([]*http.Client, addresses)
	for i := range clients {
		clients[i] = a.from(int64(i) + 1).newClient(1)
		defer clients[i].CloseIdleConnections()
	}
	a.flood(ctx, 16, func(ctx context.Context, n int64) (string, error) {
		outcome, err := a.send(ctx, clients[n%addresses], "", http.MethodPost, "/v1/devices", body)
		if outcome == "429" {
			refused.Add(1)
		}
		return fmt.Sprintf("devices of %d: %s", addresses, outcome), err
	})
}

// followLinks uses what links and codes give in one channel for others, and asks for long QR codes.
func followLinks(ctx context.Context, a *attacker) {
	const secret = "for-one-viewer-alone"
	staff := mustCredential("broadcaster", channel, "U-broadcaster")
	overlay := a.made(ctx, a.Broadcaster, "/v1/overlay_keys", `{"polls":["shown"]}`).Credential
	shown := a.made(ctx, staff, "/v1/overlay_keys", `{"polls":["shown"]}`).Credential
	var all sync.WaitGroup
	for what, credential := range map[string]string{"another viewer": a.Crowd[1], "another channel": a.Broadcaster, "an overlay": shown} {
		all.Go(func() { a.count("listens: " + a.listen(ctx, what, credential, secret)) })
	}
	all.Go(func() { // the channel's own staff
		a.repeatSlowly(ctx, 200*time.Millisecond, func(int) (credential, method, path, body string) {
			return staff, http.MethodPost, "/v1/broadcast", `{"event":"private","target":"whisper-Uattacker000000","data":"` + secret + `"}`
		})
	})
	all.Go(func() { a.guessPINs(ctx) })
	all.Go(func() {
		link := "http://" + a.Address + "/vote/" + extension + "/1/" + text(900)
		a.repeat(ctx, 8, func(n int64) (credential, method, path, body string) {
			return "", http.MethodGet, fmt.Sprintf("/vote/qr.svg?link=%s%d", link, n), ""
		})
	})
	body := `{"event":"private","target":"whisper-Uattacker000001","user_id":"1","data":"` + secret + `","id":"shown","config":{},"value":1}`
	forgeries := forgery{what: "a broadcaster of another channel", credential: a.Broadcaster, body: body}.of("POST /v1/broadcast", "POST /v1/extension_broadcast")
	forgeries = append(forgeries, forgery{what: "a viewer", credential: a.Viewer, body: body}.of("POST /v1/broadcast", "POST /v1/pusher_broadcast", "POST /v1/validate_pin")...)
	for what, credential := range map[string]string{"an overlay of another channel": overlay, "an overlay": shown} {
		forgeries = append(forgeries, forgery{what: what, credential: credential, body: body}.
			of("GET /v1/vote?id="+mainPoll, "GET /v1/poll?id="+mainPoll, "GET /v1/events?topic=vote_update:"+mainPoll, "GET /v1/events?topic=private", "POST /v1/vote?id=shown", "POST /v1/vote_config",
				"DELETE /v1/vote?id=shown", "POST /v1/overlay_keys", "GET /v1/overlay_keys", "GET /v1/viewer_state", "GET /v1/rank?id=shown", "GET /v1/staff", "POST /v1/whisper_self")...)
	}
	a.forge(ctx, forgeries)
	all.Wait()
}

// guessPINs guesses the PINs that games show, as the broadcaster of an empty channel.
func (a *attacker) guessPINs(ctx context.Context) {
	client := a.newClient(4)
	defer client.CloseIdleConnections()
	for n := range int64(40) {
		a.from(n+1).showPIN(ctx, client, extension)
	}
	a.flood(ctx, 4, func(ctx context.Context, n int64) (string, error) {
		pin := fmt.Sprintf("ABCD%c%c", 'A'+n/8%8, 'A'+n%8)
		outcome, err := a.send(ctx, client, a.Broadcaster, http.MethodPost, "/v1/validate_pin", `{"pin":"`+pin+`"}`)
		if outcome == "429" {
			wait(ctx, 50*time.Millisecond)
			return "guesses: 429", err
		}
		return "guessed", err
	})
	a.breachAbove(40, "guessed", "a channel guesses more than 40 PINs")
}
