package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// plant stores what callers may or may not see, in the name of a viewer and staff that are not
// among the callers.
func (w *rightsWorld) plant(environment string) {
	w.Helper()
	s := mainSide(environment)
	victim, broadcaster := s.sign("viewer", "1", "77"), s.sign("broadcaster", "1", "1")
	owner, backend := s.sign("admin", "1", "1000"), s.sign("backend", "1", "900")
	for _, request := range []struct{ method, target, header, body string }{
		{"POST", "/vote_config", broadcaster, `{"id":"shown","config":{"prompt":"mark-one","options":["option-one","b"],"publicResults":true}}`},
		{"POST", "/vote_config", broadcaster, `{"id":"devices","config":{"deviceVoting":true}}`},
		{"POST", "/vote?id=devices", victim, `{"value":2}`},
		{"POST", "/vote_config", broadcaster, `{"id":"hidden","config":{"resultsVisibility":"staff"}}`},
		{"POST", "/vote_config", broadcaster, `{"id":"written","config":{"options":["option-one"]}}`},
		{"POST", "/vote_config", broadcaster, `{"id":"unnamed","config":{"options":["option-one"]}}`},
		{"POST", "/vote?id=unnamed", victim, `{"value":1}`},
		{"POST", "/rank?id=unnamed", victim, `{"key":"unnamed-one"}`},
		{"POST", "/vote_config", backend, `{"id":"globalhidden","config":{"resultsVisibility":"staff"}}`},
		{"POST", "/vote_config", backend, `{"id":"globalwritten","config":{}}`},
		{"POST", "/vote_config", backend, `{"id":"globalshown","config":{}}`},
		{"POST", "/vote?id=shown", victim, `{"value":1}`},
		{"POST", "/vote?id=hidden", victim, `{"value":1}`},
		{"POST", "/vote?id=written", victim, `{"value":1}`},
		{"POST", "/vote?id=globalhidden", victim, `{"value":1}`},
		{"POST", "/vote?id=globalwritten", victim, `{"value":1}`},
		{"POST", "/accumulate?id=shown", victim, `{"is":"mark-one"}`},
		{"POST", "/accumulate?id=written", victim, `{"is":"mark-one"}`},
		{"POST", "/rank_config?id=shown", broadcaster, `{"answersPerViewer":2,"blocked":["blocked-one"]}`},
		{"POST", "/rank_config?id=written", broadcaster, `{"answersPerViewer":2}`},
		{"POST", "/rank_config?id=globalwritten", backend, `{"answersPerViewer":2}`},
		{"POST", "/rank?id=shown", victim, `{"key":"mark-one"}`},
		{"POST", "/rank?id=shown", victim, `{"key":"hidden-one"}`},
		{"POST", "/rank_moderation?id=shown", broadcaster, `{"action":"hide","key":"hidden-one"}`},
		{"POST", "/rank?id=written", victim, `{"key":"written-one"}`},
		{"POST", "/rank?id=globalwritten", victim, `{"key":"written-one"}`},
		{"POST", "/channel_state", broadcaster, `{"is":"channel-one"}`},
		{"POST", "/extension_state", backend, `{"is":"extension-one"}`},
		{"POST", "/extension_hidden_state", backend, `{"is":"secret-one"}`},
		{"POST", "/viewer_state", victim, `{"is":"victim-one"}`},
		{"POST", "/extension_viewer_state", victim, `{"is":"victim-one"}`},
		{"POST", "/json_store?id=shown", broadcaster, `{"is":"mark-one"}`},
		{"POST", "/json_store?id=written", broadcaster, `{"is":"mark-one"}`},
		{"POST", "/config/channel", broadcaster, `{"is":"channel-one","skus":{"life":{"price":10,"displayName":"Life"}}}`},
		{"POST", "/config/extension", owner, `{"is":"extension-one"}`},
		{"POST", "/bits/transactions", victim, `{"transactionReceipt":"` + s.receipt(w.address(), "77", 4321) + `"}`},
		{"POST", "/coins/purchase", victim, `{"sku":"life","price":10}`},
		{"POST", "/pictures", broadcaster, `{"data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAADklEQVR4nGL6DwgAAP//AQUBAlrdOc0AAAAASUVORK5CYII="}`},
		{"GET", "/user_info", victim, ""},
	} {
		w.must(s, request.method, request.target, request.header, request.body)
	}
	w.planted[environment] = map[string]string{
		"{overlay}":     w.created(s, "/overlay_keys", broadcaster, `{"name":"mark-one"}`, "id"),
		"{staffKey}":    w.created(s, "/staff_keys", broadcaster, `{"name":"mark-one","scopes":["polls"]}`, "id"),
		"{game}":        w.plantGame(s, broadcaster),
		"{transaction}": w.victimsTransaction(s, broadcaster),
	}
}

// plantGame pairs a game and returns its id.
func (w *rightsWorld) plantGame(s rightsSide, broadcaster string) string {
	w.Helper()
	var list struct{ Games []struct{ ID string } }
	games := func() map[string]bool {
		if err := json.Unmarshal([]byte(w.must(s, http.MethodGet, "/gamelink/games", broadcaster, "")), &list); err != nil {
			w.Fatal(err)
		}
		ids := map[string]bool{}
		for _, game := range list.Games {
			ids[game.ID] = true
		}
		return ids
	}
	before := games()
	game := w.dial(s.environment, s.extension)
	defer game.end()
	game.authenticate(`"pin":"` + w.created(s, "/gamelink/token", broadcaster, "", "pin") + `"`)
	for id := range games() {
		if !before[id] {
			return id
		}
	}
	w.Fatal("the game is not listed")
	return ""
}

// victimsTransaction returns the id of the oldest open purchase.
func (w *rightsWorld) victimsTransaction(s rightsSide, broadcaster string) string {
	w.Helper()
	var open struct {
		Transactions []struct {
			ID string `json:"muxy_id"`
		}
	}
	game := w.dial(s.environment, s.extension)
	defer game.end()
	game.authenticate(`"jwt":"` + tokenOf(broadcaster) + `"`)
	answer := game.ask("get", "transaction", `{"sku":"*"}`)
	if err := json.Unmarshal(answer.Data, &open); err != nil || len(open.Transactions) == 0 {
		w.Fatalf("no purchase is open: %v, %s", answer.Errors, answer.Data)
	}
	return open.Transactions[0].ID
}

// receipt returns the platform's receipt of a purchase.
func (s rightsSide) receipt(id, user string, bits int) string {
	product := map[string]any{"domainId": "twitch.ext." + s.extension, "sku": "life", "displayName": "Life", "cost": map[string]any{"amount": bits, "type": "bits"}}
	claims := jwt.MapClaims{"topic": "bits_transaction_receipt", "exp": time.Now().Add(time.Hour).Unix(), "data": map[string]any{
		"transactionId": id, "time": time.Now().UTC().Format(time.RFC3339), "userId": user, "product": product,
	}}
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(s.secretOf())
	if err != nil {
		panic(err) // a key of bytes always signs
	}
	return text
}

// snapshot returns all that a channel's staff and a viewer have stored and that no caller may
// change but by the requests that its row allows.
func (w *rightsWorld) snapshot(environment string) map[string]string {
	w.Helper()
	s := mainSide(environment)
	victim, broadcaster, backend := s.sign("viewer", "1", "77"), s.sign("broadcaster", "1", "1"), s.sign("backend", "1", "900")
	all := map[string]string{}
	for header, targets := range map[string]string{
		backend: "/vote?id=written /vote_config?id=written /vote_logs?id=written /rank?id=written /rank?id=written&state=hidden /rank_config?id=written " +
			"/vote?id=globalwritten /vote_config?id=globalwritten /vote_logs?id=globalwritten /rank?id=globalwritten /rank_config?id=globalwritten " +
			"/channel_state /extension_state /extension_hidden_state /extension_viewer_state?user_ids=77,78 /config /json_store?id=written",
		broadcaster: "/accumulate?id=written /overlay_keys /staff_keys /pin_token_exists /gamelink/games",
		victim:      "/viewer_state /coins",
	} {
		for target := range strings.FieldsSeq(targets) {
			status, answer := w.call(environment, http.MethodGet, target, header, "")
			all[target] = fmt.Sprint(status, " ", answer)
		}
	}
	return all
}

// changed returns what differs between two snapshots.
func changed(before, after map[string]string) (targets []string) {
	for target := range maps.Keys(before) {
		if before[target] != after[target] {
			targets = append(targets, target+": "+before[target]+" became "+after[target])
		}
	}
	return targets
}
