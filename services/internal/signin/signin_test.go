package signin_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/services/internal/signin"
)

const clientSecret = "the-secret-of-the-client-at-the-issuer"

// issuer is an OpenID Connect issuer with one person, who always agrees.
type issuer struct {
	*httptest.Server
	rsa     *rsa.PrivateKey
	edwards ed25519.PrivateKey

	mu     sync.Mutex
	codes  map[string]url.Values // what the browser has asked with
	shown  int                   // how often a code was shown
	device deviceEndpoint
	change func(claims jwt.MapClaims)
	sign   func(claims jwt.MapClaims) string

	keys    http.HandlerFunc // under mu
	asked   atomic.Int64     // requests for keys
	failing atomic.Bool      // with keys and tokens
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{codes: map[string]url.Values{}, change: func(jwt.MapClaims) {}}
	var err error
	if i.rsa, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	if _, i.edwards, err = ed25519.GenerateKey(rand.Reader); err != nil {
		t.Fatal(err)
	}
	i.sign = func(claims jwt.MapClaims) string { return signWith(t, jwt.SigningMethodRS256, "r", claims, i.rsa) }
	mux := http.NewServeMux()
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		description := map[string]any{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256", "EdDSA", "HS256", "none"},
			"device_authorization_endpoint":         i.URL + "/device",
		}
		maps.Copy(description, i.device.described)
		answer(w, description)
	})
	mux.HandleFunc("/device", i.authorizeDevice)
	i.serveKeys(i.answerKeys)
	mux.HandleFunc("/keys", func(w http.ResponseWriter, r *http.Request) {
		i.asked.Add(1)
		i.mu.Lock()
		keys := i.keys
		i.mu.Unlock()
		keys(w, r)
	})
	mux.HandleFunc("/token", i.token)
	return i
}

func (i *issuer) serveKeys(keys http.HandlerFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = keys
}

// answerKeys answers with the keys, and with others that no token of a person is signed with.
func (i *issuer) answerKeys(w http.ResponseWriter, _ *http.Request) {
	if i.failing.Load() {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	encode := base64.RawURLEncoding.EncodeToString
	answer(w, map[string]any{"keys": []map[string]string{
		{"kty": "oct", "kid": "r", "k": encode([]byte("symmetric"))},
		{"kty": "another", "kid": "a"},
		{"kty": "RSA", "kid": "r", "n": encode(i.rsa.N.Bytes()), "e": encode(big.NewInt(int64(i.rsa.E)).Bytes())},
		{"kty": "OKP", "kid": "e", "crv": "Ed25519", "x": encode(i.edwards.Public().(ed25519.PublicKey))},
	}})
}

func signWith(t *testing.T, method jwt.SigningMethod, kid string, claims jwt.MapClaims, key any) string {
	t.Helper()
	token := jwt.NewWithClaims(method, claims)
	token.Header["kid"] = kid
	signed, err := token.SignedString(key)
	if err != nil {
		t.Error(err)
	}
	return signed
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // to a recorder
}

// agree returns the query with which the issuer sends the browser back.
func (i *issuer) agree(t *testing.T, address string) (state, code string) {
	t.Helper()
	at, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(address, i.URL+"/authorize?") {
		t.Fatalf("the browser goes to %s, %v", address, err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	code = rand.Text()
	i.codes[code] = at.Query()
	return at.Query().Get("state"), code
}

// token answers to a code once, to the client that shows the verifier.
func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.failing.Load() {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(strings.Repeat("page", 1000))) // to a client that reads it
		return
	}
	if r.FormValue("grant_type") == "urn:ietf:params:oauth:grant-type:device_code" {
		i.answerDevice(w, r)
		return
	}
	i.shown++
	asked, known := i.codes[r.FormValue("code")]
	delete(i.codes, r.FormValue("code"))
	challenge := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	_, secret, _ := r.BasicAuth()
	if !known || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(challenge[:]) || secret != clientSecret {
		w.WriteHeader(http.StatusBadRequest)
		answer(w, map[string]string{"error": "invalid_grant"})
		return
	}
	i.identify(w, jwt.MapClaims{"nonce": asked.Get("nonce")})
}

// identify answers with the identity token of the person.
func (i *issuer) identify(w http.ResponseWriter, claims jwt.MapClaims) {
	maps.Copy(claims, jwt.MapClaims{
		"iss": i.URL, "aud": "acclaim", "sub": "248", "groups": []string{"mods", "friends"},
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(),
	})
	i.change(claims)
	answer(w, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": i.sign(claims)})
}

func (i *issuer) described() signin.Issuer {
	return signin.Issuer{URL: i.URL, ClientID: "acclaim", ClientSecret: clientSecret, RedirectURL: "https://votes.example/v1/staff/callback"}
}

func newClient() *signin.Client { return signin.NewClient(http.DefaultTransport, time.Now) }

func TestSignIn(t *testing.T) {
	for _, algorithm := range []string{"RS256", "EdDSA"} {
		i, client := newIssuer(t), newClient()
		if algorithm == "EdDSA" {
			i.sign = func(claims jwt.MapClaims) string {
				return signWith(t, jwt.SigningMethodEdDSA, "e", claims, i.edwards)
			}
		}
		address, flow, err := client.Begin(t.Context(), i.described())
		if err != nil {
			t.Fatal(err)
		}
		state, code := i.agree(t, address)
		claims, _, err := client.Finish(t.Context(), i.described(), flow, state, code)
		if err != nil {
			t.Fatal(err)
		}
		if claims.Text("sub") != "248" || !claims.Has("groups", "mods") || claims.Has("groups", "admins") || claims.Has("none", "") || !claims.Has("sub", "248") {
			t.Errorf("%s: claims %s", algorithm, claims)
		}
		if _, _, err := client.Finish(t.Context(), i.described(), flow, state, code); err == nil {
			t.Errorf("%s: a code works twice", algorithm)
		}
		if i.shown != 2 {
			t.Errorf("%s: the issuer got %d requests for two attempts", algorithm, i.shown)
		}
	}
}

// An address that a person gave and the issuer did not verify counts for nothing.
func TestUnverifiedEmail(t *testing.T) {
	for verified, want := range map[any]string{true: "ada@example.org", "true": "ada@example.org", false: "", "false": "", nil: "ada@example.org"} {
		i, client := newIssuer(t), newClient()
		i.change = func(c jwt.MapClaims) {
			c["email"] = "ada@example.org"
			if verified != nil {
				c["email_verified"] = verified
			}
		}
		address, flow, err := client.Begin(t.Context(), i.described())
		if err != nil {
			t.Fatal(err)
		}
		state, code := i.agree(t, address)
		claims, _, err := client.Finish(t.Context(), i.described(), flow, state, code)
		if got := claims.Text("email"); err != nil || got != want {
			t.Errorf("verified %v: %q, %v", verified, got, err)
		}
	}
}

// No wrong answer of an issuer, and no wrong request of a browser, signs a person in.
func TestAttacks(t *testing.T) {
	set := func(name string, value any) func(*issuer) {
		return func(i *issuer) { i.change = func(c jwt.MapClaims) { c[name] = value } }
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, attack := range map[string]struct {
		issuer func(*issuer)
		flow   func(*signin.Flow)
		state  string
	}{
		"another state":            {state: "x"},
		"no state":                 {flow: func(f *signin.Flow) { f.State = "" }, state: "-"},
		"another browser's nonce":  {flow: func(f *signin.Flow) { f.Nonce = "x" }},
		"another nonce in a token": {issuer: set("nonce", "x")},
		"no nonce":                 {issuer: set("nonce", ""), flow: func(f *signin.Flow) { f.Nonce = "" }},
		"another browser's code":   {flow: func(f *signin.Flow) { f.Verifier = strings.Repeat("x", 43) }},
		"a token for another":      {issuer: set("aud", "another")},
		"a token for two, another's": {issuer: func(i *issuer) {
			i.change = func(c jwt.MapClaims) { c["aud"], c["azp"] = []string{"acclaim", "another"}, "another" }
		}},
		"a token without an audience": {issuer: set("aud", []string{})},
		"a token of no person":        {issuer: set("sub", "")},
		"a token of another issuer":   {issuer: set("iss", "https://another.example")},
		"an expired token":            {issuer: set("exp", time.Now().Add(-time.Minute).Unix())},
		"algorithm none": {issuer: func(i *issuer) {
			i.sign = func(c jwt.MapClaims) string {
				return signWith(t, jwt.SigningMethodNone, "r", c, jwt.UnsafeAllowNoneSignatureType)
			}
		}},
		"HS256 with the client's secret": {issuer: func(i *issuer) {
			i.sign = func(c jwt.MapClaims) string { return signWith(t, jwt.SigningMethodHS256, "r", c, []byte(clientSecret)) }
		}},
		"HS256 with the public key": {issuer: func(i *issuer) {
			i.sign = func(c jwt.MapClaims) string { return signWith(t, jwt.SigningMethodHS256, "r", c, i.rsa.N.Bytes()) }
		}},
		"HS256 with the public key as PEM": {issuer: func(i *issuer) {
			key, err := x509.MarshalPKIXPublicKey(&i.rsa.PublicKey)
			if err != nil {
				t.Fatal(err)
			}
			secret := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: key})
			i.sign = func(c jwt.MapClaims) string { return signWith(t, jwt.SigningMethodHS256, "r", c, secret) }
		}},
		"another key": {issuer: func(i *issuer) {
			i.sign = func(c jwt.MapClaims) string { return signWith(t, jwt.SigningMethodRS256, "r", c, other) }
		}},
		"no token": {issuer: func(i *issuer) { i.sign = func(jwt.MapClaims) string { return "" } }},
	} {
		t.Run(name, func(t *testing.T) {
			i, client := newIssuer(t), newClient()
			if attack.issuer != nil {
				attack.issuer(i)
			}
			address, flow, err := client.Begin(t.Context(), i.described())
			if err != nil {
				t.Fatal(err)
			}
			state, code := i.agree(t, address)
			if attack.flow != nil {
				attack.flow(&flow)
			}
			if attack.state != "" {
				state = strings.Trim(attack.state, "-")
			}
			if claims, _, err := client.Finish(t.Context(), i.described(), flow, state, code); err == nil {
				t.Errorf("signed in with %v", maps.Collect(maps.All(claims)))
			}
		})
	}
}

// An issuer sends the program to no other address, and takes no more memory than an answer may.
func TestIssuersAreBounded(t *testing.T) {
	for name, serve := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		},
		"endless": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		},
	} {
		server := httptest.NewServer(serve)
		if _, _, err := newClient().Begin(t.Context(), signin.Issuer{URL: server.URL}); err == nil {
			t.Errorf("%s: a sign-in begins", name)
		}
		server.Close()
	}
}

// The log gets no more than the beginning of what an issuer answers.
func TestErrorsOfIssuersAreShort(t *testing.T) {
	page := strings.Repeat("page", 1000)
	refuse := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte(page)) // to a client that reads it
	}
	short := func(name string, err error) {
		if err == nil || len(err.Error()) > 300 {
			t.Errorf("%s: %v", name, err)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(refuse))
	defer server.Close()
	_, _, err := newClient().Begin(t.Context(), signin.Issuer{URL: server.URL})
	short("description", err)

	i, client := newIssuer(t), newClient()
	i.change = func(c jwt.MapClaims) { c["aud"] = page }
	address, flow, err := client.Begin(t.Context(), i.described())
	if err != nil {
		t.Fatal(err)
	}
	state, code := i.agree(t, address)
	_, _, err = client.Finish(t.Context(), i.described(), flow, state, code)
	short("identity token", err)
	i.failing.Store(true)
	_, _, err = client.Finish(t.Context(), i.described(), flow, state, code)
	short("code", err)

	ended, end := context.WithCancel(t.Context())
	end()
	if _, _, err = client.Finish(ended, i.described(), flow, state, code); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that ended is refused with %v", err)
	}
}
