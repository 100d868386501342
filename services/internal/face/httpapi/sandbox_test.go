package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// issue asks for tokens.
func (a *api) issue(body string, headers ...string) answer {
	a.t.Helper()
	return a.send("POST", "/sandbox/v1/e/authtoken?ignored=%zz", body, headers...)
}

// token returns the one token of an answer.
func (a answer) token() string {
	a.t.Helper()
	var body struct{ Token string }
	if err := json.Unmarshal([]byte(a.is(200).body), &body); err != nil || body.Token == "" {
		a.t.Fatalf("%s: no token in %s", a.name, a.body)
	}
	return body.Token
}

// Section 4.6: what is issued is good for the sandbox and for nothing else.
func TestIssuedTokens(t *testing.T) {
	a := newAPI(t)
	token := a.issue(`{"app_id":"ext","channel_id":"77","user_id":"5","role":"viewer"}`,
		"Content-Type", "application/x-www-form-urlencoded; charset=UTF-8", "Authorization", "ext nonsense").token()
	payload := strings.Split(token, ".")[1]
	if strings.ContainsAny(payload, "-_") {
		t.Errorf("payload %s is not plain base64", payload)
	}
	header := "ext " + token
	a.send("POST", "/sandbox/v1/vote", `{"value":3}`, "Authorization", header).is(200)
	a.send("POST", "/sandbox/v1/extension_viewer_state", `{}`, "Authorization", header).want(200, "{}")
	a.send("GET", "/v1/vote", "", "Authorization", header).is(401)
	a.send("GET", "/sandbox/v1/rank", "", "Authorization", header).is(403)
	info := a.send("GET", "/sandbox/v1/user_info", "", "Authorization", header).is(200)
	if info.field("registered") != "true" {
		t.Errorf("user_info of a user: %s", info.body)
	}
	anonymous := "ext " + a.issue(`{"extension_id":"ext","channel_id":"77","role":"viewer"}`).token()
	if info := a.send("GET", "/sandbox/v1/user_info", "", "Authorization", anonymous).is(200); info.field("registered") != "false" {
		t.Errorf("user_info of the anonymous one: %s", info.body)
	}
}

// An admin token is not a validated one because the sandbox issued it.
func TestIssuedAdmin(t *testing.T) {
	a := newAPI(t)
	for user, status := range map[string]int{"9": 403, "1000": 200, "1001": 200} {
		header := "ext " + a.issue(`{"app_id":"app","channel_id":"77","user_id":"`+user+`","role":"admin"}`).token()
		a.send("GET", "/sandbox/v1/vote_logs", "", "Authorization", header).is(status)
		a.send("POST", "/sandbox/v1/extension_state", "{}", "Authorization", header).is(status)
		a.send("POST", "/sandbox/v1/config/extension", "{}", "Authorization", header).is(200)
	}
}

func TestIssueForSeveral(t *testing.T) {
	a := newAPI(t)
	for body, want := range map[string]int{
		`{"app_id":"app","channel_id":"1","role":"viewer","user_ids":["5","6","5"]}`:               2,
		`{"app_id":"app","channel_id":"1","role":"viewer","user_ids":["5"]}`:                       1,
		`{"app_id":"app","channel_id":"1","role":"viewer","user_id":"7","user_ids":["5","6","7"]}`: 3,
		`{"app_id":"app","channel_id":"1","role":"viewer","user_ids":[]}`:                          0,
	} {
		got := a.issue(body).is(200)
		var tokens []string
		if raw := got.field("tokens"); raw != "" {
			if err := json.Unmarshal([]byte(raw), &tokens); err != nil {
				t.Fatal(err)
			}
		} else {
			got.token()
		}
		if len(tokens) != want {
			t.Errorf("%s: %d tokens, want %d", body, len(tokens), want)
		}
	}
}

func TestIssueRefusals(t *testing.T) {
	a := newAPI(t)
	for _, body := range []string{
		``, `x`, `[]`, `null`, `{"extension_id":null,"channel_id":"1","role":"viewer"}`, `{"extension_id":"ext","channel_id":1,"role":"viewer"}`,
		`{"extension_id":"ext","channel_id":"1","role":"viewer","user_ids":"5"}`, `{"extension_id":"ext","channel_id":"1","role":"viewer","user_ids":[5]}`,
		`{"extension_id":"ext","channel_id":"1","role":"viewer","user_ids":null}`, `app_id=ext&channel_id=1&role=viewer`,
	} {
		a.issue(body).refused(400, "Invalid body")
	}
	for _, body := range []string{`{"extension_id":"nobody","channel_id":"1","role":"viewer"}`, `{"extension_id":"app","channel_id":"1","role":"viewer"}`, `{"app_id":"nobody","channel_id":"1","role":"viewer"}`} {
		a.issue(body).refused(400, "No such extension found")
	}
	for _, body := range []string{
		`{"channel_id":"1","role":"viewer"}`, `{"extension_id":"ext","role":"viewer"}`, `{"extension_id":"ext","channel_id":"1"}`,
		`{"extension_id":"ext","app_id":"other","channel_id":"1","role":"viewer"}`, `{"extension_id":"other","channel_id":"1","role":"viewer"}`,
	} {
		if reason := a.issue(body).is(400).field("reason"); reason == `""` {
			t.Errorf("%s: no reason", body)
		}
	}
	a.issue(strings.Repeat(" ", 256<<10+1)).is(413)
	a.send("GET", "/sandbox/v1/authtoken", "").is(405)
	a.send("POST", "/v1/authtoken", "{}").is(404)
}

// Anyone may ask for tokens, but no address for all of them.
func TestTokenRates(t *testing.T) {
	now := time.Now()
	var config apiSettings
	a := newAPI(t, func(c *apiSettings) { config = *c })
	config.Environment = tenant.Sandbox
	config.Now = func() time.Time { return now }
	config.Sandbox = sandbox.NewService(config.Registry, config.Now)
	handler := httpapi.NewHandler(httpapi.Mount{API: config.newAPI(), Prefixes: []string{"/sandbox/v1"}})
	thousand := make([]string, 1000)
	for i := range thousand {
		thousand[i] = fmt.Sprint(i)
	}
	body := `{"app_id":"ext","channel_id":"77","role":"viewer","user_ids":["` + strings.Join(thousand, `","`) + `"]}`
	from := func(address string) answer {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/sandbox/v1/authtoken", strings.NewReader(body))
		r.RemoteAddr = address + ":1"
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return answer{t, "authtoken of " + address, w.Code, w.Header(), w.Body.String()}
	}
	from("203.0.113.1").is(200)
	from("203.0.113.1").is(200)
	from("203.0.113.1").refused(429, "Too many tokens for this address; nothing was stored")
	for n := 2; n < 20; n++ { // 2,000 and 18,000 tokens
		from(fmt.Sprint("203.0.113.", n)).is(200)
	}
	from("203.0.113.60").refused(429, "Too many requests; nothing was stored")
	a.as(viewer(), "GET", "/vote", "").is(200)
}
