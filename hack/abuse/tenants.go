package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// sampleEntry declares an extension with the key that the project publishes.
const (
	sampleExtension = "sample-extension"
	sampleKey       = "sample-key-of-more-than-32-bytes-for-all"
	sampleEntry     = "- clientID: " + sampleExtension + "\n  ownerUserID: \"1000\"\n  secrets: [{value: c2FtcGxlLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtZm9yLWFsbA==}]\n"
)

// mustCredential returns a credential of the victims' extension.
func mustCredential(role, channel, opaque string) string {
	credential, err := newCredential(extension, role, channel, opaque)
	if err != nil {
		panic(err)
	}
	return credential
}

// globalPoll is a poll of all channels whose results staff alone may see.
const globalPoll = "global-final"

// forgeGlobalPoll reads and changes a poll of all channels as the broadcaster of an empty one.
func forgeGlobalPoll(ctx context.Context, a *attacker) {
	client := a.newClient(4)
	defer client.CloseIdleConnections()
	backend := mustCredential("backend", "", "")
	for _, step := range [][3]string{
		{backend, "/v1/vote_config", `{"id":"` + globalPoll + `","config":{"global":true,"resultsVisibility":"staff"}}`},
		{a.Viewer, "/v1/vote?id=" + globalPoll, `{"value":7}`},
	} {
		outcome, err := a.send(ctx, client, step[0], http.MethodPost, step[1], step[2])
		a.count("prepare: " + outcome)
		if err != nil {
			a.count("prepare: " + describeError(err))
		}
	}
	forged := [][3]string{
		{http.MethodPost, "/v1/vote_modifier?id=" + globalPoll, `{"user":"Uattacker000000","add":100}`},
		{http.MethodPost, "/v1/vote_config", `{"id":"` + globalPoll + `","config":{"global":true}}`},
		{http.MethodPatch, "/v1/vote_config", `{"id":"` + globalPoll + `","config":{"resultsVisibility":"always"}}`},
		{http.MethodDelete, "/v1/vote?id=" + globalPoll, ""},
	}
	a.flood(ctx, 4, func(ctx context.Context, n int64) (string, error) {
		if n%5 == 4 {
			if a.seesVotes(ctx, client, "/v1/vote?id="+globalPoll) {
				a.breach("a broadcaster reads the hidden results of a global poll")
			}
			return "read", nil
		}
		f := forged[n%5]
		outcome, err := a.send(ctx, client, a.Broadcaster, f[0], f[1], f[2])
		if outcome == "200" {
			a.breach("a broadcaster may " + f[0] + " " + pathOf(f[1]) + " of a global poll")
		}
		return outcome, err
	})
}

// seesVotes reports whether the broadcaster reads a poll that has votes.
func (a *attacker) seesVotes(ctx context.Context, client *http.Client, path string) bool {
	response, err := harness.Send(ctx, client, http.MethodGet, "http://"+a.Address+path, a.Broadcaster, "")
	if err != nil {
		return false
	}
	defer response.Body.Close()
	var statistics struct{ Count, Sum float64 }
	return json.NewDecoder(response.Body).Decode(&statistics) == nil && (statistics.Count != 0 || statistics.Sum != 0)
}

// openPINs asks for PINs of games that do not exist, from 30 addresses. The PIN of a genuine
// game stays good, and a game of another extension gets one.
func openPINs(ctx context.Context, a *attacker) {
	genuine := a.from(200)
	client := genuine.newClient(1)
	defer client.CloseIdleConnections()
	pin := genuine.showPIN(ctx, client, extension)
	attacking, stop := context.WithTimeout(ctx, a.Duration*3/4)
	defer stop()
	var all sync.WaitGroup
	for n := range int64(30) {
		all.Go(func() {
			one := a.from(n + 1)
			one.repeat(attacking, 1, func(int64) (credential, method, path, body string) {
				return "", http.MethodPost, "/v1/pin", `{"identifier":"` + extension + `"}`
			})
			a.merge(one)
		})
	}
	all.Wait()
	streamer := mustCredential("broadcaster", channel, "U1")
	if outcome, err := genuine.send(ctx, client, streamer, http.MethodPost, "/v1/validate_pin", `{"pin":"`+pin+`"}`); err != nil || outcome != "200" {
		a.breach("the PIN of a genuine game is gone: " + outcome)
	}
	if genuine.showPIN(ctx, client, otherExtension) == "" {
		a.breach("a game of another extension gets no PIN")
	}
}

// showPIN returns the PIN that a game without a credential gets.
func (a *attacker) showPIN(ctx context.Context, client *http.Client, extension string) string {
	return readPIN(harness.Send(ctx, client, http.MethodPost, "http://"+a.Address+"/v1/pin", "", `{"identifier":"`+extension+`"}`))
}

// merge adds the outcomes of another attacker, which has ended.
func (a *attacker) merge(other *attacker) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for outcome, n := range other.outcomes {
		a.outcomes[outcome] += n
	}
}

// drainAnonymously has a hundred anonymous viewers of one channel invent polls, until the
// quota of the extension is used up. The first votes of another channel count.
func drainAnonymously(ctx context.Context, a *attacker) {
	credentials := make([]string, 100)
	for i := range credentials {
		credentials[i] = mustCredential("viewer", "666", fmt.Sprintf("A%d", i))
	}
	var all sync.WaitGroup
	all.Go(func() {
		wait(ctx, a.Duration/2) // the quota is used up
		a.repeatSlowly(ctx, 100*time.Millisecond, func(n int) (credential, method, path, body string) {
			viewer := mustCredential("viewer", "77", fmt.Sprintf("Uhonest%d", n))
			return viewer, http.MethodPost, fmt.Sprintf("/v1/vote?id=show%d", n), `{"value":1}`
		})
	})
	client := a.newClient(16)
	defer client.CloseIdleConnections()
	a.flood(ctx, 16, func(ctx context.Context, n int64) (string, error) {
		outcome, err := a.send(ctx, client, credentials[n%100], http.MethodPost, fmt.Sprintf("/v1/vote?id=drain%d", n), `{"value":1}`)
		return "drain: " + outcome, err
	})
	all.Wait()
	a.breachIf("POST: 429", "a first vote in another channel is refused")
}

// drainAsBroadcaster fills buffers and configures polls with the token of an empty channel.
func drainAsBroadcaster(ctx context.Context, a *attacker) {
	entry := `{"d":"` + text(60_000) + `"}`
	a.repeat(ctx, 4, func(n int64) (credential, method, path, body string) {
		if n%2 == 0 {
			return a.Broadcaster, http.MethodPost, "/v1/vote_config", fmt.Sprintf(`{"id":"made%d","config":{"options":["a"]}}`, n)
		}
		return a.Broadcaster, http.MethodPost, fmt.Sprintf("/v1/accumulate?id=l%d", n), entry
	})
}

// fillSandbox stores with tokens that it gives itself.
func fillSandbox(ctx context.Context, a *attacker) {
	entry := `{"d":"` + text(60_000) + `"}`
	a.repeat(ctx, 16, func(n int64) (credential, method, path, body string) {
		viewer, err := signCredential(extension, "sandbox", jwt.MapClaims{"role": "broadcaster", "channel_id": fmt.Sprint(n % 1000), "opaque_user_id": fmt.Sprintf("Usandbox%d", n%1000)})
		if err != nil {
			panic(err) // the claims are text
		}
		return viewer, http.MethodPost, fmt.Sprintf("/sandbox/v1/accumulate?id=s%d", n), entry
	})
}

// askThePast asks for the history of a large poll as viewers. Staff gets its own.
func askThePast(ctx context.Context, a *attacker) {
	backend := mustCredential("backend", channel, "")
	a.makeLargePoll(ctx, backend, 100)
	var all sync.WaitGroup
	all.Go(func() {
		a.repeatSlowly(ctx, 200*time.Millisecond, func(int) (credential, method, path, body string) {
			return mustCredential("broadcaster", channel, "U1"), http.MethodGet, "/v1/vote_history?id=large", ""
		})
	})
	client := a.newClient(4)
	defer client.CloseIdleConnections()
	a.flood(ctx, 4, func(ctx context.Context, n int64) (string, error) {
		viewer := mustCredential("viewer", channel, fmt.Sprintf("Apast%d", n%4))
		outcome, err := a.send(ctx, client, viewer, http.MethodGet, "/v1/vote_history?id=large", "")
		return "viewers: " + outcome, err
	})
	all.Wait()
	a.breachIf("GET: 429", "staff's question about the past is refused")
}

// makeLargePoll votes for a thousand viewers in each request.
func (a *attacker) makeLargePoll(ctx context.Context, backend string, requests int) {
	client := a.newClient(1)
	defer client.CloseIdleConnections()
	for n := range requests {
		votes := make([]string, 1000)
		for i := range votes {
			votes[i] = fmt.Sprintf(`{"opaque_user_id":"Ularge%d","value":%d}`, 1000*n+i, i%4)
		}
		outcome, err := a.send(ctx, client, backend, http.MethodPost, "/v1/votes?id=large", `{"votes":[`+strings.Join(votes, ",")+`]}`)
		if err != nil {
			outcome = describeError(err)
		}
		a.count("prepare: " + outcome)
	}
}

// useSampleKey signs as an administrator with the published key, through a proxy on the same
// machine.
func useSampleKey(ctx context.Context, a *attacker) {
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"exp": time.Now().Add(time.Hour).Unix(), "role": "admin", "user_id": "1000", "channel_id": "1",
	}).SignedString([]byte(sampleKey))
	if err != nil {
		panic(err) // the claims are text
	}
	client := a.newClient(4)
	defer client.CloseIdleConnections()
	a.flood(ctx, 4, func(ctx context.Context, _ int64) (string, error) {
		response, err := harness.Send(ctx, client, http.MethodGet, "http://"+a.Address+"/v1/extension_hidden_state", sampleExtension+" "+token, "",
			"X-Forwarded-For", "8.8.8.8")
		if err != nil {
			return "", err
		}
		_ = response.Body.Close() // the status is the answer
		if response.StatusCode == http.StatusOK {
			a.breach("a published key is good for the public")
		}
		return response.Status, nil
	})
}

// namedClient is the outcome of a request that names a client of its own, whatever its answer.
const namedClient = "client named"

// forgeClients names another client with each request, as those can that a proxy passes
// X-Forwarded-For on for. Limits for an address do not hold then: all that the program can do is
// to say so.
func forgeClients(ctx context.Context, a *attacker) {
	client := a.newClient(8)
	defer client.CloseIdleConnections()
	a.flood(ctx, 8, func(ctx context.Context, n int64) (string, error) {
		status, _, err := harness.Ask(ctx, client, http.MethodGet, "http://"+a.Address+"/v1/vote?id="+mainPoll, a.Crowd[n%crowdSize], "",
			"X-Forwarded-For", fmt.Sprintf("198.18.%d.%d", n/256%256, n%256))
		if status == 0 {
			return "", err
		}
		return namedClient, err
	})
}

// buryPurchase makes many purchases after one that no game has seen yet.
func buryPurchase(ctx context.Context, a *attacker) {
	client := a.newClient(8)
	defer client.CloseIdleConnections()
	buy := func(ctx context.Context, n int64, user string) (string, error) {
		viewer, err := signCredential(extension, "production", jwt.MapClaims{"role": "viewer", "channel_id": "55", "user_id": user, "opaque_user_id": "U" + user})
		if err != nil {
			return "", err
		}
		receipt, err := signClaims(extension, "production", jwt.MapClaims{"topic": "bits_transaction_receipt", "data": map[string]any{
			"transactionId": fmt.Sprintf("t%d", n), "time": time.Now().Format(time.RFC3339), "userId": user,
			"product": map[string]any{"domainId": "twitch.ext." + extension, "sku": "life", "displayName": "Life", "cost": map[string]any{"amount": 1, "type": "bits"}},
		}})
		if err != nil {
			return "", err
		}
		return a.send(ctx, client, viewer, http.MethodPost, "/v1/bits/transactions", `{"transactionReceipt":"`+receipt+`","displayName":"xQc"}`)
	}
	outcome, err := buy(ctx, 0, "8001")
	if err != nil || outcome != "201" {
		a.count("the first purchase: " + outcome)
		return
	}
	burying, stop := context.WithTimeout(ctx, a.Duration*3/4)
	defer stop()
	a.flood(burying, 8, func(ctx context.Context, n int64) (string, error) {
		if n >= 400 {
			stop()
			return "done", nil
		}
		return buy(ctx, n+1, fmt.Sprint(9000+n%40))
	})
	a.findPurchase(ctx, "8001")
}

// findPurchase has a game close the oldest open purchase, which must be that of the buyer.
func (a *attacker) findPurchase(ctx context.Context, buyer string) {
	g, err := a.openGame(ctx, extension)
	if err != nil {
		a.count(outcomeOf(err))
		return
	}
	defer g.end()
	if _, err := g.authenticate(ctx, extension, "jwt", signGame(extension, "broadcaster", "55")); err != nil {
		a.count("authenticate: " + outcomeOf(err))
		return
	}
	data, err := g.ask(ctx, "get", "transaction", map[string]string{"sku": "*"})
	if err != nil {
		a.count("get: " + outcomeOf(err))
		return
	}
	var open struct {
		Transactions []struct {
			UserID string `json:"userId"`
			MuxyID string `json:"muxy_id"`
		} `json:"transactions"`
	}
	if err := json.Unmarshal(data, &open); err != nil || len(open.Transactions) == 0 || open.Transactions[0].UserID != buyer {
		a.breach("a paid purchase has vanished")
		return
	}
	if _, err := g.ask(ctx, "validate", "transaction", map[string]string{"transaction_id": open.Transactions[0].MuxyID}); err != nil {
		a.breach("a paid purchase cannot be validated: " + outcomeOf(err))
	}
}

// shoutOnDatastream sends as many objects as 40 anonymous viewers can. Another viewer of the
// channel has its rate.
func shoutOnDatastream(ctx context.Context, a *attacker) {
	var all sync.WaitGroup
	all.Go(func() {
		wait(ctx, a.Duration/3)
		viewer := mustCredential("viewer", "66", "Uquiet")
		a.repeatSlowly(ctx, 300*time.Millisecond, func(int) (credential, method, path, body string) {
			return viewer, http.MethodPost, "/v1/datastream", `{"throw":"tomato"}`
		})
	})
	client := a.newClient(40)
	defer client.CloseIdleConnections()
	a.flood(ctx, 40, func(ctx context.Context, n int64) (string, error) {
		viewer := mustCredential("viewer", "66", fmt.Sprintf("Aloud%d", n%40))
		outcome, err := a.send(ctx, client, viewer, http.MethodPost, "/v1/datastream", `{"throw":"everything"}`)
		return "loud: " + outcome, err
	})
	all.Wait()
	a.breachIf("POST: 429", "a quiet viewer's input is refused")
}
