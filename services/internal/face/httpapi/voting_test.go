package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEmptyPoll(t *testing.T) {
	zeros := "0" + strings.Repeat(",0", 31)
	newAPI(t).as(viewer(), "GET", "/vote", "").want(200, `{"stddev":0,"mean":0,"sum":0,"count":0,"specific":[`+zeros+`],
		"decay":{"last_nudged":0,"val":0,"current_scale":0,"last_altered":0}}`)
}

func TestVoteIsAnsweredWithStatistics(t *testing.T) {
	a := newAPI(t)
	a.as(stranger(), "POST", "/vote", `{"value":-3}`).is(200)
	got := a.as(viewer(), "POST", "/vote", `{"value":31}`).is(200)
	read := a.as(viewer(), "GET", "/vote?id=", "")
	if diff := cmp.Diff(got.body, read.body); diff != "" {
		t.Errorf("the answer differs from what is read next (-post +get):\n%s", diff)
	}
	for field, want := range map[string]string{"count": "2", "sum": "28", "mean": "14", "vote": "31"} {
		if got.field(field) != want {
			t.Errorf("%s is %s, want %s", field, got.field(field), want)
		}
	}
	if vote := a.as(backend(), "GET", "/vote", "").field("vote"); vote != "" {
		t.Errorf("one who did not vote has the vote %s", vote)
	}
}

// Integers are integers however they are written; names are exact.
func TestVoteBodies(t *testing.T) {
	a := newAPI(t)
	for body, want := range map[string]string{
		`{}`:                                "0",
		` { "value" : 1 } `:                 "1",
		`{"value":-128,"count":0}`:          "-128",
		`{"value":128,"count":1.0}`:         "128",
		`{"value":1e1}`:                     "10",
		`{"value":1.20e2}`:                  "120",
		`{"value":-0}`:                      "0",
		`{"value":-0.0e5}`:                  "0",
		`{"value":100E-1}`:                  "10",
		`{"value":0e999999999999999999999}`: "0",
		`{"VALUE":7}`:                       "0",
		`{"value":3,"VALUE":"x","Count":9}`: "3",
		`{"value":3,"other":null}`:          "3",
		`{"\u0076alue":4}`:                  "4",
	} {
		got := a.as(viewer(), "POST", "/vote", body, "Content-Type", "application/x-www-form-urlencoded; charset=UTF-8").is(200)
		if got.field("vote") != want {
			t.Errorf("%s: vote is %s, want %s", body, got.field("vote"), want)
		}
	}
}

// Section 7.
func TestVoteReasons(t *testing.T) {
	a := newAPI(t)
	a.as(broadcaster(), "POST", "/vote_config", `{"id":"multi","config":{"totalVotesPerUser":1024,"votesPerOption":20}}`).is(200)
	a.as(broadcaster(), "POST", "/vote_config", `{"id":"closed","config":{"disabled":true}}`).is(200)
	a.as(broadcaster(), "POST", "/vote_config", `{"id":"ended","config":{"endsAt":-1}}`).is(200)
	a.as(broadcaster(), "POST", "/vote_config", `{"id":"later","config":{"startsAt":253402300799}}`).is(200)
	a.as(broadcaster(), "POST", "/vote_config", `{"id":"shared","config":{"userIDVoting":true}}`).is(200)
	for reason, requests := range map[string][]string{
		"Invalid body": {
			``, ` `, `x`, `null`, `5`, `"text"`, `[]`, `[{"value":1}]`, `{"value":1}x`, `{"value":1}{}`, `{"value":1`, `{value:1}`,
			`{"value":null}`, `{"value":"1"}`, `{"value":true}`, `{"value":[1]}`, `{"value":{}}`, `{"value":1.5}`, `{"value":1e-1}`,
			`{"value":1e-999999999999}`, `{"value":01}`, `{"value":+1}`, `{"value":0x1}`, `{"value":NaN}`, `{"value":1.}`,
			`{"count":null}`, `{"count":"1"}`, `{"count":1.5}`, "{\"a\":\"\xff\"}", "\xef\xbb\xbf{}", strings.Repeat("[", 200_000),
			`value=1&count=1`,
		},
		"Value out of bounds": {
			`{"value":129}`, `{"value":-129}`, `{"value":1e3}`, `{"value":9223372036854775807}`, `{"value":9223372036854775808}`,
			`{"value":-9223372036854775809}`, `{"value":1e999999999}`, `{"value":-1e999999999}`, `{"value":` + strings.Repeat("9", 100_000) + `}`,
		},
		"Count out of bounds": {
			`{"count":-1}`, `{"count":31}`, `{"count":2}`, `{"count":1e999999999}`, `{"count":-1e999999999}`,
			`multi {"count":31}`,
		},
		"unacceptable vote": {`multi {"count":21}`, `shared {}`},
		"poll is closed":    {`closed {}`, `ended {}`, `later {}`},
	} {
		for _, body := range requests {
			id := "fresh"
			if name, rest, ok := strings.Cut(body, " "); ok && name != "" && name[0] >= 'a' {
				id, body = name, rest
			}
			a.as(stranger(), "POST", "/vote?id="+id, body).refused(400, reason)
		}
	}
	if got := a.as(stranger(), "GET", "/vote?id=fresh", ""); got.field("count") != "0" {
		t.Errorf("a refused vote was stored: %s", got.body)
	}
}

func TestIds(t *testing.T) {
	a := newAPI(t)
	a.as(viewer(), "POST", "/vote?id=default", `{"value":9}`).is(200)
	for _, query := range []string{"", "?", "?id=", "?other=1", "?id=&id=x", "?%zz=1", "?a;b"} {
		if vote := a.as(viewer(), "GET", "/vote"+query, "").is(200).field("vote"); vote != "9" {
			t.Errorf("%q is not the default poll: vote %s", query, vote)
		}
	}
	long := strings.Repeat("x", 256)
	a.as(viewer(), "POST", "/vote?id="+long, `{}`).is(200)
	for _, request := range []string{"GET /vote", "POST /vote", "GET /vote_config", "GET /rank", "POST /rank", "GET /accumulate", "POST /accumulate", "DELETE /vote", "DELETE /rank", "GET /vote_logs", "POST /vote_modifier"} {
		method, path, _ := strings.Cut(request, " ")
		a.as(owner(), method, path+"?id=x"+long, `{"key":"a","user":"b","add":0}`).refused(400, "Invalid id")
	}
}

// An id that begins with "global" is the extension's, any other the channel's.
func TestPollScopes(t *testing.T) {
	a := newAPI(t)
	elsewhere := identity{role: "viewer", opaque: "U8", channel: "88"}
	for id, count := range map[string]string{"one": "1", "global": "2", "globalx": "2", "Global": "1"} {
		a.as(viewer(), "POST", "/vote?id="+id, "{}").is(200)
		if got := a.as(elsewhere, "POST", "/vote?id="+id, "{}"); got.field("count") != count {
			t.Errorf("%s: count is %s, want %s", id, got.field("count"), count)
		}
	}
}

func TestDeleteVoteKeepsLogs(t *testing.T) {
	a := newAPI(t)
	a.as(broadcaster(), "DELETE", "/vote?id=p", "").want(200, "{}")
	a.as(broadcaster(), "POST", "/vote_config", `{"id":"p","config":{}}`).want(200, "{}")
	a.as(viewer(), "POST", "/vote?id=p", `{"value":5}`).is(200)
	a.as(broadcaster(), "DELETE", "/vote?id=p", "").want(200, "{}")
	a.as(viewer(), "GET", "/vote_config?id=p", "").want(404, "{}")
	got := a.as(viewer(), "GET", "/vote?id=p", "").is(200)
	if got.field("count") != "0" || got.field("vote") != "" {
		t.Errorf("after the deletion: %s", got.body)
	}
	var logs struct{ Result []map[string]any }
	if err := json.Unmarshal([]byte(a.as(backend(), "GET", "/vote_logs?id=p", "").body), &logs); err != nil || len(logs.Result) != 1 {
		t.Fatalf("logs %v, error %v", logs, err)
	}
	delete(logs.Result[0], "timestamp")
	if diff := cmp.Diff(map[string]any{"identifier": "5", "opaque": "U5", "value": 5.0}, logs.Result[0]); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestVoteLogPages(t *testing.T) {
	a := newAPI(t)
	a.as(backend(), "GET", "/vote_logs", "").want(200, `{"result":[]}`)
	a.as(broadcaster(), "POST", "/vote_config", `{"config":{"totalVotesPerUser":30,"votesPerOption":30,"distinctOptionsPerUser":30}}`).is(200)
	for value := range 4 {
		a.as(viewer(), "POST", "/vote", fmt.Sprintf(`{"value":%d,"count":3}`, value)).is(200)
	}
	type page struct {
		Result []struct{ Value int }
		Next   *string
	}
	read := func(query string) (values []int, next *string) {
		var p page
		if err := json.Unmarshal([]byte(a.as(listed(), "GET", "/vote_logs"+query, "").is(200).body), &p); err != nil {
			t.Fatal(err)
		}
		for _, record := range p.Result {
			values = append(values, record.Value)
		}
		return values, p.Next
	}
	want := []int{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3}
	if whole, next := read(""); !cmp.Equal(want, whole) || next != nil {
		t.Errorf("whole log: %v, next %v", whole, next)
	}
	for limit := 1; limit <= 13; limit++ {
		var paged []int
		pages := 0
		for after := ""; ; pages++ {
			values, next := read(fmt.Sprintf("?limit=%d&after=%s", limit, after))
			paged = append(paged, values...)
			if next == nil {
				break
			}
			after = *next
		}
		if !cmp.Equal(want, paged) || pages != (len(want)-1)/limit {
			t.Errorf("limit %d: %v in %d pages and one more", limit, paged, pages)
		}
	}
	for _, query := range []string{"?limit=0", "?limit=-1", "?limit=x", "?limit=1.5", "?limit=99999999999", "?after=x", "?after=-1", "?after=1"} {
		a.as(backend(), "GET", "/vote_logs"+query, "").is(400)
	}
}
