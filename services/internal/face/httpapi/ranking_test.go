package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestRank(t *testing.T) {
	a := newAPI(t)
	a.as(backend(), "GET", "/rank", "").want(200, `{"data":[]}`)
	a.as(viewer(), "POST", "/rank", `{"key":"b"}`).want(200, `{"accepted":true}`)
	a.as(stranger(), "POST", "/rank?id=", `{"key":"a","Key":"c"}`).want(200, `{"accepted":true}`)
	a.as(broadcaster(), "POST", "/rank", `{"key":"<ü>"}`).want(200, `{"accepted":true}`)
	a.as(viewer(), "POST", "/rank", `{"key":"a"}`).want(200, `{"accepted":true,"original":"b"}`)
	a.as(viewer(), "POST", "/rank", `{"key":"a"}`).want(200, `{"accepted":true,"original":"a"}`)
	a.as(backend(), "GET", "/rank", "").want(200, `{"data":[{"key":"a","score":2},{"key":"<ü>","score":1}]}`)
	a.as(backend(), "GET", "/rank?limit=1", "").want(200, `{"data":[{"key":"a","score":2}]}`)
	a.as(backend(), "GET", "/rank?id=other", "").want(200, `{"data":[]}`)
	a.as(broadcaster(), "DELETE", "/rank", "").want(200, "{}")
	a.as(broadcaster(), "DELETE", "/rank", "").want(200, "{}")
	a.as(backend(), "GET", "/rank", "").want(200, `{"data":[]}`)
}

// An answer over the limit is not accepted, and the earlier one stands.
func TestRankKeyTooLong(t *testing.T) {
	a := newAPI(t)
	key := strings.Repeat("é", 128)
	a.as(viewer(), "POST", "/rank", `{"key":"`+key+`"}`).want(200, `{"accepted":true}`)
	a.as(viewer(), "POST", "/rank", `{"key":"x`+key+`"}`).want(200, `{"accepted":false}`)
	a.as(backend(), "GET", "/rank", "").want(200, `{"data":[{"key":"`+key+`","score":1}]}`)
}

func TestRankScopes(t *testing.T) {
	a := newAPI(t)
	elsewhere := identity{role: "viewer", opaque: "U8", channel: "88"}
	for id, score := range map[string]int{"q": 1, "global": 2} {
		a.as(viewer(), "POST", "/rank?id="+id, `{"key":"a"}`).is(200)
		a.as(elsewhere, "POST", "/rank?id="+id, `{"key":"a"}`).is(200)
		a.as(backend(), "GET", "/rank?id="+id, "").want(200, fmt.Sprintf(`{"data":[{"key":"a","score":%d}]}`, score))
	}
}

func TestRankRefusals(t *testing.T) {
	a := newAPI(t)
	for _, body := range []string{``, `x`, `[]`, `null`, `{"key":null}`, `{"key":5}`, `{"key":["a"]}`, "{\"key\":\"\xff\"}"} {
		a.as(viewer(), "POST", "/rank", body).refused(400, "Invalid body")
	}
	for _, body := range []string{`{}`, `{"key":""}`, `{"KEY":"a"}`} {
		a.as(viewer(), "POST", "/rank", body).refused(400, "key must not be empty")
	}
	for _, limit := range []string{"0", "-1", "10001", "x", "1.0", "", "99999999999999999999"} {
		a.as(backend(), "GET", "/rank?limit="+limit, "").refused(400, "Malformed limit parameter")
	}
	for _, limit := range []string{"1", "10000"} {
		a.as(backend(), "GET", "/rank?limit="+limit, "").is(200)
	}
}

// An answer is of the opaque id, or of the user id where there is none.
func TestRankIdentities(t *testing.T) {
	a := newAPI(t)
	for _, step := range []struct {
		who  identity
		want string
	}{
		{identity{role: "viewer", opaque: "U5", user: "5"}, `{"accepted":true}`},
		{identity{role: "viewer", opaque: "U5"}, `{"accepted":true,"original":"a"}`},
		{identity{role: "viewer", opaque: "U6", user: "5"}, `{"accepted":true}`},
		{identity{role: "backend", user: "5"}, `{"accepted":true}`},
		{identity{role: "backend", user: "5"}, `{"accepted":true,"original":"a"}`},
	} {
		a.as(step.who, "POST", "/rank", `{"key":"a"}`).want(200, step.want)
	}
	a.as(backend(), "GET", "/rank", "").want(200, `{"data":[{"key":"a","score":3}]}`)
}

// By score descending, then by key ascending, bytewise; keys without holders any
// more are left out, and 100 are shown unless more are asked for.
func TestRankOrder(t *testing.T) {
	a := newAPI(t)
	n := 0
	give := func(key string, times int) {
		for range times {
			n++
			a.as(identity{role: "viewer", opaque: fmt.Sprintf("U%d", n)}, "POST", "/rank", `{"key":"`+key+`"}`).is(200)
		}
	}
	for _, key := range []string{"é", "b", "B", " ", "aa", "a", "10", "9", "😀", "~", "a "} {
		give(key, 1)
	}
	give("last", 3)
	give("gone", 1)
	a.as(identity{role: "viewer", opaque: fmt.Sprintf("U%d", n)}, "POST", "/rank", `{"key":"last"}`).want(200, `{"accepted":true,"original":"gone"}`)
	var want []string
	for _, key := range []string{" ", "10", "9", "B", "a", "a ", "aa", "b", "~", "é", "😀"} {
		want = append(want, `{"key":"`+key+`","score":1}`)
	}
	a.as(backend(), "GET", "/rank", "").want(200, `{"data":[{"key":"last","score":4},`+strings.Join(want, ",")+`]}`)

	for i := range 120 {
		give(fmt.Sprintf("more %d", i), 1)
	}
	for query, shown := range map[string]int{"": 100, "?limit=101": 101, "?limit=10000": 132, "?limit=1": 1} {
		if got := strings.Count(a.as(backend(), "GET", "/rank"+query, "").body, `"score"`); got != shown {
			t.Errorf("%q shows %d, want %d", query, got, shown)
		}
	}
}
