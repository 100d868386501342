package httpapi_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// A patch changes what it names; the rest of the configuration stays.
func TestPatchVoteConfig(t *testing.T) {
	a := newAPI(t)
	a.as(broadcaster(), "PATCH", "/vote_config", `{"id":"p","config":{"prompt":"?"}}`).refused(404, "The poll has neither a configuration nor votes")
	a.as(broadcaster(), "POST", "/vote_config", `{"id":"p","config":{"prompt":"Tea?","options":["a","b"],"userData":{"a":1,"b":[2]},"totalVotesPerUser":3}}`).want(200, "{}")
	for _, step := range []struct{ patch, member, want string }{
		{`{"resultsVisibility":"staff"}`, "resultsVisibility", `"staff"`},
		{`{"totalVotesPerUser":2e0}`, "totalVotesPerUser", "2"},
		{`{"userData":{"a":null,"c":"<"}}`, "userData", `{"b":[2],"c":"<"}`},
		{`{"prompt":"Coffee?"}`, "resultsVisibility", `"staff"`},
		{`{"totalVotesPerUser":null}`, "totalVotesPerUser", "1"},
		{`{}`, "options", `["a","b"]`},
	} {
		tag := a.as(broadcaster(), "PATCH", "/vote_config", `{"id":"p","config":`+step.patch+`}`).is(200).header.Get("ETag")
		poll := a.as(viewer(), "GET", "/poll?id=p", "").is(200)
		if got := poll.field(step.member); got != step.want {
			t.Errorf("after %s %s is %s, want %s", step.patch, step.member, got, step.want)
		}
		if want := `"` + poll.field("version") + `"`; tag != want {
			t.Errorf("after %s the ETag is %s, want %s", step.patch, tag, want)
		}
	}
	a.as(viewer(), "POST", "/vote?id=votes", "{}").is(200)
	a.as(broadcaster(), "PATCH", "/vote_config", `{"id":"votes","config":{"prompt":"?"}}`).want(200, "{}")
	a.as(viewer(), "PATCH", "/vote_config", `{"id":"p","config":{}}`).is(403)
	a.as(broadcaster(), "PATCH", "/vote_config", `{"id":"global","config":{}}`).is(403)
}

// A patch that has a member which nothing reads changes nothing.
func TestPatchRefusesUnknownMembers(t *testing.T) {
	a := newAPI(t)
	a.as(broadcaster(), "POST", "/vote_config", `{"config":{"prompt":"a"}}`).want(200, "{}")
	a.as(broadcaster(), "POST", "/rank_config", `{}`).want(200, "{}")
	for body, name := range map[string]string{
		`{"config":{"prompt":"b","optoins":[]}}`:                 "config.optoins",
		`{"config":{"prompt":"b","optoins":null}}`:               "config.optoins",
		`{"config":{"prompt":"b","Prompt":"c"}}`:                 "config.Prompt",
		`{"config":{"prompt":"b","version":1}}`:                  "config.version",
		`{"config":{"prompt":"b"},"keepvotes":true}`:             "keepvotes",
		`{"config":{"` + strings.Repeat("é", 40) + `":1,"a":1}}`: "config.a",
		`{"config":{"` + strings.Repeat("é", 40) + `":1}}`:       "config." + strings.Repeat("é", 28),
	} {
		a.as(broadcaster(), "PATCH", "/vote_config", body).refused(400, "Invalid body: "+name+" is unknown")
	}
	if got := a.as(viewer(), "GET", "/poll", "").field("prompt"); got != `"a"` {
		t.Errorf("prompt is %s", got)
	}
	a.as(broadcaster(), "PATCH", "/rank_config", `{"config":{"holdAnswer":true}}`).refused(400, "Invalid body: config.holdAnswer is unknown")
	a.as(broadcaster(), "PATCH", "/rank_config", `{"config":{},"keepVotes":true}`).refused(400, "Invalid body: keepVotes is unknown")
}

// A patch that is repeated with its key is not decided again.
func TestPatchIsDecidedOnce(t *testing.T) {
	a := newAPI(t)
	for _, path := range []string{"/vote_config", "/rank_config"} {
		first := a.as(broadcaster(), "POST", path, `{"config":{}}`).is(200).header.Get("ETag")
		body, key := `{"config":{"endsAt":4}}`, []string{"Idempotency-Key", "k", "If-Match", first}
		a.as(broadcaster(), "PATCH", path, body, key...).is(200)
		a.as(broadcaster(), "PATCH", path, `{"config":{"endsAt":5}}`).is(200)
		again := a.as(broadcaster(), "PATCH", path, body, key...).is(200)
		if again.header.Get("Idempotency-Replayed") != "true" || again.header.Get("ETag") != "" {
			t.Errorf("%s: a repetition has the headers %v", path, again.header)
		}
		if got := a.as(broadcaster(), "GET", path, "").field("endsAt"); got != "5" {
			t.Errorf("%s: after a repetition endsAt is %s", path, got)
		}
		a.as(broadcaster(), "PATCH", path, `{"config":{}}`, "Idempotency-Key", "same").is(200)
		if got := a.as(broadcaster(), "PATCH", path, `{"config":{}}`, "Idempotency-Key", "same").is(200).header.Get("Idempotency-Replayed"); got != "true" {
			t.Errorf("%s: a repetition of what changes nothing is decided again", path)
		}
	}
}

// The limits of stored JSON hold for userData, as in a POST.
func TestPatchOfUserDataHasLimits(t *testing.T) {
	a := newAPI(t)
	a.as(broadcaster(), "POST", "/vote_config", `{"config":{}}`).is(200)
	for depth, status := range map[int]int{48: 200, 49: 400} {
		body := `{"config":{"userData":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}}`
		a.as(broadcaster(), "POST", "/vote_config", body).is(status)
		a.as(broadcaster(), "PATCH", "/vote_config", body).is(status)
	}
}

// If-Match holds for the version that a client has read, from either route.
func TestConfigConditions(t *testing.T) {
	a := newAPI(t)
	const other = "The configuration is not the one that If-Match names"
	a.as(broadcaster(), "POST", "/vote_config", `{"config":{}}`, "If-Match", "*").refused(412, other)
	first := a.as(broadcaster(), "POST", "/vote_config", `{"config":{"prompt":"a"}}`, "If-Match", "").is(200).header.Get("ETag")
	config, poll := a.as(viewer(), "GET", "/vote_config", "").is(200).header.Get("ETag"), a.as(viewer(), "GET", "/poll", "").is(200).header.Get("ETag")
	if config != first || poll != strings.TrimSuffix(first, `"`)+`.active"` {
		t.Errorf("ETags are %s of the write, %s of GET /vote_config and %s of GET /poll", first, config, poll)
	}
	a.as(viewer(), "GET", "/poll", "", "If-None-Match", poll).is(304)
	for _, method := range []string{"POST", "PATCH"} {
		for i, form := range []string{"V", "V.active", "V.expired", "*", "W/V", `"1", V`} {
			version := a.as(viewer(), "GET", "/poll", "").field("version")
			match := strings.ReplaceAll(form, "V.", `"`+version+`.`)
			if match != form {
				match += `"`
			}
			match = strings.ReplaceAll(match, "V", `"`+version+`"`)
			body := fmt.Sprintf(`{"config":{"prompt":"%s %d"}}`, method, i)
			tag := a.as(broadcaster(), method, "/vote_config", body, "If-Match", match).is(200).header.Get("ETag")
			if now := a.as(viewer(), "GET", "/vote_config", "").header.Get("ETag"); now != tag || tag == `"`+version+`"` {
				t.Errorf("%s with %s has the ETag %s, and then it is %s", method, match, tag, now)
			}
			for _, stale := range []string{`"` + version + `"`, `"1"`, `"x"`, "x", `""`} {
				a.as(broadcaster(), method, "/vote_config", `{"config":{"prompt":"lost"}}`, "If-Match", stale).refused(412, other)
			}
		}
	}
}

// If-Match of a question names a digest, which only staff gets.
func TestRankConfigConditions(t *testing.T) {
	a := newAPI(t)
	a.as(broadcaster(), "PATCH", "/rank_config", `{"config":{}}`).refused(404, "The question has neither a configuration nor answers")
	a.as(viewer(), "POST", "/rank", `{"key":"tea"}`).is(200)
	first := a.as(broadcaster(), "PATCH", "/rank_config", `{"config":{"blocked":["x"],"maxLength":20.0}}`).is(200).header.Get("ETag")
	second := a.as(broadcaster(), "PATCH", "/rank_config", `{"id":"","config":{"holdAnswers":true}}`, "If-Match", first).is(200).header.Get("ETag")
	for _, method := range []string{"POST", "PATCH"} {
		a.as(broadcaster(), method, "/rank_config", `{"config":{}}`, "If-Match", first).refused(412, "The configuration is not the one that If-Match names")
	}
	read := a.as(broadcaster(), "GET", "/rank_config", "").is(200)
	if read.header.Get("ETag") != second || second == first || read.field("blocked") != `["x"]` || read.field("maxLength") != "20" || read.field("holdAnswers") != "true" {
		t.Errorf("after %s and %s: %s %s", first, second, read.header.Get("ETag"), read.body)
	}
	if tag := a.as(viewer(), "GET", "/rank_config", "").is(200).header.Get("ETag"); tag != "" {
		t.Errorf("viewers get %s", tag)
	}
	a.as(broadcaster(), "PATCH", "/rank_config", `{"config":{"blocked":null}}`, "If-Match", "*").want(200, "{}")
	if read := a.as(broadcaster(), "GET", "/rank_config", "").is(200); read.field("blocked") != "" || read.field("maxLength") != "20" {
		t.Errorf("without blocked words: %s", read.body)
	}
}

// POST names what it ignores, in a header of bounded length and in the log.
func TestIgnoredMembers(t *testing.T) {
	var log bytes.Buffer
	a := newAPI(t, func(c *apiSettings) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	many := `"m0":0`
	for i := range 20 {
		many += fmt.Sprintf(`,"m%02d":1`, i)
	}
	for _, test := range []struct{ path, body, want string }{
		{"/vote_config", `{"id":"p","config":{"prompt":"?","userData":1},"keepVotes":true}`, ""},
		{"/vote_config", `{"config":{"optoins":["a"],"status":"active"},"Id":1}`, "Id, config.optoins, config.status"},
		{"/vote_config", `{"config":{"a, b\n":1}}`, "config.a%2C%20b%0A"},
		{"/vote_config", `{"config":{"` + strings.Repeat("é", 40) + `":1}}`, "config." + strings.Repeat("%C3%A9", 28)},
		{"/vote_config", `{"config":{` + many + `}}`, "config.m0, config.m00, config.m01, config.m02, config.m03, config.m04, config.m05, config.m06, config.m07, config.m08"},
		{"/rank_config", `{"blockd":[]}`, "blockd"},
		{"/rank_config", `{"blocked":[]}`, ""},
	} {
		log.Reset()
		if got := a.as(broadcaster(), "POST", test.path, test.body).is(200).header.Get("X-Ignored-Members"); got != test.want {
			t.Errorf("of %s: %q, want %q", test.body, got, test.want)
		}
		if logged := strings.Contains(log.String(), "ignored"); logged != (test.want != "") {
			t.Errorf("of %s the log has %q", test.body, log.String())
		}
	}
	for body, status := range map[string]int{`{"config":{"optoins":1,"prompt":1}}`: 400, `{"config":{"optoins":1,"votesPerOption":0}}`: 400} {
		if got := a.as(broadcaster(), "POST", "/vote_config", body).is(status).header.Get("X-Ignored-Members"); got != "" {
			t.Errorf("a refusal of %s names %q", body, got)
		}
	}
}

// A patch that clears the votes leaves the poll with its configuration and without votes. One that is
// refused deletes nothing.
func TestPatchClearsVotes(t *testing.T) {
	a := newAPI(t)
	clearing := func(config string) string { return `{"id":"p","clearVotes":true,"config":` + config + `}` }
	votes := func(want string) {
		t.Helper()
		if got := a.as(viewer(), "GET", "/vote?id=p", "").is(200).field("count"); got != want {
			t.Errorf("%s votes, want %s", got, want)
		}
	}
	a.as(broadcaster(), "PATCH", "/vote_config", clearing(`{}`)).refused(404, "The poll has no configuration")
	a.as(viewer(), "POST", "/vote?id=p", `{"value":1}`).is(200)
	a.as(broadcaster(), "PATCH", "/vote_config", clearing(`{}`)).refused(404, "The poll has no configuration")
	a.as(broadcaster(), "POST", "/vote_config", `{"id":"p","config":{"prompt":"Tea?","options":["a","b"],"strict":true}}`).want(200, "{}")
	a.as(viewer(), "PATCH", "/vote_config", clearing(`{}`)).is(403)
	a.as(broadcaster(), "PATCH", "/vote_config", clearing(`{"totalVotesPerUser":0}`)).is(400)
	a.as(broadcaster(), "PATCH", "/vote_config", clearing(`{}`), "If-Match", `"1"`).is(412)
	votes("1")
	before := a.as(viewer(), "GET", "/poll?id=p", "").is(200)

	a.as(broadcaster(), "PATCH", "/vote_config", clearing(`{"prompt":"Coffee?"}`), "Idempotency-Key", "once").want(200, "{}")
	votes("0")
	after := a.as(viewer(), "GET", "/poll?id=p", "").is(200)
	if got := after.field("prompt") + after.field("options") + after.field("strict"); got != `"Coffee?"["a","b"]true` || after.field("version") <= before.field("version") {
		t.Errorf("the poll is %s of version %s, before %s", got, after.field("version"), before.field("version"))
	}
	a.as(viewer(), "POST", "/vote?id=p", `{"value":1}`).is(200)
	a.as(broadcaster(), "PATCH", "/vote_config", clearing(`{"prompt":"Coffee?"}`), "Idempotency-Key", "once").want(200, "{}") // again
	votes("1")
}
