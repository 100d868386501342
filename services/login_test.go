package main

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// terminalIssuer is an OpenID Connect issuer with the device flow. A person agrees while the terminal asks for
// the first time, unless the state is another refusal.
type terminalIssuer struct {
	*testing.T
	*httptest.Server
	key   *rsa.PrivateKey
	group string
	state atomic.Pointer[string]
}

const loginDeviceCode = "a-device-code-that-no-log-may-have"

func newTerminalIssuer(t *testing.T) *terminalIssuer {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &terminalIssuer{T: t, key: key, group: "mods"}
	i.Server = httptest.NewServer(i)
	t.Cleanup(i.Close)
	return i
}

func (i *terminalIssuer) answers(state string) { i.state.Store(&state) }

// ServeHTTP implements [http.Handler].
func (i *terminalIssuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	encode := base64.RawURLEncoding.EncodeToString
	answer := map[string]any{}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		answer = map[string]any{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "device_authorization_endpoint": i.URL + "/device",
			"token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
		}
	case "/keys":
		answer["keys"] = []map[string]string{{"kty": "RSA", "kid": "r", "n": encode(i.key.N.Bytes()), "e": encode(big.NewInt(int64(i.key.E)).Bytes())}}
	case "/device":
		answer = map[string]any{"device_code": loginDeviceCode, "user_code": "WDJB-MJHT", "verification_uri": i.URL + "/activate", "expires_in": 600, "interval": 1}
	default:
		state := *i.state.Load()
		if state != "" {
			w.WriteHeader(http.StatusBadRequest)
			answer["error"] = state
			if state == "authorization_pending" {
				i.answers("")
			}
			break
		}
		token := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
			"iss": i.URL, "aud": "acclaim", "sub": "248", "preferred_username": "Ada", "groups": []string{i.group},
			"exp": time.Now().Add(time.Minute).Unix(),
		})
		token.Header["kid"] = "r"
		signed, err := token.SignedString(i.key)
		if err != nil {
			i.Error(err)
		}
		answer = map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": signed}
	}
	_ = json.NewEncoder(w).Encode(answer) // to a client that reads it
}

// registry writes a registry with one extension, whose moderators sign in at the issuer.
func (i *terminalIssuer) registry() string {
	path := filepath.Join(i.TempDir(), "extensions.yaml")
	content := fmt.Sprintf(`extensions:
- clientID: staffed
  secrets: [{value: c3RhZmZlZC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVz}]
  signIn:
    issuer: %s
    clientID: acclaim
    clientSecret: the-secret-of-the-client
    redirectURL: http://127.0.0.1:8080/v1/staff/callback
    staff: [{claim: groups, value: mods, channel: "77", role: moderator, scopes: [polls]}]
`, i.URL)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		i.Fatal(err)
	}
	return path
}

// A moderator signs in at a terminal, works there without a token, and leaves. What is stored is for this user
// alone, and no log has a secret.
func TestLogin(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", folder)
	t.Setenv("HOME", folder)
	issuer := newTerminalIssuer(t)
	p := startProgram(t, t.TempDir(), "serve", "--sandbox", "--sink-allow-private", "--log-level", "debug", "--log-requests", "all", "--extensions", issuer.registry())
	r := &remote{t, p, nil}
	r.refused("acclaim login", "poll", "list")
	r.refused("there is no session", "logout")

	issuer.answers("authorization_pending")
	out, shown, status := r.try("login")
	if status != 0 || !strings.Contains(shown, issuer.URL+"/activate\n") || !strings.Contains(shown, "WDJB-MJHT\n") ||
		!strings.Contains(out, "Signed in as Ada, for polls in channel 77 of staffed.\nThe session ends at ") {
		t.Fatalf("status %d, shows\n%s%s", status, shown, out)
	}
	r.run("poll", "create", "lunch", "--option", "Soup")
	r.refused("403", "game", "list")
	configuration, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := filepath.Glob(filepath.Join(configuration, "acclaim", "sessions", "*"))
	if err != nil || len(stored) != 1 {
		t.Fatalf("stored are %q, %v", stored, err)
	}
	credential, err := os.ReadFile(stored[0])
	if err != nil {
		t.Fatal(err)
	}
	if got := r.run("logout"); !strings.Contains(got, "has ended") {
		t.Error(got)
	}
	r.refused("acclaim login", "poll", "list")

	// A session that has ended elsewhere.
	if err := os.WriteFile(stored[0], credential, 0o600); err != nil {
		t.Fatal(err)
	}
	r.refused("has ended: begin another with `acclaim login`", "poll", "list")
	r.run("logout")
	if _, err := os.Stat(stored[0]); !os.IsNotExist(err) {
		t.Errorf("the credential of a session that has ended stays: %v", err)
	}

	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	_, token, _ := strings.Cut(strings.TrimSpace(string(credential)), " ")
	for _, secret := range []string{token, loginDeviceCode, "WDJB-MJHT", "the-secret-of-the-client"} {
		if strings.Contains(p.stderr.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	if !strings.Contains(p.stderr.String(), "staff.device.finish") {
		t.Errorf("the log has no line of the sign-in:\n%s", p.stderr)
	}
}

// A terminal says why there is no session.
func TestRefusedLogins(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	issuer := newTerminalIssuer(t)
	p := startProgram(t, t.TempDir(), "serve", "--sandbox", "--sink-allow-private", "--extensions", issuer.registry())
	r := &remote{t, p, nil}
	for state, want := range map[string]string{
		"access_denied": "The sign-in was denied", "expired_token": "The code has expired", "invalid_grant": "The sign-in has failed",
	} {
		issuer.answers(state)
		r.refused(want, "login", "--extension", "staffed")
	}
	r.refused("The extension has no sign-in here", "login", "--extension", "none")
	issuer.group = "friends"
	issuer.answers("")
	r.refused("This person is not staff of a channel", "login")
	r.refused("acclaim login", "poll", "list")

	box := &remote{t, &process{base: strings.Replace(p.base, "/v1", "/sandbox/v1", 1)}, nil}
	box.refused("name the extension", "login")
	box.refused("The extension has no sign-in here", "login", "--extension", "staffed")

	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.base+"/staff/device_signin", strings.NewReader(`{"extension":"staffed"}`))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if kept := response.Header.Get("Cache-Control"); response.StatusCode != http.StatusOK || kept != "no-store" {
		t.Errorf("status %d, Cache-Control %q", response.StatusCode, kept)
	}
}
