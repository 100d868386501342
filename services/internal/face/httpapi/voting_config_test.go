package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestConfigIsReadBackWithoutPromptAndUserData(t *testing.T) {
	a := newAPI(t)
	a.as(viewer(), "GET", "/vote_config", "").want(404, "{}")
	a.as(viewer(), "POST", "/vote", "{}").is(200)
	a.as(viewer(), "GET", "/vote_config", "").want(404, "{}")

	a.as(broadcaster(), "POST", "/vote_config", `{"config":{}}`).want(200, "{}")
	a.as(viewer(), "GET", "/vote_config", "").want(200, `{"userIDVoting":false,"distinctOptionsPerUser":1,"totalVotesPerUser":1,
		"votesPerOption":1,"global":false,"disabled":false,"prompt":"","options":[],"userData":null,"startsAt":0,"endsAt":0,"status":"active"}`)

	a.as(backend(), "POST", "/vote_config", `{"id":"global-x","config":{"userIDVoting":true,"distinctOptionsPerUser":2.0,"totalVotesPerUser":3,
		"votesPerOption":4e0,"global":true,"disabled":true,"prompt":"why?","options":["a","<b>",""],"userData":{"a":[1]},"startsAt":1,"endsAt":2,"status":5}}`).want(200, "{}")
	a.as(viewer(), "GET", "/vote_config?id=global-x", "").want(200, `{"userIDVoting":true,"distinctOptionsPerUser":2,"totalVotesPerUser":3,
		"votesPerOption":4,"global":true,"disabled":true,"prompt":"","options":["a","<b>",""],"userData":null,"startsAt":1,"endsAt":2,"status":"expired"}`)
}

// The later fields are in the answer where they are used.
func TestConfigShowsTheLaterFields(t *testing.T) {
	a := newAPI(t)
	a.as(broadcaster(), "POST", "/vote_config", `{"config":{"resultsVisibility":"afterVote","showCount":true,"loggedInOnly":true,"strict":true,"publicResults":true,"verifiable":true}}`).want(200, "{}")
	a.as(viewer(), "GET", "/vote_config", "").want(200, `{"userIDVoting":false,"distinctOptionsPerUser":1,"totalVotesPerUser":1,
		"votesPerOption":1,"global":false,"disabled":false,"prompt":"","options":[],"userData":null,"startsAt":0,"endsAt":0,"status":"active",
		"resultsVisibility":"afterVote","showCount":true,"loggedInOnly":true,"strict":true,"publicResults":true,"verifiable":true}`)
}

func TestConfigBodies(t *testing.T) {
	a := newAPI(t)
	for body, reason := range map[string]string{
		``: "", `x`: "", `[]`: "", `null`: "",
		`{}`: "config must be an object", `{"config":null}`: "config must be an object", `{"config":[]}`: "config must be an object",
		`{"config":"x"}`: "config must be an object", `{"id":null,"config":{}}`: "id must be a string", `{"id":5,"config":{}}`: "id must be a string",
		`{"config":{"userIDVoting":1}}`: "config.userIDVoting must be a boolean", `{"config":{"userIDVoting":null}}`: "config.userIDVoting must be a boolean",
		`{"config":{"global":"true"}}`: "config.global must be a boolean", `{"config":{"disabled":0}}`: "config.disabled must be a boolean",
		`{"config":{"totalVotesPerUser":"3"}}`: "config.totalVotesPerUser must be an integer", `{"config":{"totalVotesPerUser":1.5}}`: "config.totalVotesPerUser must be an integer",
		`{"config":{"votesPerOption":null}}`: "config.votesPerOption must be an integer", `{"config":{"prompt":null}}`: "config.prompt must be a string",
		`{"config":{"prompt":5}}`: "config.prompt must be a string", `{"config":{"options":null}}`: "config.options must be an array of strings",
		`{"config":{"options":"a"}}`: "config.options must be an array of strings", `{"config":{"options":[1]}}`: "config.options must be an array of strings",
		`{"config":{"options":[null]}}`: "config.options must be an array of strings", `{"config":{"startsAt":"1"}}`: "config.startsAt must be an integer",
		`{"config":{"endsAt":null}}`: "config.endsAt must be an integer", `{"config":{"resultsVisibility":1}}`: "config.resultsVisibility must be a string",
		`{"config":{"showCount":"true"}}`: "config.showCount must be a boolean", `{"config":{"loggedInOnly":null}}`: "config.loggedInOnly must be a boolean",
		`{"config":{"strict":1}}`: "config.strict must be a boolean", `{"config":{"publicResults":1}}`: "config.publicResults must be a boolean", `{"config":{"deviceVoting":1}}`: "config.deviceVoting must be a boolean", `{"config":{"weightedVotes":1}}`: "config.weightedVotes must be a boolean", `{"config":{"entries":1}}`: "config.entries must be a string", `{"config":{"minVoters":"50"}}`: "config.minVoters must be an integer", `{"config":{"tieBreak":"0"}}`: "config.tieBreak must be an integer", `{"config":{"pictures":[1]}}`: "config.pictures must be an array of strings", `{"config":{},"keepVotes":1}`: "keepVotes must be a boolean",
	} {
		got := a.as(broadcaster(), "POST", "/vote_config", body)
		got.refused(400, "Invalid body")
		if named := got.header.Get("X-Invalid-Member"); named != reason {
			t.Errorf("%s: the header names %q, want %q", body, named, reason)
		}
	}
	a.as(viewer(), "GET", "/vote_config", "").want(404, "{}")
}

// Section 8: the last value that is good and the first that is not.
func TestConfigLimits(t *testing.T) {
	a := newAPI(t)
	text := func(n int) string { return `"` + strings.Repeat("x", n) + `"` }
	options := func(n, size int) string { return "[" + strings.Repeat(text(size)+",", n-1) + text(size) + "]" }
	for _, test := range []struct{ field, good, bad string }{
		{"distinctOptionsPerUser", "1", "0"},
		{"distinctOptionsPerUser", "258", "259"},
		{"totalVotesPerUser", "1", "0"},
		{"totalVotesPerUser", "1024", "1025"},
		{"votesPerOption", "1", "0"},
		{"votesPerOption", "9e18", "-1"},
		{"prompt", text(256), text(257)},
		{"options", options(32, 1), options(33, 1)},
		{"options", options(1, 128), options(1, 129)},
		{"userData", text(1022), text(1023)},
		{"userData", `[1,` + strings.Repeat(" ", 2000) + `2]`, `"` + strings.Repeat("é", 512) + `"`},
		{"userData", "null", `{"a":` + text(1020) + `}`},
		{"startsAt", "0", "-1"},
		{"startsAt", "100", "101"},
		{"endsAt", "-1e999", "1.5"},
		{"endsAt", "1e999", `"1"`},
		{"startsAt", "1", "9223372036854775807"},
	} {
		for value, status := range map[string]int{test.good: 200, test.bad: 400} {
			body := fmt.Sprintf(`{"config":{"endsAt":100,%q:%s}}`, test.field, value)
			got := a.as(broadcaster(), "POST", "/vote_config", body).is(status)
			if status == 400 && len(got.field("reason")) < 5 {
				t.Errorf("%s: no reason in %s", body, got.body)
			}
		}
	}
}

func TestConfigIds(t *testing.T) {
	a := newAPI(t)
	for _, test := range []struct {
		id, config string
		status     int
	}{
		{strings.Repeat("é", 64), "{}", 200},
		{strings.Repeat("é", 65), "{}", 400},
		{"a.b", "{}", 400},
		{"globalA", `{"global":true}`, 200},
		{"global", "{}", 200},
		{"Global", `{"global":true}`, 400},
		{"", `{"global":true}`, 400},
	} {
		body := fmt.Sprintf(`{"id":%q,"config":%s}`, test.id, test.config)
		a.as(backend(), "POST", "/vote_config", body).is(test.status)
	}
	a.as(viewer(), "GET", "/vote_config?id=a.b", "").want(404, "{}")
}

// A client that writes the id where most routes have it must not change another poll.
func TestQueryIDIsNotIgnored(t *testing.T) {
	a := newAPI(t)
	for _, id := range []string{"x", "default"} {
		a.as(backend(), "POST", "/rank_config?id="+id, "{}").is(200) // PATCH wants one that exists
	}
	for _, route := range []string{"POST /vote_config", "PATCH /vote_config", "PATCH /rank_config"} {
		method, path, _ := strings.Cut(route, " ")
		for _, test := range []struct {
			query, id string
			same      bool
		}{
			{"?id=x", `"id":"x",`, true},
			{"?id=default", "", true},
			{"?id=", `"id":"default",`, true},
			{"?id=x", "", false},
			{"?id=", `"id":"x",`, false},
			{"?id=x&id=y", `"id":"x",`, false},
			{"?%69d=y", `"id":"x",`, false},
		} {
			got := a.as(backend(), method, path+test.query, "{"+test.id+`"config":{}}`)
			if test.same {
				got.is(200)
				continue
			}
			got.refused(400, "id belongs in the body")
		}
	}
	a.as(viewer(), "GET", "/vote_config?id=y", "").want(404, "{}")
}

func TestModifiers(t *testing.T) {
	a := newAPI(t)
	for _, body := range []string{
		``, `x`, `[]`, `{}`, `{"user":"U5"}`, `{"add":1}`, `{"user":"","add":1}`, `{"user":null,"add":1}`, `{"user":5,"add":1}`,
		`{"user":"U5","add":null}`, `{"user":"U5","add":"1"}`, `{"user":"U5","add":0.5}`, `{"user":"U5","ADD":1}`,
	} {
		a.as(broadcaster(), "POST", "/vote_modifier", body).refused(400, "Invalid body")
	}
	a.as(viewer(), "POST", "/vote", `{"value":3}`).is(200)
	for _, step := range []struct{ add, count string }{{"2", "3"}, {"1e0", "4"}, {"-4", "0"}, {"1", "1"}} {
		a.as(backend(), "POST", "/vote_modifier", `{"user":"U5","add":`+step.add+`}`).want(200, "{}")
		if got := a.as(viewer(), "GET", "/vote", ""); got.field("count") != step.count || got.field("vote") != "3" {
			t.Errorf("after adding %s: %s", step.add, got.body)
		}
	}
	for _, extreme := range []string{"1e30", "1e30", "9223372036854775807", "-1e30", "-1e30", "-1e30", "-1e30"} {
		if got := a.as(backend(), "POST", "/vote_modifier", `{"user":"U5","add":`+extreme+`}`); got.status >= 500 {
			t.Errorf("adding %s: %d %s", extreme, got.status, got.body)
		}
		a.as(viewer(), "GET", "/vote", "").is(200)
	}
}

// withVotes prepares a strict poll with a vote, for a body.
func withVotes(body string) func(t *testing.T, a *api) string {
	return func(_ *testing.T, a *api) string {
		a.as(owner(), http.MethodPost, "/vote_config", `{"config":{"strict":true,"prompt":"Keep it?","options":["a","b"]}}`).is(http.StatusOK)
		a.as(viewer(), http.MethodPost, "/vote", `{"value":1}`).is(http.StatusOK)
		return body
	}
}
