package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// issuer is an OpenID Connect issuer on this machine. Everyone is there who they say, by the
// parameter sub of its page.
type issuer struct {
	server  *http.Server
	address string
	asked   atomic.Int64 // requests of the program

	mu    sync.Mutex
	codes map[string]url.Values // what browsers have asked with, and the people of device codes
}

// The clients of the issuer, for staff and for viewers, and the people that are staff of the
// victims' channel.
const (
	staffClient  = "staff"
	viewerClient = "viewers"
	streamer     = "streamer"  // with the rights of a broadcaster
	pollsPerson  = "moderator" // with the scope polls
)

func startIssuer(ctx context.Context) (*issuer, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	i := &issuer{address: "http://" + listener.Addr().String(), codes: map[string]url.Values{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		i.answer(w, map[string]string{"issuer": i.address, "authorization_endpoint": i.address + "/authorize",
			"token_endpoint": i.address + "/token", "jwks_uri": i.address + "/keys", "device_authorization_endpoint": i.address + "/device"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		i.answer(w, map[string]any{"keys": []map[string]string{{"kty": "OKP", "crv": "Ed25519", "kid": "e", "x": base64.RawURLEncoding.EncodeToString(issuerKey().Public().(ed25519.PublicKey))}}})
	})
	mux.HandleFunc("/token", i.redeem)
	mux.HandleFunc("/authorize", i.agree)
	mux.HandleFunc("/device", i.beginDevice)
	mux.HandleFunc("/approve", i.approve)
	mux.HandleFunc("/asked", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, i.asked.Load()) })
	i.server = &http.Server{Handler: mux, ReadHeaderTimeout: grace}
	go func() { _ = i.server.Serve(listener) }() // until it is closed
	return i, nil
}

// issuerKey returns the key of the issuer, the same in each process.
func issuerKey() ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("the key of the issuer"))
	return ed25519.NewKeyFromSeed(seed[:])
}

func (i *issuer) answer(w http.ResponseWriter, value any) {
	i.asked.Add(1)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // the program has gone
}

// agree sends a browser back with a code.
func (i *issuer) agree(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	code, query := rand.Text(), r.URL.Query()
	i.codes[code] = query
	back := url.Values{"state": {query.Get("state")}, "code": {code}}
	w.Header().Set("Location", query.Get("redirect_uri")+"?"+back.Encode())
	w.WriteHeader(http.StatusSeeOther)
}

// redeem answers to a code once with the token of a person. It leaves it to the program to see that the
// code is that of the browser.
func (i *issuer) redeem(w http.ResponseWriter, r *http.Request) {
	code := r.FormValue("code") + r.FormValue("device_code") // it has one of them
	i.mu.Lock()
	query, known := i.codes[code]
	if known && query.Has("waits") {
		i.mu.Unlock()
		i.refuse(w, "authorization_pending")
		return
	}
	delete(i.codes, code)
	i.mu.Unlock()
	if !known {
		i.refuse(w, "invalid_grant")
		return
	}
	token := signIdentity(i.address, jwt.MapClaims{"aud": query.Get("client_id"), "sub": query.Get("sub"), "nonce": query.Get("nonce")})
	i.answer(w, map[string]string{"access_token": "x", "token_type": "Bearer", "id_token": token})
}

func (i *issuer) refuse(w http.ResponseWriter, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	i.answer(w, map[string]string{"error": code})
}

// signIdentity returns a token of the issuer for viewers that is good for an hour, unless the claims
// say otherwise.
func signIdentity(issuer string, claims jwt.MapClaims) string {
	all := jwt.MapClaims{"iss": issuer, "aud": viewerClient, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(all, claims)
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, all)
	token.Header["kid"] = "e"
	signed, err := token.SignedString(issuerKey())
	if err != nil {
		panic(err) // the claims are text
	}
	return signed
}

// settings returns the lines of the registry with which an extension trusts the issuer.
func (i *issuer) settings() string {
	return fmt.Sprintf(`  signIn:
    issuer: %[1]s
    clientID: %[2]s
    redirectURL: http://127.0.0.1/v1/staff/callback
    staff:
    - {claim: sub, value: %[4]s, channel: "1", role: broadcaster}
    - {claim: sub, value: %[5]s, channel: "1", role: moderator, scopes: [polls]}
  viewerIssuers:
  - {issuer: "%[1]s", audience: %[3]s, channels: ["1"], redirectURL: "http://127.0.0.1/v1/viewer/callback"}
`, i.address, staffClient, viewerClient, streamer, pollsPerson)
}

// countAsked returns how many requests the program has made to the issuer.
func (a *attacker) countAsked(ctx context.Context) (n int) {
	_, text, err := harness.Ask(ctx, http.DefaultClient, http.MethodGet, a.Issuer+"/asked", "", "")
	if err == nil {
		_, err = fmt.Sscan(string(text), &n)
	}
	if err != nil {
		a.count("the issuer: " + describeError(err))
	}
	return n
}

// browser keeps cookies, and shows no redirect to its person.
type browser struct {
	*attacker
	http    *http.Client
	cookies map[string]string
}

// newBrowser returns one at the n-th address of the attacker's network.
func (a *attacker) newBrowser(n int64) *browser {
	b := &browser{attacker: a.from(n), cookies: map[string]string{}}
	b.http = b.newClient(1)
	b.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return b
}

// copy returns a browser with the same cookies, for one more try.
func (b *browser) copy() *browser {
	return &browser{attacker: b.attacker, http: b.http, cookies: maps.Clone(b.cookies)}
}

// cookie returns the header Cookie.
func (b *browser) cookie() string {
	var pairs []string
	for name, value := range b.cookies {
		pairs = append(pairs, name+"="+value)
	}
	return strings.Join(pairs, "; ")
}

// visit sends a request as a page of the server does, and returns the status and where it leads to.
func (b *browser) visit(ctx context.Context, method, path string) (status int, location string) {
	response, err := harness.Send(ctx, b.http, method, "http://"+b.Address+path, "", "", "Cookie", b.cookie(), "Sec-Fetch-Site", "same-origin")
	if err != nil {
		return 0, ""
	}
	_ = response.Body.Close() // the status is the answer
	for _, cookie := range response.Cookies() {
		b.cookies[cookie.Name] = cookie.Value
	}
	return response.StatusCode, response.Header.Get("Location")
}

// Sign-ins of the victims' extension, and their cookies.
const (
	staffSignIn  = "/v1/staff/signin?extension=" + extension
	viewerSignIn = "/v1/viewer/signin?extension=" + extension + "&channel=1&poll=" + mainPoll

	staffFlow    = "__Host-acclaim-signin"
	staffCookie  = "__Host-acclaim-staff"
	viewerFlow   = "__Host-acclaim-viewer-signin"
	viewerCookie = "__Host-acclaim-viewer"
)

// begin has a person agree at the issuer, and returns the path to which it sends the browser back.
func (b *browser) begin(ctx context.Context, path, person string) string {
	_, page := b.visit(ctx, http.MethodGet, path)
	if page == "" {
		return ""
	}
	response, err := harness.Send(ctx, b.http, http.MethodGet, page+"&sub="+person, "", "")
	if err != nil {
		return ""
	}
	_ = response.Body.Close() // the redirect is the answer
	back, err := response.Location()
	if err != nil {
		return ""
	}
	return back.RequestURI()
}

// signIn signs a person in as staff, and reports whether the server says so.
func (b *browser) signIn(ctx context.Context, person string) bool {
	return b.returns(ctx, b.begin(ctx, staffSignIn, person))
}

// returns ends a sign-in, and reports whether the server says so.
func (b *browser) returns(ctx context.Context, back string) bool {
	_, page := b.visit(ctx, http.MethodGet, back)
	return strings.HasSuffix(page, "#signed-in")
}
