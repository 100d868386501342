package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/signin"
)

const signInRegistry = `
- clientID: signed
  secrets: [{value: c2lnbmVkLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMw==}]
  signIn:
    issuer: https://id.example
    clientID: acclaim
    redirectURL: https://votes.example/v1/staff/callback
    staff:
    - {claim: groups, value: mods, channel: "77", role: moderator, scopes: [polls]}
    - {claim: owns, channelClaim: owns, role: broadcaster}
  viewerIssuers:
  - {issuer: https://id.example, audience: votes, channels: ["77"], redirectURL: https://votes.example/v1/viewer/callback, clientSecret: x}
`

// people signs in the person that a code names. Package signin checks what an issuer answers.
type people map[string]signin.Claims

func (people) Begin(context.Context, signin.Issuer) (string, signin.Flow, error) {
	return "https://id.example/authorize?state=S", signin.Flow{State: "S", Nonce: "N", Verifier: "V"}, nil
}

func (p people) Finish(_ context.Context, _ signin.Issuer, flow signin.Flow, state, code string) (claims signin.Claims, token string, err error) {
	claims, ok := p[code]
	if !ok || flow != (signin.Flow{State: "S", Nonce: "N", Verifier: "V"}) || state != "S" {
		return nil, "", errors.New("refused")
	}
	delete(p, code) // it works once
	return claims, "id." + code, nil
}

func newPeople() people {
	text := func(s string) json.RawMessage { return json.RawMessage(`"` + s + `"`) }
	return people{
		"ada":   {"sub": text("1"), "preferred_username": text("Ada"), "groups": json.RawMessage(`["mods"]`)},
		"grace": {"sub": text("2"), "email": text("grace@example.org"), "owns": text("88")},
		"mary":  {"sub": text("3"), "groups": json.RawMessage(`["friends"]`)},
	}
}

// flowOfSigned is the cookie of a sign-in under way.
const flowOfSigned = "__Host-acclaim-signin=channel=&extension=signed&nonce=N&poll=&state=S&verifier=V"

// cookieOf returns a cookie that an answer sets, which only a browser's requests to this host have.
func cookieOf(t testing.TB, got answer, name string) string {
	t.Helper()
	sites := []http.SameSite{http.SameSiteStrictMode}
	if strings.HasSuffix(name, "-signin") {
		sites = append(sites, http.SameSiteLaxMode) // the issuer's page sends the browser back
	}
	for _, cookie := range (&http.Response{Header: got.header}).Cookies() {
		if cookie.Name != name {
			continue
		}
		if !cookie.Secure || !cookie.HttpOnly || cookie.Path != "/" || cookie.Domain != "" || !slices.Contains(sites, cookie.SameSite) {
			t.Errorf("the cookie is open to others: %s", cookie)
		}
		return name + "=" + cookie.Value
	}
	t.Fatalf("%s sets no %s", got.name, name)
	return ""
}

// leadsTo checks where an answer sends the browser.
func (a answer) leadsTo(address string) answer {
	a.t.Helper()
	if got := a.is(http.StatusSeeOther).header.Get("Location"); got != address {
		a.t.Errorf("%s leads to %s", a.name, got)
	}
	return a
}

// signIn signs a person in and returns the cookie of the session.
func (a *api) signIn(code string) string {
	a.t.Helper()
	begun := a.send("GET", "/v1/staff/signin?extension=signed", "").leadsTo("https://id.example/authorize?state=S")
	done := a.send("GET", "/v1/staff/callback?state=S&code="+code, "", "Cookie", cookieOf(a.t, begun, "__Host-acclaim-signin")).leadsTo("/live/staff.html?extension=signed#signed-in")
	return cookieOf(a.t, done, "__Host-acclaim-staff")
}

// page returns a function that sends requests of a page of this origin.
func (a *api) page(cookie string) func(method, path, body string) answer {
	return func(method, path, body string) answer {
		return a.send(method, "/v1"+path, body, "Cookie", cookie, "Sec-Fetch-Site", "same-origin")
	}
}

func TestSessions(t *testing.T) {
	a := newAPI(t)
	moderator, broadcaster := a.page(a.signIn("ada")), a.page(a.signIn("grace"))
	if got := moderator("GET", "/staff", "").is(200); !strings.HasPrefix(got.body, `{"role":"staff_key","channel":"77","scopes":["polls"],"extension":"signed","name":"Ada"`) {
		t.Errorf("a moderator reads %s", got.body)
	}
	if got := broadcaster("GET", "/staff", "").is(200); !strings.HasPrefix(got.body, `{"role":"broadcaster","channel":"88","scopes":["polls","answers"],"extension":"signed","name":"grace@example.org"`) {
		t.Errorf("a broadcaster reads %s", got.body)
	}
	moderator("POST", "/vote_config", `{"id":"p","config":{}}`).is(200)
	moderator("GET", "/events", "").is(200)
	moderator("POST", "/rank_moderation", `{}`).is(403)
	moderator("POST", "/staff_keys", `{"name":"x","scopes":["polls"]}`).is(403)
	broadcaster("POST", "/staff_keys", `{"name":"x","scopes":["polls"]}`).is(200)
	if list := broadcaster("GET", "/staff_keys", "").is(200); !strings.Contains(list.body, `"session":true`) {
		t.Errorf("the broadcaster does not see the session: %s", list.body)
	}
	left := moderator("DELETE", "/staff", "").is(200)
	if got := cookieOf(t, left, "__Host-acclaim-staff"); got != "__Host-acclaim-staff=" {
		t.Errorf("the browser keeps %s", got)
	}
	moderator("GET", "/staff", "").is(401)
	broadcaster("GET", "/staff", "").is(200)

	a.send("GET", "/v1/staff/signins?extension=signed", "").want(200, `{"signIns":[{"extension":"signed","name":"id.example"}]}`)
	a.send("GET", "/sandbox/v1/staff/signins?extension=signed", "").want(200, `{"signIns":[]}`)
}

// The list has the sign-in of the extension that a request names, or of the only one.
func TestListOfSignIns(t *testing.T) {
	a := newAPI(t)
	for _, query := range []string{"", "?extension=ext", "?extension=none", "?extension="} {
		a.send("GET", "/v1/staff/signins"+query, "").want(200, `{"signIns":[]}`)
	}
	a.reload("extensions:" + signInRegistry)
	a.send("GET", "/v1/staff/signins", "").want(200, `{"signIns":[{"extension":"signed","name":"id.example"}]}`)
}

// A person that the server refuses sees a page that says so. No other client is sent to it.
func TestRefusedSignInsShowAPage(t *testing.T) {
	a := newAPI(t)
	visit := func(path, cookie string) answer {
		return a.send("GET", "/v1"+path, "", "Cookie", cookie, "Sec-Fetch-Mode", "navigate")
	}
	visit("/staff/callback?state=S&code=ada", "").leadsTo("/live/staff.html#sign-in-refused-400")
	refused := visit("/staff/callback?error=access_denied&state=S", flowOfSigned).leadsTo("/live/staff.html?extension=signed#sign-in-refused-401")
	if got := cookieOf(t, refused, "__Host-acclaim-signin"); got != "__Host-acclaim-signin=" {
		t.Errorf("the sign-in stays under way: %s", got)
	}
	visit("/staff/callback?state=S&code=mary", flowOfSigned).leadsTo("/live/staff.html?extension=signed#sign-in-refused-403")
	visit("/staff/signin?extension=ext", "").leadsTo("/live/staff.html?extension=ext#sign-in-refused-400")
	visit("/staff/signin", "").leadsTo("/live/staff.html#sign-in-refused-400")
	visit("/staff/signin?extension=%23signed-in%0d%0a//evil.example", "").leadsTo("/live/staff.html?extension=%23signed-in%0D%0A%2F%2Fevil.example#sign-in-refused-400")
	a.send("GET", "/v1/staff/signin?extension=ext", "", "Sec-Fetch-Mode", "cors").refused(400, "The extension has no sign-in here")
}

// A person has one vote, however often it signs in.
func TestSessionsVoteOnce(t *testing.T) {
	a := newAPI(t)
	for range 2 {
		a.people["grace"] = newPeople()["grace"]
		a.page(a.signIn("grace"))("POST", "/vote?id=p", `{"value":0}`)
	}
	a.people["grace"] = newPeople()["grace"]
	if got := a.page(a.signIn("grace"))("GET", "/vote?id=p", "").is(200).field("count"); got != "1" {
		t.Errorf("a person has %s votes", got)
	}
}

// A session ends with the rule that opened it, and not with what else changes in the registry.
func TestSessionsEndWithTheirRules(t *testing.T) {
	for name, test := range map[string]struct {
		old, changed string
		status       int
	}{
		"the rule has gone":  {"    - {claim: owns, channelClaim: owns, role: broadcaster}\n", "", 401},
		"it gives less":      {"channelClaim: owns, role: broadcaster}", "channelClaim: owns, role: moderator, scopes: [polls]}", 401},
		"another issuer":     {"issuer: https://id.example", "issuer: https://other.example", 401},
		"another client":     {"clientID: acclaim", "clientID: other", 401},
		"no sign-in":         {signInRegistry[strings.Index(signInRegistry, "  signIn:"):], "", 401},
		"another rule first": {"    staff:\n", "    staff:\n    - {claim: sub, value: x, channel: x, role: broadcaster}\n", 200},
		"another secret":     {"clientID: acclaim", "clientID: acclaim\n    clientSecret: x", 200},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t)
			session := a.page(a.signIn("grace"))
			session("GET", "/staff", "").is(200)
			changed := strings.Replace(signInRegistry, test.old, test.changed, 1)
			if changed == signInRegistry {
				t.Fatal("nothing has changed")
			}
			a.reload(registryFile + changed)
			session("GET", "/staff", "").is(test.status)
			session("GET", "/events", "").is(test.status)
		})
	}
}

// What other pages and people may try with a session or for one.
func TestAttacksOnSessions(t *testing.T) {
	a := newAPI(t)
	cookie := a.signIn("grace")
	for _, site := range []string{"cross-site", "same-site", "none", ""} { // forged by another page, or typed
		a.send("DELETE", "/v1/vote", "", "Cookie", cookie, "Sec-Fetch-Site", site).is(401)
		a.send("GET", "/v1/staff", "", "Cookie", cookie, "Sec-Fetch-Site", site).is(401)
	}
	a.send("GET", "/sandbox/v1/vote", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin").is(401)

	callback := func(query, cookie string) answer {
		return a.send("GET", "/v1/staff/callback?"+query, "", "Cookie", cookie)
	}
	callback("state=S&code=ada", "").refused(400, "No sign-in is under way in this browser")
	callback("state=S&code=ada", "__Host-acclaim-signin=nonce=N").refused(400, "No sign-in is under way in this browser")
	callback("state=X&code=ada", flowOfSigned).refused(401, "The sign-in has failed; begin it again")
	callback("state=S&code=grace", flowOfSigned).refused(401, "The sign-in has failed; begin it again") // used above
	callback("error=access_denied&state=S", flowOfSigned).refused(401, "The sign-in has failed; begin it again")
	for _, elsewhere := range []string{"redirect_uri", "redirect", "next", "return_to"} {
		a.send("GET", "/v1/staff/signin?extension=signed&"+elsewhere+"=https://evil.example", "").leadsTo("https://id.example/authorize?state=S")
		a.people["ada"] = newPeople()["ada"]
		callback("state=S&code=ada&"+elsewhere+"=https://evil.example", flowOfSigned).leadsTo("/live/staff.html?extension=signed#signed-in")
	}
	a.people["ada"] = newPeople()["ada"]
	callback("state=S&code=mary", flowOfSigned).refused(403, "This person is not staff of a channel")
	callback("state=S&code=ada", strings.Replace(flowOfSigned, "extension=signed", "extension=ext", 1)).refused(400, "The extension has no sign-in here")
	a.send("GET", "/v1/staff/signin?extension=ext", "").refused(400, "The extension has no sign-in here")
	a.send("GET", "/sandbox/v1/staff/signin?extension=signed", "").refused(400, "The extension has no sign-in here")

	// A session that was there before a sign-in does not become that of the person.
	fixed := "__Host-acclaim-staff=signed:x.y.z"
	done := callback("state=S&code=ada", flowOfSigned+"; "+fixed).is(http.StatusSeeOther)
	if got := cookieOf(t, done, "__Host-acclaim-staff"); got == fixed || got == cookie {
		t.Errorf("the session is that of before: %s", got)
	}
	a.page(fixed)("GET", "/staff", "").is(401)
}

// A session ends half an hour after its last use, after 12 hours, and at once when the broadcaster
// revokes it.
func TestSessionsEnd(t *testing.T) {
	a := newAPI(t)
	session := a.page(a.signIn("grace"))
	for passed := 20 * time.Minute; passed < 12*time.Hour; passed += 20 * time.Minute {
		a.skew.Store(int64(passed))
		session("GET", "/staff", "").is(200)
	}
	a.skew.Store(int64(12*time.Hour + time.Second))
	session("GET", "/staff", "").is(401)

	a = newAPI(t)
	session = a.page(a.signIn("grace"))
	a.skew.Store(int64(31 * time.Minute))
	session("GET", "/staff", "").is(401)

	a = newAPI(t)
	session = a.page(a.signIn("grace"))
	var list struct{ Keys []struct{ ID string } }
	if err := json.Unmarshal([]byte(session("GET", "/staff_keys", "").body), &list); err != nil || len(list.Keys) != 1 {
		t.Fatal(err, list)
	}
	session("DELETE", "/staff_keys?id="+list.Keys[0].ID, "").is(200)
	session("GET", "/staff", "").is(401)
}
