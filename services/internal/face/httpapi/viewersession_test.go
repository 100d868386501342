package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

const (
	pollPage = "/vote/signed/77/p"
	pollName = "extension=signed&channel=77&poll=p"
	// flowOfViewer is the cookie of a sign-in under way.
	flowOfViewer = "__Host-acclaim-viewer-signin=channel=77&extension=signed&nonce=N&poll=p&state=S&verifier=V"
)

// signInViewer signs a viewer in and returns the cookie with the token.
func (a *api) signInViewer(code string) string {
	a.t.Helper()
	begun := a.send("GET", "/v1/viewer/signin?"+pollName, "").leadsTo("https://id.example/authorize?state=S")
	flow := cookieOf(a.t, begun, "__Host-acclaim-viewer-signin")
	done := a.send("GET", "/v1/viewer/callback?state=S&code="+code, "", "Cookie", flow).leadsTo(pollPage + "#signed-in")
	return cookieOf(a.t, done, "__Host-acclaim-viewer")
}

// pollPageOf returns a function that sends requests of the page for viewers, whose header names the channel.
func (a *api) pollPageOf(cookie, channel string) func(method, path, body string) answer {
	return func(method, path, body string) answer {
		return a.send(method, "/v1"+path, body, "Cookie", cookie, "Sec-Fetch-Site", "same-origin", "Authorization", "OIDC signed/"+channel+"/")
	}
}

func TestViewersSignIn(t *testing.T) {
	a := newAPI(t)
	a.send("GET", "/v1/viewer/signins?"+pollName, "").want(200, `{"signIns":[{"extension":"signed","name":"id.example"}]}`)
	a.send("GET", "/v1/viewer/signins?extension=signed&channel=88", "").want(200, `{"signIns":[]}`)
	a.send("GET", "/v1/viewer/signins?extension=ext&channel=77", "").want(200, `{"signIns":[]}`)
	a.send("GET", "/sandbox/v1/viewer/signins?"+pollName, "").want(200, `{"signIns":[]}`)

	cookie := a.signInViewer("ada")
	ada, grace := a.pollPageOf(cookie, "77"), a.pollPageOf(a.signInViewer("grace"), "77")
	ada("POST", "/vote?id=p", `{"value":1}`).is(200)
	a.people["ada"] = newPeople()["ada"]
	a.pollPageOf(a.signInViewer("ada"), "77")("POST", "/vote?id=p", `{"value":2}`).is(200)
	if got := grace("POST", "/vote?id=p", `{"value":2}`).is(200).field("count"); got != "2" {
		t.Errorf("two viewers have %s votes", got)
	}
	if got := a.ofIssuer("signed/77/id.ada")("GET", "/vote?id=p", "").is(200).field("vote"); got != "2" {
		t.Errorf("the viewer of the cookie is not that of the header: %s", got)
	}
	ada("GET", "/poll?id=p", "").is(404) // which has no configuration
	ada("GET", "/receipt?id=p", "").is(404)

	left := a.send("DELETE", "/v1/viewer", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin").is(200)
	if got := cookieOf(t, left, "__Host-acclaim-viewer"); got != "__Host-acclaim-viewer=" {
		t.Errorf("the browser keeps %s", got)
	}
	a.skew.Store(int64(time.Hour))
	grace("GET", "/vote?id=p", "").is(401)
}

// The cookie ends with the token.
func TestCookiesOfViewersEnd(t *testing.T) {
	a := newAPI(t)
	begun := a.send("GET", "/v1/viewer/callback?state=S&code=ada", "", "Cookie", flowOfViewer).is(http.StatusSeeOther)
	for _, cookie := range (&http.Response{Header: begun.header}).Cookies() {
		if cookie.Name == "__Host-acclaim-viewer" && (cookie.MaxAge < 3000 || cookie.MaxAge > 3600 || cookie.Value != "id.ada") {
			t.Errorf("the browser keeps %s", cookie)
		}
	}
}

// The cookie is good for the vote of a page of this origin, in a channel of the issuer, and for nothing else.
func TestAttacksOnCookiesOfViewers(t *testing.T) {
	a := newAPI(t)
	cookie := a.signInViewer("ada")
	for _, site := range []string{"cross-site", "same-site", "none", ""} {
		a.send("POST", "/v1/vote?id=p", `{"value":1}`, "Cookie", cookie, "Sec-Fetch-Site", site, "Authorization", "OIDC signed/77/").is(401)
	}
	a.send("POST", "/v1/vote?id=p", `{"value":1}`, "Cookie", cookie, "Sec-Fetch-Site", "same-origin").is(401)
	a.send("GET", "/sandbox/v1/vote?id=p", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin", "Authorization", "OIDC signed/77/").is(401)
	page := a.pollPageOf(cookie, "77")
	for _, path := range []string{"/events", "/user_info", "/vote_config?id=p", "/all_state"} {
		page("GET", path, "").is(401)
	}
	for _, channel := range []string{"88", "99", "", "77/77"} {
		a.pollPageOf(cookie, channel)("GET", "/vote?id=p", "").is(401)
	}
	for _, other := range []string{"__Host-acclaim-viewer=", "__Host-acclaim-viewer=x.y.z", "__Host-acclaim-viewer=school.ada/77", "__Host-acclaim-staff=signed:id.ada"} {
		a.pollPageOf(other, "77")("GET", "/vote?id=p", "").is(401)
	}
	a.send("DELETE", "/v1/viewer", "", "Cookie", cookie, "Sec-Fetch-Site", "cross-site").
		refused(403, "A page of another server may not sign a viewer out")
}

// What other pages and people may try with a sign-in of a viewer.
func TestAttacksOnSignInsOfViewers(t *testing.T) {
	a := newAPI(t)
	callback := func(query, cookie string) answer {
		return a.send("GET", "/v1/viewer/callback?"+query, "", "Cookie", cookie)
	}
	const none, failed, nowhere = "No sign-in is under way in this browser", "The sign-in has failed; begin it again", "The channel has no sign-in for viewers here"
	callback("state=S&code=ada", "").refused(400, none)
	callback("state=S&code=ada", flowOfSigned).refused(400, none)
	callback("state=S&code=ada", "__Host-acclaim-viewer-signin=%zz").refused(400, none)
	callback("state=X&code=ada", flowOfViewer).refused(401, failed)
	callback("state=S&code=ada", strings.Replace(flowOfViewer, "nonce=N", "nonce=X", 1)).refused(401, failed)
	callback("error=access_denied&state=S", flowOfViewer).refused(401, failed)
	callback("state=S&code=mary", flowOfViewer).refused(401, failed) // whose token is for another audience
	a.signInViewer("grace")
	callback("state=S&code=grace", flowOfViewer).refused(401, failed) // used
	callback("state=S&code=ada", strings.Replace(flowOfViewer, "channel=77", "channel=88", 1)).refused(400, nowhere)
	callback("state=S&code=ada", strings.Replace(flowOfViewer, "extension=signed", "extension=ext", 1)).refused(400, nowhere)
	for _, query := range []string{"", "extension=signed&channel=77", "extension=signed&channel=88&poll=p", "extension=ext&channel=77&poll=p"} {
		a.send("GET", "/v1/viewer/signin?"+query, "").refused(400, nowhere)
	}
	a.send("GET", "/sandbox/v1/viewer/signin?"+pollName, "").refused(400, nowhere)
}

// A person that the server refuses comes back to the page of the poll.
func TestRefusedViewersSeeThePage(t *testing.T) {
	a := newAPI(t)
	visit := func(path, cookie string) answer {
		return a.send("GET", "/v1"+path, "", "Cookie", cookie, "Sec-Fetch-Mode", "navigate")
	}
	visit("/viewer/callback?error=access_denied&state=S", flowOfViewer).leadsTo(pollPage + "#sign-in-refused-401")
	visit("/viewer/callback?state=S&code=ada", "").refused(400, "No sign-in is under way in this browser")
	visit("/viewer/signin?extension=signed&channel=88&poll=p", "").leadsTo("/vote/signed/88/p#sign-in-refused-400")
	visit("/viewer/signin?extension=signed&channel=/evil.example&poll=%23x%0d", "").leadsTo("/vote/signed/%2Fevil.example/%23x%0D#sign-in-refused-400")
}
