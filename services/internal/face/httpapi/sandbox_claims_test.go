package httpapi_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
)

// claimsOf decodes a token as browser clients do, with plain base64.
func claimsOf(t *testing.T, token string) map[string]any {
	t.Helper()
	payload := strings.Split(token, ".")[1]
	decoded, err := base64.RawStdEncoding.DecodeString(payload)
	if err != nil {
		t.Fatalf("%v in %s", err, payload)
	}
	if i := strings.IndexFunc(string(decoded), func(r rune) bool { return r > '~' }); i >= 0 {
		t.Errorf("claims are not plain ASCII: %s", decoded)
	}
	var claims map[string]any
	if err := json.Unmarshal(decoded, &claims); err != nil {
		t.Fatal(err)
	}
	return claims
}

// tokens returns the tokens of an answer, be it of one or of several.
func (a answer) tokens() []string {
	a.t.Helper()
	var body struct {
		Token  string
		Tokens []string
	}
	if err := json.Unmarshal([]byte(a.is(200).body), &body); err != nil {
		a.t.Fatal(err)
	}
	if body.Tokens == nil {
		return []string{body.Token}
	}
	return body.Tokens
}

func TestClaimsOfIssuedTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		claims := claimsOf(t, a.issue(`{"app_id":"app","channel_id":"77","user_id":"5","role":"viewer"}`).token())
		delete(claims, "pubsub_perms")
		want := map[string]any{
			"exp": float64(time.Now().Add(30 * time.Minute).Unix()), "role": "viewer", "channel_id": "77", "opaque_user_id": "U5",
			"user_id": "5", "extension_id": "ext", "allowed_stage": "sandbox", "is_unlinked": false,
		}
		if diff := cmp.Diff(want, claims); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
	})
}

// An issued token is good for half an hour and no longer.
func TestIssuedTokensExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		header := "ext " + a.issue(`{"app_id":"app","channel_id":"77","role":"viewer"}`).token()
		<-time.After(30*time.Minute - time.Second)
		a.send("GET", "/sandbox/v1/vote", "", "Authorization", header).is(200)
		<-time.After(time.Second)
		a.send("GET", "/sandbox/v1/vote", "", "Authorization", header).is(401)
	})
}

// Section 4.6: the viewers that the tokens name, in order; "A" is any anonymous
// one.
func TestIssuedIdentities(t *testing.T) {
	a := newAPI(t)
	for body, want := range map[string]string{
		`{"app_id":"app","channel_id":"77","role":"viewer"}`:                                               "A/",
		`{"app_id":"app","channel_id":"77","role":"viewer","user_id":""}`:                                  "A/",
		`{"app_id":"app","channel_id":"77","role":"viewer","user_ids":[]}`:                                 "A/",
		`{"app_id":"app","channel_id":"77","role":"viewer","user_id":"5"}`:                                 "U5/5",
		`{"app_id":"app","channel_id":"77","role":"viewer","user_ids":["6"]}`:                              "U6/6",
		`{"app_id":"app","channel_id":"77","role":"viewer","user_id":"9","user_ids":["7","5"]}`:            "U9/9 U7/7 U5/5",
		`{"app_id":"app","channel_id":"77","role":"viewer","user_id":"5","user_ids":["7","5","7","6"]}`:    "U5/5 U7/7 U6/6",
		`{"app_id":"app","channel_id":"77","role":"broadcaster"}`:                                          "U77/77",
		`{"app_id":"app","channel_id":"77","role":"broadcaster","user_id":"5"}`:                            "U77/77",
		`{"app_id":"app","channel_id":"77","role":"broadcaster","user_id":"5","user_ids":["5","77"]}`:      "U77/77 U5/5",
		`{"app_id":"app","extension_id":"ext","channel_id":"77","role":"backend"}`:                         "A/",
		`{"app_id":"ext","channel_id":"77","role":"viewer","user_id":"5","USER_IDS":["6"],"unknown":null}`: "U5/5",
	} {
		var got []string
		for _, token := range a.issue(body).tokens() {
			claims := claimsOf(t, token)
			opaque, _ := claims["opaque_user_id"].(string)
			user, _ := claims["user_id"].(string)
			if strings.HasPrefix(opaque, "A") {
				if len(opaque) < 9 {
					t.Errorf("%s: the anonymous %s is not random", body, opaque)
				}
				opaque = "A"
			}
			got = append(got, opaque+"/"+user)
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
	first, second := a.issue(`{"app_id":"app","channel_id":"77","role":"viewer"}`), a.issue(`{"app_id":"app","channel_id":"77","role":"viewer"}`)
	if claimsOf(t, first.token())["opaque_user_id"] == claimsOf(t, second.token())["opaque_user_id"] {
		t.Error("two anonymous viewers are the same")
	}
}

// Whatever the request says, the claims can be read with plain atob.
func TestClaimsOfOddRequests(t *testing.T) {
	a := newAPI(t)
	for _, text := range []string{"é", "😀", "???>>>~~~", "\u2028\u2029", "<&>", "\x7f\x7f\x7f", "ÿþ", "a\\b", "\u0000"} {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, padding := range []string{"", "a", "ab"} { // the letters of base64 depend on the place
			channel := strings.Replace(string(quoted), `"`, `"`+padding, 1)
			for _, token := range a.issue(`{"app_id":"app","channel_id":` + channel + `,"role":` + channel + `,"user_id":` + channel + `}`).tokens() {
				claims := claimsOf(t, token)
				if claims["channel_id"] != padding+text || claims["user_id"] != padding+text || claims["role"] != padding+text {
					t.Errorf("asked for %q, claims are %v", padding+text, claims)
				}
				a.send("GET", "/sandbox/v1/vote", "", "Authorization", "ext "+token).is(403) // no such role
			}
		}
	}
}

// The newest secret that is active signs; all that are active verify.
func TestSandboxSecretRotation(t *testing.T) {
	a := newAPI(t)
	a.reload(`
extensions:
- clientID: ext
  sandbox:
    secrets:
    - {value: b2xkLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==}
    - {value: bmV4dC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=, activeFrom: 2099-01-01T00:00:00Z}
    - {value: c2FuZGJveC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=, activeFrom: 2020-01-01T00:00:00Z}
`)
	key := func() string {
		t.Helper()
		token := a.issue(`{"app_id":"ext","channel_id":"77","role":"viewer"}`).token()
		for _, key := range []string{oldKey, sandboxKey, nextKey} {
			parser := jwt.NewParser(jwt.WithTimeFunc(a.now))
			if _, err := parser.Parse(token, func(*jwt.Token) (any, error) { return []byte(key), nil }); err == nil {
				return key
			}
		}
		return "none"
	}
	if got := key(); got != sandboxKey {
		t.Errorf("the %s key signs, want %s", got, sandboxKey)
	}
	for name, status := range map[string]int{oldKey: 200, sandboxKey: 200, nextKey: 401} {
		header := identity{key: name, role: "viewer", opaque: "U5"}.header(t)
		a.send("GET", "/sandbox/v1/vote", "", "Authorization", header).is(status)
		a.send("GET", "/v1/vote", "", "Authorization", header).is(401)
	}
	a.skew.Store(int64(time.Until(time.Date(2099, 1, 2, 0, 0, 0, 0, time.UTC))))
	if got := key(); got != nextKey {
		t.Errorf("the %s key signs, want %s", got, nextKey)
	}
}

// Both ways of naming an extension may be used, and must agree; clients put the
// client id where the app id belongs, but never the other way round.
func TestNamingTheExtension(t *testing.T) {
	a := newAPI(t)
	const rest = `"channel_id":"1","role":"viewer"}`
	for _, names := range []string{
		`{"app_id":"app",`, `{"app_id":"ext",`, `{"extension_id":"ext",`, `{"extension_id":"ext","app_id":"app",`,
		`{"extension_id":"ext","app_id":"ext",`, `{"extension_id":"","app_id":"app",`, `{"extension_id":"ext","app_id":"",`,
	} {
		if got := claimsOf(t, a.issue(names+rest).token())["extension_id"]; got != "ext" {
			t.Errorf("%s: the token is of %v", names, got)
		}
	}
	for _, names := range []string{
		`{"extension_id":"app",`, `{"extension_id":"EXT",`, `{"extension_id":"ext","app_id":"nobody",`, `{"extension_id":"nobody","app_id":"app",`,
	} {
		a.issue(names+rest).refused(400, "No such extension found")
	}
}
