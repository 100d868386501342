package httpapi_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const noDevicePoll = "No such poll for devices"

// newDevice returns the credential of a device for a poll of channel 77, and its cookie.
func (a *api) newDevice(poll string, headers ...string) (credential, cookie string) {
	a.t.Helper()
	return a.deviceAt("/v1", "ext", "77", poll, headers...)
}

// sampleDevice returns the credential of a device for a new poll of the sample extension.
func (a *api) sampleDevice(prefix, poll string) (credential string) {
	a.t.Helper()
	config := configOf(poll, `{"deviceVoting":true,"totalVotesPerUser":1024,"votesPerOption":1024,"distinctOptionsPerUser":258}`)
	a.send("POST", prefix+"/vote_config", config, "Authorization", broadcaster().in(prefix).header(a.t)).is(200)
	credential, _ = a.deviceAt(prefix, "sample-extension", "42", poll)
	return credential
}

func (a *api) deviceAt(prefix, client, channel, poll string, headers ...string) (credential, cookie string) {
	a.t.Helper()
	got := a.send("POST", prefix+"/devices", `{"client":"`+client+`","channel":"`+channel+`","poll":"`+poll+`"}`, headers...).is(http.StatusOK)
	if err := json.Unmarshal([]byte(got.field("credential")), &credential); err != nil {
		a.t.Fatal(err)
	}
	cookie, _, _ = strings.Cut(got.header.Get("Set-Cookie"), ";")
	return credential, cookie
}

func (a *api) configureDevices(id, more string) {
	a.t.Helper()
	a.as(broadcaster(), "POST", "/vote_config", configOf(id, `{"options":["tea","cake"],"deviceVoting":true`+more+`}`)).is(200)
}

func TestDeviceVotes(t *testing.T) {
	a := newAPI(t)
	a.configureDevices("lunch", `,"resultsVisibility":"afterVote"`)
	as := func(credential, method, path, body string) answer {
		return a.send(method, "/v1"+path, body, "Authorization", credential)
	}
	first, cookie := a.newDevice("lunch")
	if !strings.HasPrefix(cookie, "__Host-acclaim-device=") {
		t.Errorf("the cookie is %q", cookie)
	}
	if got := as(first, "GET", "/vote?id=lunch", "").is(200); got.field("hidden") != "true" || !strings.Contains(got.field("poll"), `"options":["tea","cake"]`) {
		t.Errorf("before the vote: %s", got.body)
	}
	as(first, "POST", "/vote?id=lunch", `{"value":1}`).is(200)
	again, _ := a.newDevice("lunch", "Cookie", cookie) // the same device
	as(again, "POST", "/vote?id=lunch", `{"value":0}`).is(200)
	if got := as(again, "GET", "/vote?id=lunch", "").is(200); got.field("count") != "1" || got.field("vote") != "0" {
		t.Errorf("one device has voted twice: %s", got.body)
	}
	other, _ := a.newDevice("lunch")
	if got := as(other, "POST", "/vote?id=lunch", `{"value":0}`).is(200); got.field("count") != "2" {
		t.Errorf("two devices: %s", got.body)
	}
	a.as(viewer(), "POST", "/vote?id=lunch", `{"value":0}`).is(200)
	if got := a.as(broadcaster(), "GET", "/vote?id=lunch", "").is(200); got.field("devices") != "2" || got.field("count") != "3" {
		t.Errorf("staff does not see how many of three voters are devices: %s", got.body)
	}
	for name, got := range map[string]answer{"a viewer": a.as(viewer(), "GET", "/vote?id=lunch", ""), "a device": as(other, "GET", "/vote?id=lunch", "")} {
		if got.is(200); strings.Contains(got.body, `"devices"`) {
			t.Errorf("%s sees how many devices have voted: %s", name, got.body)
		}
	}
	log := a.as(backend(), "GET", "/vote_logs?id=lunch", "").is(200).body
	if strings.Count(log, `"opaque":"device-`) != 3 {
		t.Errorf("the log does not tell devices from viewers: %s", log)
	}
}

// A credential is good for the votes of one poll while that takes devices, and for nothing else.
func TestDeviceCredentials(t *testing.T) {
	a := newAPI(t)
	a.configureDevices("lunch", "")
	a.configureDevices("other", "")
	credential, _ := a.newDevice("lunch")
	as := func(header, method, path, body string) answer {
		return a.send(method, path, body, "Authorization", header)
	}
	for _, path := range []string{"/vote?id=other", "/vote?id=lunch&at=1", "/vote", "/poll?id=lunch", "/vote_history?id=lunch", "/vote_config?id=lunch", "/polls", "/events", "/user_info", "/rank", "/viewer_state"} {
		as(credential, "GET", "/v1"+path, "").refused(403, refusedRole)
	}
	for _, path := range []string{"/vote?id=other", "/accumulate", "/rank", "/whisper_self", "/votes", "/vote_config", "/overlay_keys"} {
		as(credential, "POST", "/v1"+path, `{"value":1}`).refused(403, refusedRole)
	}
	as(credential, "DELETE", "/v1/vote?id=lunch", "").refused(403, refusedRole)
	a.as(broadcaster(), "PATCH", "/vote_config", `{"id":"lunch","config":{"endsAt":-1}}`).is(200)
	as(credential, "POST", "/v1/vote?id=lunch", `{"value":1}`).refused(400, "poll is closed")
	as(credential, "GET", "/v1/vote?id=lunch", "").is(200)
	a.as(broadcaster(), "PATCH", "/vote_config", `{"id":"lunch","config":{"endsAt":0,"deviceVoting":false}}`).is(200)
	for _, method := range []string{"GET", "POST"} {
		as(credential, method, "/v1/vote?id=lunch", `{"value":1}`).refused(404, noDevicePoll)
	}
	a.configureDevices("lunch", "")
	a.as(broadcaster(), "DELETE", "/vote?id=lunch", "").is(200)
	as(credential, "POST", "/v1/vote?id=lunch", `{"value":1}`).refused(404, noDevicePoll)
	a.configureDevices("lunch", "")
	as(credential, "GET", "/v1/vote?id=lunch", "").is(200)
}

// A credential is good for what it was made for alone, however it is changed, and only the server
// makes one.
func TestForgedDevices(t *testing.T) {
	a := newAPI(t)
	a.configureDevices("lunch", "")
	a.configureDevices("other", "")
	genuine, _ := a.newDevice("lunch")
	token := strings.TrimPrefix(genuine, "ext device.")
	parts := strings.Split(token, ".")
	var claims jwt.MapClaims
	if _, _, err := jwt.NewParser().ParseUnverified(token, &claims); err != nil {
		t.Fatal(err)
	}
	changed := func(name string, value any) jwt.MapClaims {
		c := maps.Clone(claims)
		c[name] = value
		return c
	}
	unsigned := func(c jwt.MapClaims) string {
		return sign(t, jwt.SigningMethodNone, c, jwt.UnsafeAllowNoneSignatureType)
	}
	withSignature := func(c jwt.MapClaims) string {
		return parts[0] + "." + strings.Split(unsigned(c), ".")[1] + "." + parts[2]
	}
	asExtension := func(c jwt.MapClaims) string { return sign(t, jwt.SigningMethodHS256, c, []byte(productionKey)) }
	viewerAs := func(name string, value any) string {
		c := stranger().claims()
		c["poll"], c[name] = "lunch", value
		return asExtension(c)
	}
	for name, header := range map[string]string{
		"of another poll":                      "ext device." + withSignature(changed("poll", "other")),
		"of another channel":                   "ext device." + withSignature(changed("channel_id", "78")),
		"of a later end":                       "ext device." + withSignature(changed("exp", time.Now().Add(24*time.Hour).Unix())),
		"of another device":                    "ext device." + withSignature(changed("opaque_user_id", "device-x")),
		"of another extension":                 strings.Replace(genuine, "ext ", "other ", 1),
		"without an algorithm":                 "ext device." + unsigned(claims),
		"without a signature":                  "ext device." + parts[0] + "." + parts[1] + ".",
		"of the extension's secret":            "ext device." + asExtension(claims),
		"of a viewer, with the mark":           "ext device." + viewerAs("role", "viewer"),
		"of a viewer with a device's voter id": "ext " + viewerAs("opaque_user_id", "device-x"),
		"without the mark":                     "ext " + token,
		"with two marks":                       "ext device.device." + token,
	} {
		for _, poll := range []string{"lunch", "other"} {
			if got := a.send("POST", "/v1/vote?id="+poll, `{"value":1}`, "Authorization", header); got.status != 401 {
				t.Errorf("a credential %s is answered %d in poll %s", name, got.status, poll)
			}
		}
	}
	a.send("GET", "/sandbox/v1/vote?id=lunch", "", "Authorization", genuine).is(401)
	a.send("GET", "/v1/vote?id=lunch", "", "Authorization", "ext "+viewerAs("role", "device")).refused(403, refusedRole)
	a.send("GET", "/v1/vote?id=lunch", "", "Authorization", genuine).is(200)
	a.skew.Store(int64(13 * time.Hour))
	a.send("GET", "/v1/vote?id=lunch", "", "Authorization", genuine).is(401)
}

// Credentials are made for polls that take devices now, and for pages of this server.
func TestDevicesAreRefused(t *testing.T) {
	a := newAPI(t)
	a.configureDevices("lunch", "")
	a.configureDevices("paused", `,"disabled":true`)
	a.configureDevices("later", `,"startsAt":4102444800`)
	a.as(broadcaster(), "POST", "/vote_config", configOf("viewers", `{"publicResults":true}`)).is(200)
	body := func(client, channel, poll string) string {
		return `{"client":"` + client + `","channel":"` + channel + `","poll":"` + poll + `"}`
	}
	for _, b := range []string{
		body("ext", "77", "none"), body("ext", "78", "lunch"), body("none", "77", "lunch"), body("other", "77", "lunch"), body("ext", "", "lunch"),
		body("ext", "77", "viewers"), body("ext", "77", "global"), `{}`,
	} {
		a.send("POST", "/v1/devices", b).refused(404, noDevicePoll)
	}
	for _, poll := range []string{"paused", "later"} {
		a.send("POST", "/v1/devices", body("ext", "77", poll)).refused(400, "poll is closed")
	}
	a.send("POST", "/v1/devices", `{"client":1}`).refused(400, "Invalid body")
	a.send("POST", "/v1/devices", body("ext", "77", "lunch"), "Sec-Fetch-Site", "cross-site").is(403)
	a.send("POST", "/v1/devices", body("ext", "77", "lunch"), "Origin", "https://evil.example").is(403)
	a.send("POST", "/v1/devices", body("ext", "77", "lunch"), "Sec-Fetch-Site", "same-origin", "Origin", "https://any.example").is(200)
}

// One address gets as many credentials as its rate allows, whatever cookies it sends.
func TestDevicesOfOneAddress(t *testing.T) {
	w := newPublicWorld(t)
	w.configureDevices("lunch", "")
	for range 200 {
		w.newDevice("lunch", "X-Forwarded-For", "203.0.113.5")
	}
	body := `{"client":"ext","channel":"77","poll":"lunch"}`
	w.send("POST", "/v1/devices", body, "X-Forwarded-For", "203.0.113.5").is(429)
	w.send("POST", "/v1/devices", body, "X-Forwarded-For", "203.0.113.6").is(200)
	w.pass(time.Second)
	for range 2 {
		w.newDevice("lunch", "X-Forwarded-For", "203.0.113.5")
	}
	w.send("POST", "/v1/devices", body, "X-Forwarded-For", "203.0.113.5").is(429)
}

// The devices of a channel have a bound together, from however many addresses they come.
func TestDevicesOfOneChannel(t *testing.T) {
	w := newPublicWorld(t)
	w.configureDevices("lunch", "")
	body := `{"client":"ext","channel":"77","poll":"lunch"}`
	from := func(n int) answer {
		return w.send("POST", "/v1/devices", body, "X-Forwarded-For", netip.AddrFrom4([4]byte{203, 0, 113, byte(n)}).String())
	}
	for n := range 20_000 {
		if n%3600 == 0 && n > 0 {
			w.pass(8 * time.Second) // the extension has a rate, too, and addresses leave each other a share of it
		}
		from(n % 250).is(200)
	}
	for n := range 5 * 8 * 20 { // what came back meanwhile
		from(n % 250).is(200)
	}
	from(251).refused(429, "Too many requests; nothing was stored")
}
