package signin_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/services/internal/signin"
)

const (
	deviceCode = "the-device-code-that-is-secret"
	userCode   = "WDJB-MJHT"
)

// deviceEndpoint is the part of an issuer that signs people in at terminals.
type deviceEndpoint struct {
	described map[string]any // in place of the issuer's description
	begun     map[string]any // in place of its answer to a terminal
	refusal   string         // to the beginning of a sign-in
	state     string         // of the sign-in: a refusal, "" if the person has agreed
	requests  int
}

// knows reports whether the issuer knows the client of a request, which authenticates in one way alone.
func (i *issuer) knows(r *http.Request) bool {
	id, secret, basic := r.BasicAuth()
	if posted := r.FormValue("client_secret"); i.device.described["token_endpoint_auth_methods_supported"] != nil {
		return !basic && posted == clientSecret && r.FormValue("client_id") == "acclaim"
	} else if posted != "" {
		return false
	}
	return basic && id == "acclaim" && secret == clientSecret
}

func refuse(w http.ResponseWriter, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	answer(w, map[string]string{"error": code})
}

func (i *issuer) authorizeDevice(w http.ResponseWriter, r *http.Request) {
	switch {
	case i.failing.Load():
		w.WriteHeader(http.StatusInternalServerError)
	case !i.knows(r):
		refuse(w, "invalid_client")
	case r.FormValue("scope") != "openid groups":
		refuse(w, "invalid_scope")
	case i.device.refusal != "":
		refuse(w, i.device.refusal)
	default:
		begun := map[string]any{
			"device_code": deviceCode, "user_code": userCode, "verification_uri": "https://id.example/device",
			"verification_uri_complete": "https://id.example/device?user_code=" + userCode, "expires_in": 600, "interval": 7,
		}
		maps.Copy(begun, i.device.begun)
		answer(w, begun)
	}
}

// answerDevice answers a terminal that asks for the token of its person.
func (i *issuer) answerDevice(w http.ResponseWriter, r *http.Request) {
	i.device.requests++
	switch {
	case !i.knows(r):
		refuse(w, "invalid_client")
	case r.FormValue("device_code") != deviceCode || r.FormValue("redirect_uri") != "":
		refuse(w, "invalid_grant")
	case i.device.state != "":
		refuse(w, i.device.state)
	default:
		i.identify(w, jwt.MapClaims{})
	}
}

func (i *issuer) withGroups() signin.Issuer {
	described := i.described()
	described.Scopes = []string{"groups"}
	return described
}

// A person who agrees at the issuer signs in at a terminal. The program authenticates in the way that the
// issuer knows, and asks it once for each request.
func TestDeviceSignIn(t *testing.T) {
	for name, methods := range map[string]map[string]any{
		"header":     {},
		"parameters": {"token_endpoint_auth_methods_supported": []string{"private_key_jwt", "client_secret_post"}},
	} {
		i, client := newIssuer(t), newClient()
		i.device.described = methods
		flow, err := client.BeginDevice(t.Context(), i.withGroups())
		if err != nil {
			t.Fatal(name, err)
		}
		lasts := flow.Lifetime
		flow.Lifetime = 0
		if want := (signin.DeviceFlow{
			UserCode: userCode, DeviceCode: deviceCode, VerificationURI: "https://id.example/device",
			VerificationURIComplete: "https://id.example/device?user_code=" + userCode, Interval: 7 * time.Second,
		}); flow != want || lasts <= 9*time.Minute || lasts > 10*time.Minute {
			t.Errorf("%s: begins with %+v for %v", name, flow, lasts)
		}
		states := []signin.Refusal{signin.Pending, signin.SlowDown, signin.Denied, signin.Expired}
		for _, state := range states {
			i.device.state = string(state)
			if _, err := client.FinishDevice(t.Context(), i.withGroups(), flow.DeviceCode); !errors.Is(err, state) {
				t.Errorf("%s: %s is answered with %v", name, state, err)
			}
		}
		i.device.state = ""
		claims, err := client.FinishDevice(t.Context(), i.withGroups(), flow.DeviceCode)
		if err != nil || claims.Text("sub") != "248" || !claims.Has("groups", "mods") {
			t.Errorf("%s: signed in as %s, %v", name, claims, err)
		}
		if i.device.requests != len(states)+1 {
			t.Errorf("%s: the issuer got %d requests", name, i.device.requests)
		}
	}
}

// An issuer that names no interval or no whole address leaves the terminal with what it has.
func TestDeviceFlowsOfFewWords(t *testing.T) {
	i, client := newIssuer(t), newClient()
	i.device.begun = map[string]any{"interval": nil, "verification_uri_complete": "javascript:alert(1)"}
	flow, err := client.BeginDevice(t.Context(), i.withGroups())
	if err != nil || flow.Interval != 5*time.Second || flow.VerificationURIComplete != "" {
		t.Errorf("begins with %+v, %v", flow, err)
	}
}

func TestDeviceFlowIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		device deviceEndpoint
		want   signin.Refusal
	}{
		"no device flow":        {deviceEndpoint{described: map[string]any{"device_authorization_endpoint": nil}}, signin.Unoffered},
		"not for this client":   {deviceEndpoint{refusal: "unauthorized_client"}, signin.Unoffered},
		"no page":               {deviceEndpoint{begun: map[string]any{"verification_uri": "javascript:alert(1)"}}, signin.Unreached},
		"no code of the person": {deviceEndpoint{begun: map[string]any{"user_code": ""}}, signin.Unreached},
		"no code of the device": {deviceEndpoint{begun: map[string]any{"device_code": ""}}, signin.Unreached},
		"no end":                {deviceEndpoint{begun: map[string]any{"expires_in": 0}}, signin.Unreached},
	} {
		i := newIssuer(t)
		i.device = test.device
		if flow, err := newClient().BeginDevice(t.Context(), i.withGroups()); !errors.Is(err, test.want) {
			t.Errorf("%s: %+v, %v", name, flow, err)
		}
	}
	i := newIssuer(t)
	i.failing.Store(true)
	if _, err := newClient().BeginDevice(t.Context(), i.withGroups()); !errors.Is(err, signin.Unreached) {
		t.Errorf("an issuer that fails is %v", err)
	}
	if _, err := newClient().FinishDevice(t.Context(), i.withGroups(), deviceCode); !errors.Is(err, signin.Unreached) {
		t.Errorf("an issuer that fails later is %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := newClient().FinishDevice(ended, i.withGroups(), deviceCode); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that ended is refused with %v", err)
	}
}

// What is no good identity token in the code flow is none in the device flow either.
func TestAttacksOnDeviceFlow(t *testing.T) {
	set := func(name string, value any) func(*issuer) {
		return func(i *issuer) { i.change = func(c jwt.MapClaims) { c[name] = value } }
	}
	for name, attack := range map[string]func(*issuer){
		"a token for another": set("aud", "another"),
		"a token for two, another's": func(i *issuer) {
			i.change = func(c jwt.MapClaims) { c["aud"], c["azp"] = []string{"acclaim", "another"}, "another" }
		},
		"a token of another issuer": set("iss", "https://another.example"),
		"a token of no person":      set("sub", ""),
		"an expired token":          set("exp", time.Now().Add(-time.Minute).Unix()),
		"no token":                  func(i *issuer) { i.sign = func(jwt.MapClaims) string { return "" } },
		"HS256 with the client's secret": func(i *issuer) {
			i.sign = func(c jwt.MapClaims) string { return signWith(t, jwt.SigningMethodHS256, "r", c, []byte(clientSecret)) }
		},
		"a code that is used":         func(i *issuer) { i.device.state = "invalid_grant" },
		"a refusal that is not known": func(i *issuer) { i.device.state = "another" },
		"a refusal of this program's": func(i *issuer) { i.device.state = string(signin.Unreached) },
		"a client that is not known": func(i *issuer) {
			i.device.described = map[string]any{"token_endpoint_auth_methods_supported": []string{"client_secret_basic"}}
		},
	} {
		i := newIssuer(t)
		attack(i)
		claims, err := newClient().FinishDevice(t.Context(), i.withGroups(), deviceCode)
		if _, refusal := errors.AsType[signin.Refusal](err); err == nil || refusal {
			t.Errorf("%s: %s, %v", name, claims, err)
			continue
		}
		if strings.Contains(err.Error(), deviceCode) || strings.Contains(err.Error(), clientSecret) {
			t.Errorf("%s: the error has a secret: %v", name, err)
		}
	}
}
