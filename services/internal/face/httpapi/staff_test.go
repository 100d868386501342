package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
)

type madeStaffKey struct{ ID, Credential string }

// newStaffKey makes a staff key.
func (a *api) newStaffKey(prefix string, by identity, body string) (made madeStaffKey) {
	a.t.Helper()
	got := a.send("POST", prefix+"/staff_keys", body, "Authorization", by.header(a.t)).is(http.StatusOK)
	if err := json.Unmarshal([]byte(got.body), &made); err != nil {
		a.t.Fatal(err)
	}
	return made
}

// oneStaffKey makes a staff key and returns the query that names it.
func oneStaffKey(_ *testing.T, a *api) string {
	return "?id=" + a.newStaffKey("/v1", owner(), `{"name":"x","scopes":["polls"]}`).ID
}

// allStaffKeys makes as many staff keys as a channel may have, and returns the body of another one.
func allStaffKeys(t *testing.T, a *api) string {
	t.Helper()
	for range 50 {
		oneStaffKey(t, a)
	}
	return `{"name":"x","scopes":["polls"]}`
}

// with returns a function that sends requests with a credential.
func (a *api) with(credential string) func(method, path, body string) answer {
	return func(method, path, body string) answer {
		return a.send(method, "/v1"+path, body, "Authorization", credential)
	}
}

// A staff key works for its channel within its scopes, sees what staff sees there, and gives no
// further right: it makes no keys, changes nothing of all channels and counts no votes.
func TestStaffKey(t *testing.T) {
	a := newAPI(t)
	polls := a.with(a.newStaffKey("/v1", broadcaster(), `{"name":"Ada","scopes":["polls"]}`).Credential)
	answers := a.with(a.newStaffKey("/v1", broadcaster(), `{"name":"Grace","scopes":["answers"]}`).Credential)
	a.as(viewer(), "POST", "/vote?id=p", `{"value":3}`).is(200)
	a.as(viewer(), "POST", "/rank?id=q", `{"key":"tea"}`).is(200)

	polls("PATCH", "/vote_config", `{"id":"p","config":{"resultsVisibility":"staff"}}`).is(200)
	if got := polls("GET", "/vote?id=p", "").is(200); got.field("mean") != "3" {
		t.Errorf("a moderator of polls does not see hidden results: %s", got.body)
	}
	polls("DELETE", "/vote?id=p", "").is(200)
	polls("GET", "/events?topic=poll_update:*&topic=vote_update:p", "").is(200)
	answers("POST", "/rank_moderation?id=q", `{"action":"hide","key":"tea"}`).is(200)
	answers("GET", "/rank?id=q&state=hidden", "").is(200)
	answers("GET", "/events?topic=rank_update:q", "").is(200)

	for _, refused := range []struct {
		by           func(method, path, body string) answer
		method, path string
	}{
		{polls, "GET", "/rank?id=q"}, {polls, "POST", "/rank_moderation?id=q"}, {polls, "GET", "/events?topic=rank_update:q"},
		{answers, "GET", "/vote?id=p"}, {answers, "DELETE", "/vote?id=p"}, {answers, "GET", "/events?topic=poll_update:*"},
		{polls, "GET", "/events?topic=*"}, {polls, "GET", "/events?topic=accumulate:b"}, {answers, "GET", "/events?topic=channel_state_update"},
		{polls, "POST", "/vote"}, {polls, "POST", "/vote_modifier"}, {polls, "GET", "/vote_logs"}, {polls, "GET", "/polls?channel=*"},
		{polls, "DELETE", "/vote?id=globalp"}, {answers, "DELETE", "/rank?id=globalq"}, {answers, "POST", "/rank"},
		{polls, "POST", "/staff_keys"}, {polls, "GET", "/staff_keys"}, {polls, "DELETE", "/staff_keys"}, {polls, "POST", "/overlay_keys"},
		{polls, "POST", "/gamelink/token"}, {polls, "POST", "/channel_state"}, {polls, "GET", "/user_info"},
	} {
		if got := refused.by(refused.method, refused.path, `{}`); got.status != http.StatusForbidden {
			t.Errorf("%s %s: %d %s", refused.method, refused.path, got.status, got.body)
		}
	}
	if got := polls("GET", "/staff", ""); !strings.HasPrefix(got.body, `{"role":"staff_key","channel":"77","scopes":["polls"],"extension":"ext","name":"Ada","expires":`) {
		t.Errorf("the key reads of itself: %s", got.body)
	}
	a.as(broadcaster(), "GET", "/staff", "").want(200, `{"role":"broadcaster","channel":"77","scopes":["polls","answers"],"extension":"ext"}`)
}

// A staff key ends with its revocation by its own channel, and no other token replaces one.
func TestStaffKeyEnds(t *testing.T) {
	a := newAPI(t)
	made := a.newStaffKey("/v1", broadcaster(), `{"name":"Ada","scopes":["polls"]}`)
	key, elsewhere := a.with(made.Credential), broadcaster()
	elsewhere.channel, elsewhere.user, elsewhere.opaque = "78", "78", "U78"
	if list := a.as(broadcaster(), "GET", "/staff_keys", "").is(200); strings.Contains(list.body, "credential") || !strings.Contains(list.body, made.ID) {
		t.Errorf("listed: %s", list.body)
	}
	a.as(elsewhere, "GET", "/staff_keys", "").want(200, `{"keys":[]}`)
	a.as(elsewhere, "DELETE", "/staff_keys?id="+made.ID, "").refused(404, "No such staff key")
	a.send("GET", "/sandbox/v1/vote", "", "Authorization", made.Credential).is(401)
	for role, id := range map[string]string{"overlay": made.ID, "staff_key": "X"} {
		forged := viewer().claims()
		forged["role"], forged["key_id"] = role, id
		a.with("ext "+sign(t, jwt.SigningMethodHS256, forged, []byte(productionKey)))("GET", "/vote", "").is(401)
	}
	long := broadcaster().claims()
	long["key_id"], long["exp"] = made.ID, time.Now().Add(10000*time.Hour).Unix()
	a.with("ext "+sign(t, jwt.SigningMethodHS256, long, []byte(productionKey)))("GET", "/vote", "").is(401) // only keys live long
	key("GET", "/vote", "").is(200)
	a.as(broadcaster(), "DELETE", "/staff_keys?id="+made.ID, "").want(200, "{}")
	key("GET", "/vote", "").refused(401, "The credential is missing, malformed, expired or not valid here")
}

// A stream of a staff key has events of its channel's polls, hidden results too, and ends when the
// key is revoked or over, but not with another key.
func TestStaffStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		staff := bubbled(broadcaster())
		one := a.newStaffKey("/v1", staff, `{"name":"Ada","scopes":["polls"]}`)
		other := a.newStaffKey("/v1", staff, `{"name":"Grace","scopes":["polls"]}`)
		ending, err := json.Marshal(map[string]any{"name": "Mary", "scopes": []string{"polls"}, "expires": time.Now().Add(4 * time.Second).Unix()})
		if err != nil {
			t.Fatal(err)
		}
		var streams []*eventClient
		for _, key := range []madeStaffKey{one, other, a.newStaffKey("/v1", staff, string(ending))} {
			streams = append(streams, a.subscribe(t, "/v1/events", "Authorization", key.Credential))
		}
		received := func(want ...[]string) {
			t.Helper()
			<-time.After(2 * time.Second)
			for i, e := range streams {
				if diff := cmp.Diff(want[i], e.received()); diff != "" {
					t.Errorf("client %d received (-want +got):\n%s", i, diff)
				}
			}
		}
		a.as(staff, "POST", "/vote_config", `{"id":"p","config":{"resultsVisibility":"staff"}}`).is(200)
		a.as(staff, "POST", "/broadcast", `{"event":"default","data":1}`).is(200)
		saved := []string{"broadcast production:ext:poll_update:p"}
		received(saved, saved, saved)
		a.as(staff, "DELETE", "/staff_keys?id="+one.ID, "").is(200)
		<-time.After(3 * time.Second)
		a.as(bubbled(viewer()), "POST", "/vote?id=p", "{}").is(200)
		received(nil, []string{"broadcast production:ext:vote_update:p"}, nil)
	})
}

// What a moderator writes is in the log each time, with the key's id instead of a person's.
func TestStaffKeyIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		made := a.newStaffKey("/v1", aged(broadcaster()), `{"name":"Ada","scopes":["polls"]}`)
		a.wantLogged("POST /v1/staff_keys", 1, 0)
		for range 10 {
			a.with(made.Credential)("POST", "/vote_config", `{"config":{}}`).is(200)
		}
		if got := strings.Count(a.log.String(), "staff-"+made.ID); got != 10 {
			t.Errorf("%d lines name the key, want 10:\n%s", got, a.log)
		}
	})
}

// A moderator of the platform is a viewer. Where the extension says so, a moderator is also staff for
// polls and answers of the channel, and for nothing else.
func TestModeratorsAsStaff(t *testing.T) {
	a := newAPI(t)
	moderator := identity{role: "moderator", opaque: "U8", user: "8"}
	for _, path := range []string{"/vote_config", "/rank_moderation"} {
		a.as(moderator, "POST", path, "{}").is(403)
	}
	a.as(moderator, "GET", "/staff", "").is(403)

	moderator.extension, moderator.key = "other", otherKey
	a.as(moderator, "GET", "/staff", "").want(200, `{"role":"moderator","channel":"77","scopes":["polls","answers"],"extension":"other"}`)
	a.as(moderator, "POST", "/vote_config", `{"id":"p","config":{"resultsVisibility":"staff"}}`).is(200)
	if log := a.log.String(); !strings.Contains(log, `"role":"moderator","channel":"77","actor":"8"`) {
		t.Errorf("the log does not name the moderator: %s", log)
	}
	a.log.Reset()
	a.as(moderator, "POST", "/vote?id=p", `{"value":3}`).is(200)
	if strings.Contains(a.log.String(), "actor") {
		t.Errorf("the log names who votes: %s", a.log)
	}
	if got := a.as(moderator, "GET", "/vote?id=p", "").is(200); got.field("mean") != "3" {
		t.Errorf("a moderator does not see hidden results: %s", got.body)
	}
	a.as(moderator, "POST", "/rank_moderation?id=q", `{"action":"hide","key":"tea"}`).is(200)
	a.as(moderator, "GET", "/events?topic=rank_update:q&topic=channel_state_update", "").is(200)
	a.as(moderator, "GET", "/events?topic=accumulate:b", "").refused(403, refusedRole)
	for _, path := range []string{"/vote_modifier", "/staff_keys", "/overlay_keys", "/gamelink/token", "/channel_state", "/broadcast"} {
		a.as(moderator, "POST", path, "{}").refused(403, refusedRole)
	}
	for _, path := range []string{"/vote?id=globalp", "/rank?id=globalq"} {
		a.as(moderator, "DELETE", path, "").refused(403, refusedRole)
	}
	viewer := moderator
	viewer.role = "viewer"
	a.as(viewer, "GET", "/staff", "").is(403)
}
