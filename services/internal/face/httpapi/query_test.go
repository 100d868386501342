package httpapi_test

import "testing"

// Parameters are parsed as browsers parse them: text that is no well-formed escape is
// part of the value.
func TestQueryParametersAreTakenAsWritten(t *testing.T) {
	a := newAPI(t)
	for query, id := range map[string]string{
		"?id=plain":                 "plain",
		"?id=a%20b":                 "a%20b",
		"?id=a+b":                   "a%20b",
		"?%69d=name":                "name",
		"?other=%zz&id=second":      "second",
		"?id=first&id=second":       "first",
		"?id=a=b":                   "a%3Db",
		"?id=a;b":                   "a%3Bb",
		"?id=%zz":                   "%25zz",
		"?id=100%":                  "100%25",
		"?x;id=y&id=semicolon":      "semicolon",
		"?id=%00%ff":                "%00%ff",
		"?id=%C3%A9%F0%9F%98%80":    "é😀",
		"?id=default%00":            "default%00",
		"?ID=upper&Id=title&id=low": "low",
	} {
		a.as(viewer(), "POST", "/vote"+query, `{"value":3}`).is(200)
		if count := a.as(viewer(), "GET", "/vote?id="+id, "").is(200).field("count"); count != "1" {
			t.Errorf("%s is not the poll %s", query, id)
		}
	}
	if got := a.as(viewer(), "GET", "/vote", ""); got.field("count") != "0" {
		t.Errorf("the default poll was meant by one of them: %s", got.body)
	}
}

// What names one thing never deletes another.
func TestOddIdsDeleteOnlyTheirOwn(t *testing.T) {
	a := newAPI(t)
	a.as(viewer(), "POST", "/vote", `{"value":9}`).is(200)
	a.as(viewer(), "POST", "/rank", `{"key":"a"}`).is(200)
	for _, query := range []string{"?id=a;b", "?id=%zz", "?id=%", "?id=%00", "?id=.", "?id=%2e%2e%2f"} {
		a.as(broadcaster(), "DELETE", "/vote"+query, "").want(200, "{}")
		a.as(broadcaster(), "DELETE", "/rank"+query, "").want(200, "{}")
	}
	if got := a.as(viewer(), "GET", "/vote", ""); got.field("count") != "1" {
		t.Errorf("the default poll is gone: %s", got.body)
	}
	a.as(backend(), "GET", "/rank", "").want(200, `{"data":[{"key":"a","score":1}]}`)
}

// Section 4.2, rule 4, and its like: a value that is not a number is refused, not
// ignored.
func TestMalformedParametersAreNotLeftOut(t *testing.T) {
	a := newAPI(t)
	for _, value := range []string{"%zz", "5;6", "5%", "%", ";", "%00", "5%0a"} {
		a.as(backend(), "GET", "/accumulate?start="+value, "").refused(400, "Malformed start parameter")
		a.as(backend(), "GET", "/rank?limit="+value, "").refused(400, "Malformed limit parameter")
		a.as(backend(), "GET", "/vote_logs?limit="+value, "").refused(400, "Malformed limit parameter")
		a.as(backend(), "GET", "/vote_logs?after="+value, "").refused(400, "Malformed after parameter")
		a.as(backend(), "GET", "/extension_viewer_state?userID="+value, "").refused(400, "Malformed userID parameter")
	}
}
