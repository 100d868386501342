package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// callers are one of every kind that access rules tell apart, by letter.
func callers() map[string]identity {
	return map[string]identity{
		"v": viewer(),
		"m": {role: "moderator", opaque: "U6", user: "6"},
		"b": broadcaster(),
		"a": admin(),
		"o": owner(),
		"l": listed(),
		"k": backend(),
		"e": {role: "external", opaque: "E", user: "8"},
		"x": {extension: "other", key: otherKey, role: "external", opaque: "E", user: "8"},
		"?": {role: "Viewer", opaque: "U5", user: "5"},
	}
}

// Sections 4.1 to 4.5 and "Identity": the roles that may use each route. "x" is an
// external caller whose extension maps that role to backend.
const (
	all      = "abklmovx"
	staff    = "abklox"
	verified = "klox"
)

func TestRoles(t *testing.T) {
	a := newAPI(t)
	for _, test := range []struct{ route, body, allowed string }{
		{"GET /vote", "", all},
		{"POST /vote", "{}", all},
		{"DELETE /vote", "", staff},
		{"GET /vote_history", "", all},
		{"GET /vote_logs", "", verified},
		{"POST /votes", `{"votes":[{"user_id":"5"}]}`, verified},
		{"POST /vote_modifier", `{"user":"U5","add":0}`, staff},
		{"GET /vote_config?id=none", "", all},
		{"POST /vote_config", `{"config":{}}`, staff},
		{"GET /accumulate", "", staff},
		{"POST /accumulate", "{}", all},
		{"DELETE /accumulate", "", verified},
		{"GET /rank", "", staff},
		{"POST /rank", `{"key":"a"}`, all},
		{"DELETE /rank", "", staff},
		{"GET /rank_config?id=none", "", all},
		{"POST /rank_config", "{}", staff},
		{"POST /rank_moderation", `{"action":"hide","key":"a"}`, staff},
		{"GET /all_state", "", all},
		{"GET /channel_state", "", all},
		{"POST /channel_state", "{}", staff},
		{"PATCH /channel_state", "{}", staff},
		{"GET /extension_state", "", all},
		{"POST /extension_state", "{}", verified},
		{"PATCH /extension_state", "{}", verified},
		{"GET /extension_hidden_state", "", verified},
		{"POST /extension_hidden_state", "{}", verified},
		{"PATCH /extension_hidden_state", "{}", verified},
		{"GET /viewer_state", "", all},
		{"POST /viewer_state", "{}", all},
		{"PATCH /viewer_state", "[]", all},
		{"GET /extension_viewer_state", "", all},
		{"GET /extension_viewer_state?user_ids=1", "", "aklox"},
		{"GET /extension_viewer_state?userID=1", "", "aklox"},
		{"POST /extension_viewer_state", "{}", all},
		{"PATCH /extension_viewer_state", "{}", all},
		{"GET /config", "", all},
		{"GET /config/channel", "", all},
		{"POST /config/channel", "{}", "ablo"},
		{"PATCH /config/channel", "{}", "ablo"},
		{"GET /config/extension", "", all},
		{"POST /config/extension", "{}", "alo"},
		{"PATCH /config/extension", "{}", "alo"},
		{"GET /all_config", "", all},
		{"GET /channel_config", "", all},
		{"POST /channel_config", "{}", "ablo"},
		{"PATCH /channel_config", "{}", "ablo"},
		{"GET /extension_config", "", all},
		{"POST /extension_config", "{}", "alo"},
		{"PATCH /extension_config", "{}", "alo"},
		{"GET /user_info", "", all},
		{"GET /events", "", all},
		{"POST /broadcast", `{"event":"default","data":{}}`, staff},
		{"POST /pusher_broadcast", `{"event":"production:ext:a","data":{}}`, staff},
		{"POST /extension_broadcast", `{"event":"default","data":{}}`, verified},
		{"POST /broadcast_extension", `{"event":"default","data":{}}`, verified},
		{"GET /json_store?id=none", "", all},
		{"POST /json_store", "{}", staff},
		{"GET /user_ids", "", "aklox"},
		{"POST /gamelink/token", "", staff},
		{"POST /gamelink/pin", "", staff},
		{"POST /validate_pin", `{"pin":"AAAAAA"}`, "b"},
		{"GET /pin_token_exists", "", "b"},
		{"DELETE /pin", "", "b"},
		{"GET /gamelink/games", "", staff},
		{"DELETE /gamelink/games?id=none", "", staff},
		{"POST /datastream", "{}", all},
		{"POST /bits/transactions", `{"transactionReceipt":"a"}`, all},
		{"POST /coins/purchase", `{"sku":"a","price":1}`, all},
		{"GET /coins", "", all},
		{"GET /codes", "", verified},
		{"POST /codes/mark_from_list", "{}", verified},
		{"GET /codes/redeemed", "", all},
		{"POST /curated_poll_edit", "{}", verified},
		{"POST /whisper_self", `{"event":"default","data":{}}`, all},
	} {
		t.Run(test.route, func(t *testing.T) {
			method, path, _ := strings.Cut(test.route, " ")
			var allowed string
			for letter := range strings.SplitSeq("abeklmovx?", "") {
				got := a.as(callers()[letter], method, path, test.body)
				if got.status == http.StatusForbidden {
					got.refused(http.StatusForbidden, "The JWT role is not allowed to perform this operation.")
				} else {
					allowed += letter
				}
				if got.status >= 500 || got.status == http.StatusUnauthorized {
					t.Errorf("%s: %d %s", letter, got.status, got.body)
				}
			}
			if diff := cmp.Diff(test.allowed, allowed); diff != "" {
				t.Errorf("allowed (-want +got):\n%s", diff)
			}
		})
	}
}

// The answer names the first thing that is wrong: 404, 405, 401, 403, 413, 400.
func TestPrecedence(t *testing.T) {
	a := newAPI(t)
	long := strings.Repeat("x", 300<<10)
	for _, test := range []struct {
		name, method, path, credential, body string
		status                               int
	}{
		{"unknown route before the rest", "PUT", "/nope?id=" + long[:300], "", long, 404},
		{"method before credential", "PUT", "/vote", "", long, 405},
		{"credential before role", "DELETE", "/vote", "ext x.y.z", long, 401},
		{"role before body size", "POST", "/vote_config", viewer().header(t), long, 403},
		{"role before query", "GET", "/rank?limit=x", viewer().header(t), "", 403},
		{"body size before query", "POST", "/vote?id=" + long[:300], viewer().header(t), long, 413},
		{"entry size before query", "POST", "/accumulate?id=" + long[:300], viewer().header(t), `{"a":"` + long[:70<<10] + `"}`, 413},
		{"query or body last", "POST", "/vote?id=" + long[:300], viewer().header(t), "x", 400},
	} {
		t.Run(test.name, func(t *testing.T) {
			a.send(test.method, "/v1"+test.path, test.body, "Authorization", test.credential).is(test.status)
		})
	}
}

func TestAllowNamesTheMethods(t *testing.T) {
	a := newAPI(t)
	for path, want := range map[string]string{
		"/v1/vote":              "DELETE, GET, HEAD, OPTIONS, POST",
		"/v1/vote_logs":         "GET, HEAD, OPTIONS",
		"/v1/e/config/channel":  "GET, HEAD, OPTIONS, PATCH, POST",
		"/sandbox/v1/authtoken": "OPTIONS, POST",
	} {
		got := a.send("PUT", path, "").is(405)
		if allow := got.header.Get("Allow"); allow != want {
			t.Errorf("%s: Allow is %q, want %q", path, allow, want)
		}
	}
}

func TestUnknownPathsAreNeverRedirected(t *testing.T) {
	a := newAPI(t)
	for _, path := range []string{"/", "/v1", "/v1/", "/v1/vote/", "/v1//vote", "/v1/e/e/vote", "/v1/x/../vote", "/v2/vote", "/vote", "/v1/authtoken", "/sandbox/vote"} {
		a.send("GET", path, "", "Authorization", viewer().header(t)).refused(404, "No such route")
	}
}

func TestEveryRouteHasBothPrefixes(t *testing.T) {
	a := newAPI(t)
	for _, prefix := range []string{"/v1", "/v1/e"} {
		a.send("GET", prefix+"/user_info", "", "Authorization", viewer().header(t)).is(200)
	}
	box := identity{key: sandboxKey, role: "viewer", opaque: "U5"}.header(t)
	for _, prefix := range []string{"/sandbox/v1", "/sandbox/v1/e"} {
		a.send("GET", prefix+"/user_info", "", "Authorization", box).is(200)
	}
}

// HEAD is GET without the body, which the server leaves out.
func TestHead(t *testing.T) {
	a := newAPI(t)
	for path, status := range map[string]int{"/vote": 200, "/channel_state": 200, "/vote_config": 404, "/rank": 403} {
		a.as(viewer(), "HEAD", path, "").is(status)
	}
	a.send("HEAD", "/v1/vote", "").is(401)
	a.send("HEAD", "/sandbox/v1/authtoken", "").is(405)
}
