package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/signin"
)

// browsersRegistry has an extension whose issuer knows no terminals.
const browsersRegistry = `
- clientID: browsers
  secrets: [{value: YnJvd3NlcnMta2V5LW9mLW1vcmUtdGhhbi0zMi1ieXRlcy0wMTIz}]
  signIn:
    issuer: https://browsers.example
    clientID: acclaim
    redirectURL: https://votes.example/v1/staff/callback
    staff: [{claim: owns, channelClaim: owns, role: broadcaster}]
`

// BeginDevice begins a sign-in of any person. The test names the person, or a refusal, by the device code.
func (people) BeginDevice(_ context.Context, i signin.Issuer) (signin.DeviceFlow, error) {
	switch i.URL {
	case "https://browsers.example":
		return signin.DeviceFlow{}, fmt.Errorf("%w: made up", signin.Unoffered)
	case "https://down.example":
		return signin.DeviceFlow{}, signin.Unreached
	}
	return signin.DeviceFlow{
		UserCode: "WDJB-MJHT", DeviceCode: "ada", VerificationURI: "https://id.example/device",
		VerificationURIComplete: "https://id.example/device?user_code=WDJB-MJHT", Interval: 7 * time.Second, Lifetime: 10*time.Minute - time.Millisecond,
	}, nil
}

func (p people) FinishDevice(_ context.Context, _ signin.Issuer, code string) (signin.Claims, error) {
	refusals := []signin.Refusal{signin.Pending, signin.SlowDown, signin.Denied, signin.Expired, signin.Unreached}
	if refusal := signin.Refusal(code); slices.Contains(refusals, refusal) {
		return nil, refusal
	}
	claims, ok := p[code]
	if !ok {
		return nil, errors.New("refused")
	}
	delete(p, code) // it works once
	return claims, nil
}

// terminalOf is the body of the requests of a terminal.
func terminalOf(extension, deviceCode string) string {
	return fmt.Sprintf(`{"extension":%q,"deviceCode":%q}`, extension, deviceCode)
}

// A terminal gets the codes, waits for the person, and has the same session as a browser.
func TestSignInAtTerminal(t *testing.T) {
	a := newAPI(t)
	begun := a.send("POST", "/v1/staff/device_signin", `{"extension":"signed"}`)
	begun.want(200, `{"userCode":"WDJB-MJHT","verificationURI":"https://id.example/device",
		"verificationURIComplete":"https://id.example/device?user_code=WDJB-MJHT","deviceCode":"ada","interval":7,"expiresIn":600}`)
	finish := func(code string) answer {
		return a.send("POST", "/v1/staff/device_session", terminalOf("signed", code))
	}
	finish("authorization_pending").refused(409, "The person has not signed in yet")
	finish("slow_down").refused(409, "The terminal asks too often; wait 5 seconds longer from now on")
	done := finish("ada").is(200)
	var session struct{ Credential string }
	if err := json.Unmarshal([]byte(done.body), &session); err != nil {
		t.Fatal(err)
	}
	terminal := a.with(session.Credential)
	if got := terminal("GET", "/staff", "").is(200); !strings.HasPrefix(got.body, `{"role":"staff_key","channel":"77","scopes":["polls"],"extension":"signed","name":"Ada"`) {
		t.Errorf("the terminal reads %s", got.body)
	}
	terminal("POST", "/vote_config", `{"id":"p","config":{}}`).is(200)
	terminal("POST", "/rank_moderation", `{}`).is(403)
	terminal("DELETE", "/staff", "").is(200)
	terminal("GET", "/staff", "").is(401)
	finish("ada").refused(401, "The sign-in has failed; begin it again") // used
	if _, token, _ := strings.Cut(session.Credential, " "); token == "" || strings.Contains(a.log.String(), token) {
		t.Errorf("the log has the credential:\n%s", a.log)
	}
}

func TestRefusedTerminals(t *testing.T) {
	a := newAPI(t)
	finish := func(code string) answer {
		return a.send("POST", "/v1/staff/device_session", terminalOf("signed", code))
	}
	finish("access_denied").refused(403, "The sign-in was denied")
	finish("expired_token").refused(401, "The code has expired; begin the sign-in again")
	finish("temporarily_unavailable").is(503)
	finish("mary").refused(403, "This person is not staff of a channel")
	finish("code-of-no-terminal").refused(401, "The sign-in has failed; begin it again")
	if strings.Contains(a.log.String(), "code-of-no-terminal") {
		t.Errorf("the log has the code:\n%s", a.log)
	}
	begin := func(prefix, extension string) answer {
		return a.send("POST", prefix+"/staff/device_signin", terminalOf(extension, ""))
	}
	begin("/v1", "browsers").refused(400, "The issuer does not let terminals sign in")
	for _, extension := range []string{"ext", "none", ""} {
		begin("/v1", extension).refused(400, "The extension has no sign-in here")
	}
	begin("/sandbox/v1", "signed").refused(400, "The extension has no sign-in here")
	a.send("POST", "/sandbox/v1/staff/device_session", terminalOf("signed", "ada")).refused(400, "The extension has no sign-in here")
	a.reload("extensions:" + strings.Replace(signInRegistry, "issuer: https://id.example\n", "issuer: https://down.example\n", 1))
	begin("/v1", "signed").is(503)
}

// Sign-ins of browsers and of terminals, and the requests of terminals that wait, share the rate of an address.
func TestTerminalsAreBounded(t *testing.T) {
	a := newAPI(t, func(c *apiSettings) {
		c.Proxies = httpapi.TrustedProxies{netip.MustParsePrefix("192.0.2.0/24")} // the tests' address
		began := time.Now()
		c.Now = func() time.Time { return began }
	})
	ask := func(method, path, body, address string) answer {
		return a.send(method, "/v1/staff/"+path, body, "X-Forwarded-For", address)
	}
	pending := terminalOf("signed", "authorization_pending")
	for range 6 {
		ask("POST", "device_session", pending, "203.0.113.5").is(409)
		ask("POST", "device_signin", pending, "203.0.113.5").is(200)
		ask("GET", "signin?extension=signed", "", "203.0.113.5").is(http.StatusSeeOther)
	}
	ask("POST", "device_session", pending, "203.0.113.5").is(409)
	ask("POST", "device_session", pending, "203.0.113.5").is(409)
	ask("POST", "device_session", pending, "203.0.113.5").is(429)
	ask("POST", "device_signin", pending, "203.0.113.5").is(429)
	ask("POST", "device_session", pending, "203.0.113.6").is(409)
}
