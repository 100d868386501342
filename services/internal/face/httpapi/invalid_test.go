package httpapi_test

import (
	"strings"
	"testing"
)

// A refused body keeps the reason of the contract, and a header names the member.
func TestInvalidMember(t *testing.T) {
	a := newAPI(t)
	for _, c := range []struct {
		who                    identity
		method, path, body, is string
	}{
		{viewer(), "POST", "/vote", `{"value":"1"}`, "value must be an integer"},
		{viewer(), "POST", "/vote", `{"value":1,"count":1.5}`, "count must be an integer"},
		{viewer(), "POST", "/vote", `[]`, ""},
		{backend(), "POST", "/votes", `{"votes":{}}`, "votes must be an array"},
		{backend(), "POST", "/votes", `{"votes":[{"user_id":"1"},{"user_id":2}]}`, "votes.1.user_id has the wrong type"},
		{backend(), "POST", "/votes", `{"votes":[{"key":""}]}`, "votes.0.key is no key"},
		{backend(), "POST", "/votes", `{"votes":[{"opaque_user_id":"` + strings.Repeat("U", 600) + `"}]}`, "votes.0.opaque_user_id is too long"},
		{broadcaster(), "POST", "/vote_modifier", `{"user":"U1"}`, "add is missing"},
		{broadcaster(), "POST", "/vote_modifier", `{"add":1}`, "user is missing or empty"},
		{broadcaster(), "POST", "/vote_config", `{"config":{"endsAt":"x"}}`, "config.endsAt must be an integer"},
		{viewer(), "POST", "/rank", `{"key":1}`, "key must be a string"},
		{broadcaster(), "POST", "/broadcast", `{"event":"e"}`, "data is missing"},
	} {
		got := a.as(c.who, c.method, c.path, c.body)
		got.refused(400, "Invalid body")
		if named := got.header.Get("X-Invalid-Member"); named != c.is {
			t.Errorf("%s %.60s: the header is %q, want %q", c.path, c.body, named, c.is)
		}
	}
	a.as(broadcaster(), "PATCH", "/vote_config", `{"config":{"endsAt":"x"}}`).refused(400, "Invalid body: config.endsAt must be an integer")
}
