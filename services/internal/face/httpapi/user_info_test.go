package httpapi_test

import (
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestUserInfo(t *testing.T) {
	a := newAPI(t)
	before := time.Now().UnixMilli()
	got := a.as(viewer(), "GET", "/user_info", "").is(200)
	at, err := strconv.ParseInt(got.field("server_time"), 10, 64)
	if err != nil || at < before || at > time.Now().UnixMilli() {
		t.Errorf("server_time is %s", got.field("server_time"))
	}
	if got.field("registered") != "true" || got.field("ip_address") != `"192.0.2.1"` {
		t.Errorf("answer is %s", got.body)
	}
	if a.as(stranger(), "GET", "/user_info", "").field("registered") != "false" {
		t.Error("one who has not shared an id is registered")
	}
}

// The id is the same for one viewer of one extension, and different for all others.
func TestVisualizationID(t *testing.T) {
	a := newAPI(t)
	id := func(who identity) string {
		got := a.as(who, "GET", "/user_info", "").is(200).field("visualization_id")
		if len(got) < 10 || strings.Trim(got, `"`) == who.opaque {
			t.Errorf("visualization_id is %s", got)
		}
		return got
	}
	first := id(viewer())
	for _, who := range []identity{viewer(), stranger()} {
		elsewhere := who
		elsewhere.channel = "88"
		if first := id(who); id(who) != first || id(elsewhere) != first {
			t.Errorf("the id of %s changes", who.opaque)
		}
	}
	if id(stranger()) == first || id(identity{extension: "other", key: otherKey, role: "viewer", opaque: "U5", user: "5"}) == first {
		t.Error("two viewers share an id")
	}
}

// Only a proxy on a private network may name the client.
func TestClientAddress(t *testing.T) {
	a := newAPI(t)
	for _, test := range []struct{ peer, forwarded, want string }{
		{"198.51.100.7:1234", "", "198.51.100.7"},
		{"198.51.100.7:1234", "203.0.113.9", "198.51.100.7"},
		{"[2001:db8::7]:1234", "", "2001:db8::7"},
		{"127.0.0.1:1234", "", "127.0.0.1"},
		{"10.0.0.1:1234", "203.0.113.9", "203.0.113.9"},
		{"10.0.0.1:1234", "203.0.113.9, 10.0.0.2", "203.0.113.9"},
		{"[::1]:1234", "2001:db8::9", "2001:db8::9"},
		{"10.0.0.1:1234", `"><script>`, "10.0.0.1"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/user_info", nil)
		r.RemoteAddr = test.peer
		r.Header.Set("Authorization", viewer().header(t))
		r.Header.Set("X-Forwarded-For", test.forwarded)
		w := httptest.NewRecorder()
		a.handler.ServeHTTP(w, r)
		got := answer{t, test.peer, w.Code, w.Header(), w.Body.String()}
		if got.field("ip_address") != strconv.Quote(test.want) {
			t.Errorf("%s for %q: %s", test.peer, test.forwarded, got.body)
		}
	}
}
