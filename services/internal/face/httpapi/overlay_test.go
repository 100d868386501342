package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
)

// newOverlay returns the credential of a new overlay key.
func (a *api) newOverlay(prefix string, by identity, body string) string {
	a.t.Helper()
	got := a.send("POST", prefix+"/overlay_keys", body, "Authorization", by.header(a.t)).is(http.StatusOK)
	var credential string
	if err := json.Unmarshal([]byte(got.field("credential")), &credential); err != nil {
		a.t.Fatal(err)
	}
	return credential
}

// oneOverlay creates an overlay key and returns the query that names it.
func oneOverlay(t *testing.T, a *api) string {
	t.Helper()
	id, err := strconv.Unquote(a.as(owner(), "POST", "/overlay_keys", `{"name":"x"}`).is(http.StatusOK).field("id"))
	if err != nil {
		t.Fatal(err)
	}
	return "?id=" + id
}

// allOverlays creates as many overlay keys as a channel may have.
func allOverlays(t *testing.T, a *api) string {
	t.Helper()
	for range 100 {
		oneOverlay(t, a)
	}
	return "{}"
}

const refusedRole = "The JWT role is not allowed to perform this operation."

// An overlay key reads its polls as a viewer that has not voted, in its channel, until it is
// revoked.
func TestOverlayKey(t *testing.T) {
	a := newAPI(t)
	for _, id := range []string{"p", "q"} {
		a.as(broadcaster(), "POST", "/vote_config", `{"id":"`+id+`","config":{"resultsVisibility":"staff","showCount":true}}`).is(200)
		a.as(viewer(), "POST", "/vote?id="+id, `{"value":3}`).is(200)
	}
	all, one := a.newOverlay("/v1", backend(), "{}"), a.newOverlay("/v1", admin(), `{"name":"pc","polls":["p"]}`)
	read := func(credential, path string) answer {
		return a.send("GET", "/v1"+path, "", "Authorization", credential)
	}
	for _, path := range []string{"/vote", "/vote_history", "/vote_config", "/poll"} {
		for _, credential := range []string{all, one} {
			read(credential, path+"?id=p").is(200)
		}
		read(all, path+"?id=q").is(200)
		read(one, path+"?id=q").refused(403, refusedRole)
		read(one, path).refused(403, refusedRole) // the poll "default"
	}
	for path, want := range map[string]string{"/vote?id=p": "true", "/vote_history?id=p": "true"} {
		if got := read(all, path); got.field("hidden") != want || strings.Contains(got.body, `"mean":3`) {
			t.Errorf("%s shows hidden results: %s", path, got.body)
		}
	}
	for credential, want := range map[string]int{all: 2, one: 1} {
		if got := strings.Count(read(credential, "/polls").is(200).body, `"id":`); got != want {
			t.Errorf("a key lists %d polls, want %d", got, want)
		}
	}
	read(all, "/polls?channel=*").refused(403, refusedRole)
	for _, topic := range []string{"*", "default", "vote*", "channel_state_update", "vote_update:q", "vote_update:*", "vote_update:"} {
		read(one, "/events?topic="+topic).refused(403, refusedRole)
	}
	read(one, "/events?topic=vote_update:p").is(200)
	read(all, "/events?topic=vote_update:*&topic=poll_update:q").is(200)
	read(all, "/events?topic=*").refused(403, refusedRole)
	a.send("GET", "/sandbox/v1/vote", "", "Authorization", all).is(401)
	list := a.as(broadcaster(), "GET", "/overlay_keys", "").is(200)
	if strings.Contains(list.body, "credential") || strings.Count(list.body, `"id":`) != 2 || !strings.Contains(list.body, `"polls":["p"]`) {
		t.Errorf("listed: %s", list.body)
	}
	elsewhere := broadcaster()
	elsewhere.channel = "78"
	elsewhere.user = "78"
	a.as(elsewhere, "GET", "/overlay_keys", "").want(200, `{"keys":[]}`)
	a.as(elsewhere, "DELETE", "/overlay_keys?id="+firstOverlay(t, a), "").refused(404, "No such overlay key")
	read(all, "/vote").is(200)
	a.as(broadcaster(), "DELETE", "/overlay_keys?id="+firstOverlay(t, a), "").want(200, "{}")
	read(all, "/vote").refused(401, "The credential is missing, malformed, expired or not valid here")
	read(all, "/user_info").is(401)
	read(one, "/vote?id=p").is(200)
	forged := viewer().claims()
	forged["role"], forged["key_id"] = "overlay", "X"
	read("ext "+sign(t, jwt.SigningMethodHS256, forged, []byte(productionKey)), "/vote").is(401)
	long := viewer().claims()
	long["key_id"], long["exp"] = firstOverlay(t, a), time.Now().Add(10000*time.Hour).Unix()
	read("ext "+sign(t, jwt.SigningMethodHS256, long, []byte(productionKey)), "/vote").is(401) // only keys live long
}

// A key of a question reads its visible answers and their events, and nothing else.
func TestOverlayKeyOfAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		staff := bubbled(broadcaster())
		credential := a.newOverlay("/v1", staff, `{"questions":["q"]}`)
		read := func(path string) answer { return a.send("GET", "/v1"+path, "", "Authorization", credential) }
		named := a.subscribe(t, "/v1/events?topic=rank_update:q", "Authorization", credential)
		all := a.subscribe(t, "/v1/events", "Authorization", credential)
		a.as(staff, "POST", "/rank_moderation?id=q", `{"action":"hide","key":"rude"}`).is(200)
		for _, id := range []string{"q", "other"} {
			a.as(bubbled(viewer()), "POST", "/rank?id="+id, `{"key":"tea"}`).is(200)
			a.as(bubbled(stranger()), "POST", "/rank?id="+id, `{"key":"rude"}`).is(200)
			a.as(bubbled(viewer()), "POST", "/vote?id="+id, "{}").is(200)
		}
		<-time.After(2 * time.Second)
		for i, e := range []*eventClient{named, all} {
			// One after the moderation, and one after the answers.
			if diff := cmp.Diff([]string{"broadcast production:ext:rank_update:q"}, slices.Compact(e.received())); diff != "" {
				t.Errorf("client %d received (-want +got):\n%s", i, diff)
			}
		}
		read("/rank?id=q").want(200, `{"data":[{"key":"tea","score":1}]}`)
		for _, path := range []string{
			"/rank", "/rank?id=other", "/rank?id=q&state=hidden", "/rank?id=q&state=held", "/rank_config?id=q", "/vote?id=q", "/poll?id=q", "/accumulate?id=q",
			"/events?topic=rank_update:other", "/events?topic=accumulate:q", "/events?topic=vote_update:q", "/events?topic=vote_update:*",
		} {
			read(path).refused(403, refusedRole)
		}
		polls := a.newOverlay("/v1", staff, "{}")
		for _, path := range []string{"/rank?id=q", "/events?topic=rank_update:q"} {
			a.send("GET", "/v1"+path, "", "Authorization", polls).refused(403, refusedRole)
		}
	})
}

// firstOverlay returns the id of the oldest key of the channel.
func firstOverlay(t *testing.T, a *api) string {
	t.Helper()
	var list struct{ Keys []struct{ ID string } }
	if err := json.Unmarshal([]byte(a.as(bubbled(broadcaster()), "GET", "/overlay_keys", "").body), &list); err != nil {
		t.Fatal(err)
	}
	return list.Keys[0].ID
}

// A stream of an overlay key has the events of its polls and ends at once when the key is
// revoked, but not with another key.
func TestOverlayStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		staff := bubbled(broadcaster())
		one := a.subscribe(t, "/v1/events", "Authorization", a.newOverlay("/v1", staff, `{"polls":["p"]}`))
		all := a.subscribe(t, "/v1/events", "Authorization", a.newOverlay("/v1", staff, "{}"))
		other := a.subscribe(t, "/v1/events", "Authorization", bubbled(viewer()).header(t))
		received := func(want ...[]string) {
			t.Helper()
			<-time.After(2 * time.Second)
			for i, e := range []*eventClient{one, all, other} {
				if diff := cmp.Diff(want[i], e.received()); diff != "" {
					t.Errorf("client %d received (-want +got):\n%s", i, diff)
				}
			}
		}
		received(nil, nil, nil)
		a.as(staff, "POST", "/broadcast", `{"event":"default","data":1}`).is(200)
		a.as(staff, "POST", "/channel_state", `{"a":1}`).is(200)
		a.as(bubbled(viewer()), "POST", "/vote?id=p", "{}").is(200)
		p, q := "broadcast production:ext:vote_update:p", "broadcast production:ext:vote_update:q"
		<-time.After(2 * time.Second)
		if got := other.received(); len(got) != 3 {
			t.Errorf("a viewer received %q", got)
		}
		received([]string{p}, []string{p}, nil)
		a.as(staff, "DELETE", "/overlay_keys?id="+firstOverlay(t, a), "").is(200)
		<-time.After(time.Second)
		if text := one.read(); strings.Contains(text, "overlay") {
			t.Errorf("the last bytes were %q", text)
		}
		<-one.ended
		a.as(bubbled(viewer()), "POST", "/vote?id=q", "{}").is(200)
		received(nil, []string{q}, []string{q})
	})
}

// A key that expires ends its stream on the second, and is 401.
func TestOverlayExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		credential := a.newOverlay("/v1", bubbled(broadcaster()), fmt.Sprintf(`{"expires":%d}`, time.Now().Add(100*time.Second).Unix()))
		e := a.subscribe(t, "/v1/events", "Authorization", credential)
		<-time.After(99 * time.Second)
		select {
		case <-e.ended:
			t.Error("the stream has ended before its key")
		default:
		}
		a.send("GET", "/v1/vote", "", "Authorization", credential).is(200)
		<-time.After(1100 * time.Millisecond)
		<-e.ended
		a.send("GET", "/v1/vote", "", "Authorization", credential).is(401)
		a.as(bubbled(broadcaster()), "GET", "/overlay_keys", "").want(200, `{"keys":[]}`)
	})
}
