package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// The faults of a request, in the order in which an answer names them.
const (
	unknownRoute = 1 << iota
	wrongMethod
	badCredential
	wrongRole
	largeBody
	badBody
	everyFault = 1<<iota - 1
)

// firstOf is the status of the first of several faults.
func firstOf(faults int) int {
	for _, fault := range []struct{ is, status int }{
		{unknownRoute, http.StatusNotFound},
		{wrongMethod, http.StatusMethodNotAllowed},
		{badCredential, http.StatusUnauthorized},
		{wrongRole, http.StatusForbidden},
		{largeBody, http.StatusRequestEntityTooLarge},
		{badBody, http.StatusBadRequest},
	} {
		if faults&fault.is != 0 {
			return fault.status
		}
	}
	return http.StatusOK
}

// The right to something in the request goes before what else is wrong with it, too.
func TestRightsGoBeforeMalformedRequests(t *testing.T) {
	a := newAPI(t)
	for _, request := range []struct{ method, path, body string }{
		{"POST", "/vote_modifier?id=global", `{}`},
		{"POST", "/rank_config?id=global", `[]`},
		{"POST", "/rank_moderation?id=global", `[]`},
		{"POST", "/broadcast", `{"event":"e","data":1,"user_id":"88","target":"none"}`},
		{"GET", "/polls?channel=88&limit=x", ""},
	} {
		a.as(broadcaster(), request.method, request.path, request.body).refused(http.StatusForbidden, refusedRole)
	}
}

// "When several things are wrong the answer is the first of: 404, 405, 401, 403,
// 413, 400", for every combination of them.
func TestFirstOfSeveralFaultsIsAnswered(t *testing.T) {
	a := newAPI(t)
	for _, route := range []struct{ path, body string }{
		{"/vote_config", `{"config":{}}`},
		{"/vote_modifier", `{"user":"U5","add":0}`},
		{"/channel_state", `{}`},
		{"/extension_state", `{}`},
		{"/config/channel", `{}`},
		{"/config/extension", `{}`},
	} {
		for faults := range everyFault + 1 {
			t.Run(fmt.Sprintf("%s %06b", route.path, faults), func(t *testing.T) {
				method, path, credential, body := "POST", "/v1"+route.path, owner().header(t), route.body
				if faults&unknownRoute != 0 {
					path += "s"
				}
				if faults&wrongMethod != 0 {
					method = "PUT"
				}
				if faults&wrongRole != 0 {
					credential = viewer().header(t)
				}
				if faults&badCredential != 0 {
					credential += "x"
				}
				if faults&badBody != 0 {
					body = "x"
				}
				if faults&largeBody != 0 {
					body += strings.Repeat(" ", 256<<10)
				}
				a.send(method, path, body, "Authorization", credential).is(firstOf(faults))
			})
		}
	}
}

// A refused request leaves everything as it was.
func TestRefusedWritesStoreNothing(t *testing.T) {
	a := newAPI(t)
	long := strings.Repeat(" ", 256<<10)
	for path, body := range map[string]string{
		"/vote": `{"value":1}`, "/rank": `{"key":"a"}`, "/accumulate": `{}`, "/vote_config": `{"config":{}}`,
		"/channel_state": `{"a":1}`, "/extension_state": `{"a":1}`, "/viewer_state": `{"a":1}`, "/config/channel": `{"a":1}`,
	} {
		a.send("POST", "/v1"+path, body, "Authorization", owner().header(t)+"x").is(401)
		a.send("POST", "/sandbox/v1"+path, body, "Authorization", owner().header(t)).is(401)
		a.as(callers()["?"], "POST", path, body).is(403)
		a.as(owner(), "POST", path, body+long).is(413)
		a.as(owner(), "PUT", path, body).is(405)
	}
	if got := a.as(owner(), "GET", "/vote", ""); got.field("count") != "0" {
		t.Errorf("a vote was stored: %s", got.body)
	}
	a.as(owner(), "GET", "/rank", "").want(200, `{"data":[]}`)
	a.as(owner(), "GET", "/accumulate", "").want(200, `{"data":[],"latest":0}`)
	a.as(owner(), "GET", "/vote_config", "").want(404, `{}`)
	a.as(owner(), "GET", "/vote_logs", "").want(200, `{"result":[]}`)
	a.as(owner(), "GET", "/all_state", "").want(200, `{"extension":{},"channel":{},"viewer":{},"extension_viewer":{}}`)
	a.as(owner(), "GET", "/config", "").want(200, `{"extension":{},"channel":{}}`)
}
