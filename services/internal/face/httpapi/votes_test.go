package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestVotesTogether(t *testing.T) {
	a := newAPI(t)
	got := a.as(backend(), "POST", "/votes?id=many", `{"votes":[{"user_id":"5","opaque_user_id":"U5","value":3},
		{"opaque_user_id":"U5","value":4.0,"count":0,"other":[{"a":"]"}]},{"user_id":"6","value":129},{"value":1},{"user\u005fid":"6\u0022","value":5}, {"opaque_user_id":"A1","count":2}]}`).is(200)
	want := `[{"accepted":true},{"accepted":true},{"accepted":false,"reason":"Value out of bounds"},` +
		`{"accepted":false,"reason":"unacceptable vote"},{"accepted":true},{"accepted":false,"reason":"Count out of bounds"}]`
	if got.field("results") != want || got.field("count") != "2" || got.field("sum") != "9" || got.field("vote") != "" {
		t.Errorf("answered %s", got.body)
	}
	if vote := a.as(viewer(), "GET", "/vote?id=many", "").field("vote"); vote != "4" {
		t.Errorf("the viewer's vote is %s, want 4", vote)
	}
	logs := a.as(backend(), "GET", "/vote_logs?id=many", "").body
	if n := strings.Count(logs, `"value"`); n != 3 || !strings.Contains(logs, `"identifier":"6\""`) {
		t.Errorf("the log is %s", logs)
	}
}

func TestVotesReasons(t *testing.T) {
	a := newAPI(t)
	many := func(n int) string {
		return `{"votes":[` + strings.TrimSuffix(strings.Repeat(`{"user_id":"5"},`, n), ",") + `]}`
	}
	for _, body := range []string{
		``, `{}`, `[]`, `{"votes":{}}`, `{"votes":null}`, `{"votes":[1]}`, `{"votes":[null]}`, `{"votes":["a"]}`, `{"votes":[{"value":null}]}`,
		`{"votes":[{"value":1.5}]}`, `{"votes":[{"value":"1"}]}`, `{"votes":[{"user_id":5}]}`, `{"votes":[{"user_id":null}]}`,
		`{"votes":[{"opaque_user_id":[]}]}`, `{"votes":[{"user_id":"5"},{"count":true}]}`, `{"votes":[{}]}x`, `{"votes":[{"user_id":"` + strings.Repeat("x", 257) + `"}]}`,
	} {
		a.as(owner(), "POST", "/votes", body).refused(400, "Invalid body")
	}
	for _, body := range []string{`{"votes":[]}`, many(1001)} {
		a.as(owner(), "POST", "/votes", body).refused(400, "votes must have 1 to 1000 elements")
	}
	a.as(viewer(), "GET", "/vote", "").want(200, a.as(viewer(), "GET", "/vote?id=untouched", "").body)
	if got := a.as(owner(), "POST", "/votes", many(1000)).is(200); strings.Count(got.body, "true") != 1000 || got.field("count") != "1" {
		t.Errorf("a thousand votes are answered %.200s", got.body)
	}
	a.as(broadcaster(), "POST", "/vote_config", `{"id":"closed","config":{"disabled":true}}`).is(200)
	if got := a.as(owner(), "POST", "/votes?id=closed", many(2)).is(200); strings.Count(got.body, `"reason":"poll is closed"`) != 2 {
		t.Errorf("votes in a closed poll are answered %s", got.body)
	}
}

// In the sandbox, where anyone is a backend, each of the votes counts against the quota.
func TestVotesHaveQuotasInTheSandbox(t *testing.T) {
	a := newAPI(t)
	a.reload(strings.Replace(registryFile, "sandbox: {secrets", "sandbox: {limits: {identityBytesPerDay: 1000}, secrets", 1))
	box := backend()
	box.key = sandboxKey
	send := func(id string) answer {
		return a.send("POST", "/sandbox/v1/votes?id="+id, `{"votes":[`+strings.Repeat(`{"user_id":"5"},`, 9)+`{"user_id":"6"}]}`, "Authorization", box.header(t))
	}
	send("a").is(200)
	for i := range 3 {
		send(fmt.Sprint("b", i)).refused(429, "Too many bytes stored; nothing was stored")
	}
	a.as(backend(), "POST", "/votes", `{"votes":[{"user_id":"5"}]}`).is(200)
}
