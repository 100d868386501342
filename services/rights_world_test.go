package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/sandbox"
)

const sampleKey = "sample-key-that-the-project-has-published"

// rightsSide is an extension in one environment, under one of its keys.
type rightsSide struct {
	extension, environment, key string
}

// rightsCredentials are the credentials of all callers of a side.
type rightsCredentials struct {
	headers map[string]string // values of Authorization
	// What games authenticate with, unused.
	pin, serverPin, refresh string
}

// rightsWorld is a deployment, whose callers have been prepared.
type rightsWorld struct {
	*testing.T
	rightsDeployment
	table    *rightsTable
	registry string
	issuer   *rightsIssuer
	clients  atomic.Int64
	http     *http.Client

	// current has the callers by environment, again those whose credential is not in force, by
	// environment and name.
	current map[string]*rightsCredentials
	again   map[string]map[string]*rightsCredentials
	// foreign are the callers of another extension with its own id.
	foreign map[string]map[string]string
	// planted has by environment what stands for {overlay} and the like.
	planted map[string]map[string]string
	open    []rightsOpen
}

// rightsDeployment holds the faces of the program, in one process or several.
type rightsDeployment struct {
	origin, game, admin string
	environments        []string
}

// deployProgram starts one program that serves everything.
func deployProgram(w *rightsWorld) rightsDeployment {
	w.Helper()
	p := newProgram(w.T, w.TempDir(), "serve", "--extensions", w.registry, "--gamelink-listen", "127.0.0.1:0", "--sandbox", "--sink-allow-private")
	p.launch(w.T)
	game := p.awaitReady(w.T)["gamelink"]
	return rightsDeployment{strings.TrimSuffix(p.base, "/v1"), game, p.admin, []string{"production", "sandbox"}}
}

// mainSide returns the extension that requests are about, under its key in force.
func mainSide(environment string) rightsSide { return rightsSide{"main", environment, "new"} }

// secretOf returns a key: each extension, environment and generation has its own.
func (s rightsSide) secretOf() []byte {
	if s.key == "sample" {
		return []byte(sampleKey + "-" + s.environment)
	}
	return []byte(strings.Join([]string{"rights", s.extension, s.environment, s.key, "32-bytes"}, "-"))
}

// registryOf returns the text of a registry with the extensions, each with the given keys. They trust an
// issuer for the viewers of channel 1.
func registryOf(extensions map[string][]string, issuer string) string {
	var text strings.Builder
	text.WriteString("extensions:\n")
	for _, id := range []string{"main", "gone", "other"} {
		keys := extensions[id]
		if keys == nil {
			continue
		}
		secrets := func(environment, indent string) (list string) {
			for i, key := range keys {
				side := rightsSide{id, environment, key}
				from := time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC).Format(time.RFC3339)
				list += fmt.Sprintf("%s- {value: %s, activeFrom: %s}\n", indent, base64.StdEncoding.EncodeToString(side.secretOf()), from)
			}
			return list
		}
		limits := "    messageRate: {perSecond: 1000, burst: 10000}\n"
		fmt.Fprintf(&text, "- clientID: %s\n  appIDs: [app-%s]\n  ownerUserID: \"1000\"\n  viewerIssuers: [{issuer: %q, audience: votes, channels: [\"1\"]}]\n  limits:\n%s  secrets:\n%s  sandbox:\n    limits:\n  %s    secrets:\n%s",
			id, id, issuer, limits, secrets("production", "  "), limits, secrets("sandbox", "    "))
	}
	return text.String()
}

// newRightsWorld starts a deployment, prepares every caller, and removes a key and an extension.
func newRightsWorld(t *testing.T, deploy func(*rightsWorld) rightsDeployment) *rightsWorld {
	t.Helper()
	w := &rightsWorld{
		T: t, table: loadRights(t), issuer: newRightsIssuer(t), registry: filepath.Join(t.TempDir(), "extensions.yaml"), http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
		current: map[string]*rightsCredentials{}, again: map[string]map[string]*rightsCredentials{}, planted: map[string]map[string]string{}, foreign: map[string]map[string]string{},
	}
	w.declare(map[string][]string{"main": {"old"}, "gone": {"new"}, "other": {"new"}})
	w.rightsDeployment = deploy(w)
	for _, environment := range w.environments {
		w.again[environment] = map[string]*rightsCredentials{
			"removedKey":       w.prepare(rightsSide{"main", environment, "old"}),
			"removedExtension": w.prepare(rightsSide{"gone", environment, "new"}),
			"otherExtension":   w.prepare(rightsSide{"other", environment, "new"}),
		}
	}
	for _, environment := range w.environments {
		w.openBefore("removedKey", rightsSide{"main", environment, "old"}, w.again[environment]["removedKey"])
		w.openBefore("removedExtension", rightsSide{"gone", environment, "new"}, w.again[environment]["removedExtension"])
	}
	w.declare(map[string][]string{"main": {"sample", "new"}, "other": {"new"}})
	w.await(func() bool {
		status, _ := w.call("production", http.MethodGet, "/user_info", mainSide("production").sign("viewer", "1", "5"), "")
		return status == http.StatusOK
	})
	for _, environment := range w.environments {
		w.current[environment] = w.prepare(mainSide(environment))
		w.again[environment]["otherChannel"] = &rightsCredentials{headers: map[string]string{"issuerViewer": w.issuer.header("2")}}
		w.again[environment]["sampleKey"] = &rightsCredentials{headers: rightsSide{"main", environment, "sample"}.tokens()}
		for name, c := range w.again[environment] {
			if name == "otherExtension" { // as if it were this one's
				w.foreign[environment] = maps.Clone(c.headers)
				for caller, header := range c.headers {
					c.headers[caller] = strings.Replace(header, "other ", "main ", 1)
				}
			}
		}
	}
	w.current["production"].headers["issuerViewer"] = w.issuer.header("1")
	w.awaitIssuer()
	for environment, other := range map[string]string{"production": "sandbox", "sandbox": "production"} {
		if w.current[environment] != nil {
			w.again[environment]["otherEnvironment"] = cmp.Or(w.current[other], &rightsCredentials{headers: mainSide(other).tokens()})
		}
	}
	return w
}

func (w *rightsWorld) declare(extensions map[string][]string) {
	w.Helper()
	if err := os.WriteFile(w.registry, []byte(registryOf(extensions, w.issuer.URL)), 0o600); err != nil {
		w.Fatal(err)
	}
}

// await asks again until done returns true.
func (w *rightsWorld) await(done func() bool) {
	w.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-w.Context().Done():
			w.Fatal("the test ends")
		}
	}
}

// sign returns an Authorization header. A user is always logged in.
func (s rightsSide) sign(role, channel, user string) string {
	return s.header(sandbox.Grant{Role: role, ChannelID: channel, UserID: user, OpaqueID: sandbox.UserOpaqueID(user)})
}

func (s rightsSide) header(g sandbox.Grant) string {
	g.ExtensionID, g.Stage = s.extension, s.environment
	token, err := sandbox.IssueToken(g, s.secretOf(), time.Now())
	if err != nil {
		panic(err) // claims always encode
	}
	return s.extension + " " + token
}

// tokens returns the headers of callers that need nothing but a key.
func (s rightsSide) tokens() map[string]string {
	return map[string]string{
		"external":    s.sign("external", "1", "3001"),
		"anonymous":   s.header(sandbox.Grant{Role: "viewer", ChannelID: "1", OpaqueID: "A2000"}),
		"viewer":      s.sign("viewer", "1", "2001"),
		"moderator":   s.sign("moderator", "1", "2002"),
		"broadcaster": s.sign("broadcaster", "1", "1"),
		"elsewhere":   s.sign("broadcaster", "2", "2"),
		"admin":       s.sign("admin", "1", "4000"),
		"owner":       s.sign("admin", "1", "1000"),
		"backend":     s.sign("backend", "1", "900"),
	}
}

// prepare returns the credentials of all callers of a side whose key is in force.
func (w *rightsWorld) prepare(s rightsSide) *rightsCredentials {
	w.Helper()
	c := &rightsCredentials{headers: s.tokens()}
	w.pair(s, c)
	c.headers["overlay"] = w.created(s, "/overlay_keys", c.headers["broadcaster"], `{"polls":["shown","deleted"],"questions":["shown"],"name":"prepared"}`, "credential")
	for _, scope := range []string{"polls", "answers"} {
		c.headers[scope+"Key"] = w.created(s, "/staff_keys", c.headers["broadcaster"], `{"name":"prepared","scopes":["`+scope+`"]}`, "credential")
	}
	w.must(s, http.MethodPost, "/vote_config", c.headers["broadcaster"], `{"id":"devices","config":{"deviceVoting":true}}`)
	c.headers["device"] = w.created(s, "/devices", "", `{"client":"`+s.extension+`","channel":"1","poll":"devices"}`, "credential")
	w.makePINs(s, c)
	return c
}

// tokenOf returns the token of an Authorization header.
func tokenOf(header string) string {
	_, token, _ := strings.Cut(header, " ")
	return token
}

// makePINs replaces the PINs.
func (w *rightsWorld) makePINs(s rightsSide, c *rightsCredentials) {
	w.Helper()
	c.pin = w.created(s, "/gamelink/token", c.headers["backend"], "", "pin")
	c.serverPin = w.created(s, "/gamelink/token", c.headers["backend"], `{"server":true}`, "pin")
}

// pair replaces the credentials of games.
func (w *rightsWorld) pair(s rightsSide, c *rightsCredentials) {
	w.Helper()
	identifier := `{"identifier":"` + s.extension + `"}`
	waiting := w.fields(s, "/pin", "", identifier)
	c.headers["unconfirmed"] = s.extension + " " + waiting["token"]
	confirmed := w.fields(s, "/pin", "", identifier)
	w.must(s, http.MethodPost, "/validate_pin", c.headers["broadcaster"], `{"pin":"`+confirmed["pin"]+`"}`)
	c.headers["confirmed"] = s.extension + " " + confirmed["token"]

	game := w.dial(s.environment, s.extension)
	defer game.end()
	// The rights of what a backend asks for are those of a broadcaster, too.
	c.headers["pin"] = s.extension + " " + game.authenticate(`"pin":"` + w.created(s, "/gamelink/token", c.headers["backend"], "", "pin") + `"`)["jwt"]
	server := game.authenticate(`"pin":"` + w.created(s, "/gamelink/token", c.headers["backend"], `{"server":true}`, "pin") + `"`)
	c.headers["serverPin"] = s.extension + " " + server["jwt"]
	first := game.authenticate(`"jwt":"` + tokenOf(c.headers["backend"]) + `"`)
	again := game.authenticate(`"refresh":"` + first["refresh"] + `"`)
	c.headers["refresh"], c.refresh = s.extension+" "+again["jwt"], again["refresh"]
}

// must sends a request that succeeds.
func (w *rightsWorld) must(s rightsSide, method, target, header, body string) string {
	w.Helper()
	status, answer := w.call(s.environment, method, target, header, body)
	if status/100 != 2 {
		w.Fatalf("%s %s %s: %d %s", s, method, target, status, answer)
	}
	return answer
}

// fields returns the members of the answer to a POST.
func (w *rightsWorld) fields(s rightsSide, target, header, body string) map[string]string {
	w.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(w.must(s, http.MethodPost, target, header, body)), &members); err != nil {
		w.Fatal(err)
	}
	texts := map[string]string{}
	for name, value := range members {
		texts[name] = fmt.Sprint(value)
	}
	return texts
}

// created returns a member of the answer to a POST.
func (w *rightsWorld) created(s rightsSide, target, header, body, name string) string {
	w.Helper()
	return w.fields(s, target, header, body)[name]
}

// base returns the URL of the API of an environment.
func (w *rightsWorld) base(environment string) string {
	return w.origin + map[string]string{"production": "/v1", "sandbox": "/sandbox/v1"}[environment]
}

// call sends a request to the API of an environment.
func (w *rightsWorld) call(environment, method, target, header, body string) (status int, answer string) {
	w.Helper()
	return w.send(method, w.base(environment)+target, header, body, false)
}

// send sends a request from an address of its own. Of a stream it returns the
// status alone. The status is 0 where there is no answer, which fails the test.
func (w *rightsWorld) send(method, url, header, body string, stream bool) (status int, answer string) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		w.Error(err)
		return 0, ""
	}
	r.Header.Set("X-Forwarded-For", w.address())
	if header != "" {
		r.Header.Set("Authorization", header)
	}
	res, err := w.http.Do(r)
	if err != nil {
		w.Error(err)
		return 0, ""
	}
	defer res.Body.Close()
	if stream && res.StatusCode == http.StatusOK {
		return res.StatusCode, ""
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.Error(err)
		return 0, ""
	}
	return res.StatusCode, string(text)
}

// address returns another address of a client each time.
func (w *rightsWorld) address() string {
	n := w.clients.Add(1)
	return fmt.Sprintf("198.%d.%d.%d", 18+n>>16&1, n>>8&255, n&255)
}
