package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// signInCases are the attacks on sign-ins, on what they give, and on keys and devices.
func signInCases() []attackCase {
	return []attackCase{
		{name: "sign-ins", what: "one address, then 200, begin and end sign-ins with invented codes, while staff works and people sign in", run: floodSignIns, issuer: true, buildUp: time.Second,
			signs: attackSigns{outcome: crowdedSignIn, times: 4, metrics: []metricBound{{name: "acclaim_limit_refused_total", least: 800}}}},
		{name: "forged-sessions", what: "invented, revoked and foreign sessions of staff, cookies from other sites, states and codes of others", run: forgeSessions, issuer: true, buildUp: time.Second},
		{name: "forged-viewers", what: "tokens of an issuer with roles, other channels and other algorithms, and its viewers' cookie from other sites", run: forgeViewers, issuer: true},
		{name: "staff-keys", what: "staff keys outside of their scopes and channel, revoked ones and their open streams", run: exceedKeys, buildUp: 2 * time.Second},
		{name: "devices", what: "one address, then 100, ask for credentials of devices, which are good for nothing but votes in their poll", run: floodDevices, buildUp: 2 * time.Second,
			signs: attackSigns{outcome: newDevice, times: 3, metrics: []metricBound{{name: "acclaim_limit_refused_total", least: 100}}}},
		{name: "links", what: "overlay keys of other polls, whispers to others, guessed PINs, and long QR codes", run: followLinks},
	}
}

// forgery is a request that the program must refuse.
type forgery struct {
	what, credential, method, path, body string
	headers                              []string
}

// of returns the forgery as each of the requests, which have a method and a path.
func (f forgery) of(requests ...string) (all []forgery) {
	for _, request := range requests {
		f.method, f.path, _ = strings.Cut(request, " ")
		all = append(all, f)
	}
	return all
}

// forge sends forgeries again and again. One that is answered with success is a breach, as is one that
// makes the program fail.
func (a *attacker) forge(ctx context.Context, all []forgery) {
	client := a.newClient(8)
	defer client.CloseIdleConnections()
	a.flood(ctx, 8, func(ctx context.Context, n int64) (string, error) {
		f := all[n%int64(len(all))]
		response, err := harness.Send(ctx, client, f.method, "http://"+a.Address+f.path, f.credential, f.body, f.headers...)
		if err != nil {
			return "", err
		}
		_ = response.Body.Close() // the status is the answer
		if status := response.StatusCode; status/100 == 2 || status/100 == 5 {
			a.breach(fmt.Sprintf("%s: %s %s is answered with %d", f.what, f.method, f.path, status))
		}
		return response.Status, nil
	})
}

// repeatWell does what must succeed, each 200 ms.
func (a *attacker) repeatWell(ctx context.Context, what string, do func(ctx context.Context) (status int)) {
	for ctx.Err() == nil {
		if status := do(ctx); status != http.StatusOK && ctx.Err() == nil {
			a.breach(fmt.Sprintf("%s is answered with %d", what, status))
		}
		a.count(what)
		wait(ctx, 200*time.Millisecond)
	}
}

// status makes a request over a connection of its own, and returns the status of the answer.
func (a *attacker) status(ctx context.Context, credential, method, path, body string) int {
	client := a.newClient(1)
	defer client.CloseIdleConnections()
	status, _, _ := harness.Ask(ctx, client, method, "http://"+a.Address+path, credential, body) // 0: there is no answer
	return status
}

// signInRequest is one of those by which people sign in, and what has happened where they cannot beside many
// addresses that make it. All addresses share a rate of each.
type signInRequest struct {
	breach, path, cookie string
	signIn               func(ctx context.Context, b *browser) bool
}

// signInRequests returns those that begin sign-ins, and those that end invented ones.
func signInRequests() []signInRequest {
	const made = "SSSSSSSSSSSSSSSSSSSSSSSSSS"
	staff := func(ctx context.Context, b *browser) bool { return b.signIn(ctx, streamer) }
	viewer := func(ctx context.Context, b *browser) bool {
		return b.returns(ctx, b.begin(ctx, viewerSignIn, "viewer"))
	}
	return []signInRequest{
		{"staff cannot sign in beside many addresses that begin", staffSignIn, "", staff},
		{"staff cannot sign in beside many addresses that return", "/v1/staff/callback?state=" + made + "&code=x",
			staffFlow + "=extension=" + extension + "&state=" + made + "&nonce=N&verifier=V", staff},
		{"viewers cannot sign in beside many addresses that begin", viewerSignIn, "", viewer},
		{"viewers cannot sign in beside many addresses that return", "/v1/viewer/callback?state=" + made + "&code=x",
			viewerFlow + "=extension=" + extension + "&channel=1&poll=" + mainPoll + "&state=" + made + "&nonce=N&verifier=V", viewer},
	}
}

// crowdedSignIn is the outcome of a stretch in which people signed in, or tried, while many addresses asked
// for more than all may.
const crowdedSignIn = "a crowd at the sign-ins"

// floodSignIns makes all requests of sign-ins from one address, and then each of them from many: together
// they would empty none of the rates. It looks whether people still sign in.
func floodSignIns(ctx context.Context, a *attacker) {
	began, staff := time.Now(), a.newBrowser(240)
	if !staff.signIn(ctx, streamer) {
		a.breach("staff cannot sign in")
		return
	}
	asked := a.countAsked(ctx)
	attacking, stop := context.WithCancel(ctx)
	var alive sync.WaitGroup
	defer alive.Wait()
	defer stop()
	alive.Go(func() {
		a.repeatWell(attacking, "a session of staff", func(ctx context.Context) int {
			status, _ := staff.visit(ctx, http.MethodGet, "/v1/staff")
			return status
		})
	})
	first, end := context.WithDeadline(attacking, began.Add(a.Duration/6))
	a.askForSignIns(first, 1, new(atomic.Int64), signInRequests()...)
	end()
	if asked = a.countAsked(ctx) - asked; asked > 100 {
		a.breach(fmt.Sprintf("one address makes the program ask the issuer %d times", asked))
	}
	if !a.newBrowser(241).signIn(ctx, streamer) {
		a.breach("staff cannot sign in beside one address")
	}
	for i, request := range signInRequests() {
		a.crowdSignIns(ctx, request, 202+crowdedTries*int64(i), began.Add(a.Duration*time.Duration(i+2)/6))
	}
}

// crowdedTries is the number of people, each at an address, that at most try to sign in beside a crowd.
const crowdedTries = 9

// crowdSignIns makes a request from many addresses until end. People, the first two of them however long
// it takes, sign in from addresses of their own once the many are refused: before that, the rate has
// something left for anyone.
func (a *attacker) crowdSignIns(ctx context.Context, request signInRequest, first int64, end time.Time) {
	const addresses = 200
	crowded, stop := context.WithCancel(ctx)
	var refused atomic.Int64
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	all.Go(func() { a.askForSignIns(crowded, addresses, &refused, request) })
	for try := int64(0); try < 2 || try < crowdedTries && time.Now().Before(end); {
		wait(ctx, 100*time.Millisecond)
		if refused.Load() < addresses && ctx.Err() == nil {
			continue
		}
		good := request.signIn(ctx, a.newBrowser(first+try))
		if ctx.Err() != nil {
			return
		}
		if !good {
			a.breach(request.breach)
		}
		try++
	}
	a.count(crowdedSignIn)
}

// askForSignIns makes requests from so many addresses, and counts the refused ones.
func (a *attacker) askForSignIns(ctx context.Context, addresses int64, refused *atomic.Int64, requests ...signInRequest) {
	clients := make([]*http.Client, addresses)
	for i := range clients {
		clients[i] = a.from(int64(i) + 1).newClient(8)
		clients[i].CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		defer clients[i].CloseIdleConnections()
	}
	a.flood(ctx, 16, func(ctx context.Context, n int64) (string, error) {
		r := requests[n/addresses%int64(len(requests))]
		status, _, err := harness.Ask(ctx, clients[n%addresses], http.MethodGet, "http://"+a.Address+r.path, "", "", "Cookie", r.cookie)
		if err != nil {
			return "", err
		}
		if status == http.StatusTooManyRequests {
			refused.Add(1)
		}
		return fmt.Sprint(status), nil
	})
}

// forgeSessions signs staff in, and uses what an attacker can have or invent instead.
func forgeSessions(ctx context.Context, a *attacker) {
	staff, moderator, left := a.newBrowser(200), a.newBrowser(201), a.newBrowser(202)
	if !staff.signIn(ctx, streamer) || !moderator.signIn(ctx, pollsPerson) || !left.signIn(ctx, streamer) {
		a.breach("staff cannot sign in")
		return
	}
	ended := left.cookie()
	if status, _ := left.visit(ctx, http.MethodDelete, "/v1/staff"); status != http.StatusOK {
		a.breach("staff cannot sign out")
	}
	a.crossSignIns(ctx)
	good, ofModerator := staff.cookie(), moderator.cookie()
	_, token, _ := strings.Cut(staff.cookies[staffCookie], ":")
	invented := tokenOfLeaked(jwt.MapClaims{"role": "staff_key", "channel_id": channel, "key_id": "k", "opaque_user_id": "staff-x"})
	var all []forgery
	try := func(what, site, cookie string) {
		all = append(all, forgery{what: what, body: `{"id":"forged","config":{},"name":"x","scopes":["polls"]}`, headers: []string{"Cookie", cookie, "Sec-Fetch-Site", site}}.
			of("GET /v1/staff", "GET /v1/polls", "DELETE /v1/vote?id="+mainPoll, "POST /v1/vote_config", "POST /v1/staff_keys")...)
	}
	for _, site := range []string{"cross-site", "same-site", "none", "", "Same-Origin", "same-origin, same-origin"} {
		try("the cookie of a session from "+site, site, good)
	}
	try("a session that has ended", "same-origin", ended)
	try("a session of another extension", "same-origin", staffCookie+"="+leakyExtension+":"+token)
	try("a session that another extension has signed", "same-origin", staffCookie+"="+extension+":"+invented)
	try("an invented session", "same-origin", staffCookie+"="+extension+":"+token[:len(token)-4]+"AAAA")
	try("an unsigned session", "same-origin", staffCookie+"="+extension+":"+token[:strings.LastIndexByte(token, '.')+1])
	try("the cookie of a sign-in", "same-origin", staffCookie+"="+extension+":x:N:V")
	all = append(all, forgery{what: "a moderator's session", body: `{"value":1,"name":"x","scopes":["polls"]}`, headers: []string{"Cookie", ofModerator, "Sec-Fetch-Site", "same-origin"}}.
		of("POST /v1/staff_keys", "GET /v1/staff_keys", "POST /v1/vote?id="+mainPoll, "POST /v1/rank_moderation", "POST /v1/broadcast", "POST /v1/overlay_keys", "GET /v1/accumulate?id=x")...)
	a.forge(ctx, all)
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if status, _ := staff.visit(after, http.MethodGet, "/v1/staff"); status != http.StatusOK {
		a.breach("a session of staff has ended")
	}
}

// crossSignIns ends sign-ins with states and codes of others, once each: an address has few.
func (a *attacker) crossSignIns(ctx context.Context) {
	for i, path := range []string{staffSignIn, viewerSignIn} {
		mine, theirs, replayed := a.newBrowser(int64(10+i)), a.newBrowser(int64(20+i)), a.newBrowser(int64(30+i))
		back, other, spent := mine.begin(ctx, path, streamer), theirs.begin(ctx, path, streamer), replayed.begin(ctx, path, streamer)
		before := replayed.copy()
		if _, page := replayed.visit(ctx, http.MethodGet, spent); !strings.HasSuffix(page, "#signed-in") || back == "" || other == "" {
			a.breach("a person cannot sign in by " + path)
			return
		}
		callback, _, _ := strings.Cut(back, "?")
		for _, try := range []struct {
			what    string
			browser *browser
			path    string
		}{
			{"a browser that has begun nothing", a.newBrowser(int64(40 + i)), back},
			{"a browser that follows another's link", theirs.copy(), back},
			{"no state", mine.copy(), callback + "?code=" + codeOf(back)},
			{"another's code", mine.copy(), strings.Replace(back, codeOf(back), codeOf(other), 1)},
			{"a code that is spent", before, spent},
			{"the flow of another kind", mine.copy(), strings.NewReplacer("staff", "viewer", "viewer", "staff").Replace(back)},
		} {
			if _, page := try.browser.visit(ctx, http.MethodGet, try.path); page != "" {
				a.breach(try.what + " is good for " + callback)
			}
			a.count("sign-in refused")
		}
	}
	if viewer := a.newBrowser(50); viewer.signIn(ctx, "viewer") || viewer.cookies[staffCookie] != "" {
		a.breach("a person without a rule is staff")
	}
}

// codeOf returns the code in the path of a callback.
func codeOf(back string) string {
	_, code, _ := strings.Cut(back, "code=")
	code, _, _ = strings.Cut(code, "&")
	return code
}

// tokenOfLeaked returns a token that the key of the leaky extension has signed.
func tokenOfLeaked(claims jwt.MapClaims) string {
	token, err := signClaims(leakyExtension, "production", claims)
	if err != nil {
		panic(err) // the claims are text
	}
	return token
}

// forgeViewers uses tokens of the issuer for more than a vote, and tokens that the issuer has not signed.
func forgeViewers(ctx context.Context, a *attacker) {
	scheme := "OIDC " + extension + "/"
	honest := a.from(200)
	vote := func(ctx context.Context) int {
		return honest.status(ctx, scheme+"1/"+signIdentity(a.Issuer, jwt.MapClaims{"sub": "honest"}), http.MethodPost, "/v1/vote?id="+mainPoll, `{"value":1}`)
	}
	for vote(ctx) != http.StatusOK && ctx.Err() == nil { // until the program has the issuer's keys
		wait(ctx, 20*time.Millisecond)
	}
	var all []forgery
	try := func(what, credential string, headers ...string) {
		all = append(all, forgery{what: what, credential: credential, body: `{"value":0}`, headers: headers}.of("POST /v1/vote?id="+mainPoll, "GET /v1/vote?id="+mainPoll)...)
	}
	for what, token := range forgedIdentities(a.Issuer) {
		try(what, scheme+"1/"+token)
	}
	good := signIdentity(a.Issuer, jwt.MapClaims{"sub": "mallory", "role": "admin", "user_id": "1000", "channel_id": channel, "key_id": "k", "groups": []string{"admin"}})
	for _, channel := range []string{"2", "", "*", "01", "1%2f"} {
		try("another channel", scheme+channel+"/"+good)
	}
	try("another extension", "OIDC "+otherExtension+"/1/"+good)
	try("a token of the issuer as one of the extension", extension+" "+good)
	try("a token of the extension as one of the issuer", scheme+"1/"+tokenOf(a.Viewer))
	try("a token with the cookie of another site", scheme+"1/", "Cookie", viewerCookie+"="+good, "Sec-Fetch-Site", "cross-site")
	try("a token in the cookie of staff", "", "Cookie", staffCookie+"="+extension+":"+good, "Sec-Fetch-Site", "same-origin")
	beyond := []string{"GET /v1/vote_logs?id=" + mainPoll, "DELETE /v1/vote?id=" + mainPoll, "POST /v1/vote_config", "POST /v1/votes?id=" + mainPoll, "POST /v1/vote_modifier?id=" + mainPoll,
		"GET /v1/staff", "POST /v1/staff_keys", "POST /v1/broadcast", "GET /v1/extension_hidden_state", "GET /v1/user_ids", "POST /v1/extension_state"}
	all = append(all, forgery{what: "a token with the claims of an admin", credential: scheme + "1/" + good, body: `{"id":"forged","config":{}}`}.of(beyond...)...)
	all = append(all, forgery{what: "the cookie with the claims of an admin", credential: scheme + "1/", body: `{"id":"forged","config":{}}`,
		headers: []string{"Cookie", viewerCookie + "=" + good, "Sec-Fetch-Site", "same-origin"}}.of(beyond...)...)
	var alive sync.WaitGroup
	alive.Go(func() { a.repeatWell(ctx, "a vote with a token of the issuer", vote) })
	a.forge(ctx, all)
	alive.Wait()
}

func tokenOf(credential string) string { return credential[strings.IndexByte(credential, ' ')+1:] }

// forgedIdentities returns tokens that the issuer has not signed for viewers of now, by what is wrong.
func forgedIdentities(issuer string) map[string]string {
	claims := jwt.MapClaims{"iss": issuer, "aud": viewerClient, "sub": "mallory", "exp": time.Now().Add(time.Hour).Unix()}
	public := issuerKey().Public().(ed25519.PublicKey)
	_, own, _ := ed25519.GenerateKey(rand.Reader) // it never fails
	sign := func(method jwt.SigningMethod, key any, header ...string) string {
		token := jwt.NewWithClaims(method, claims)
		token.Header["kid"] = "e"
		for i := 0; i < len(header); i += 2 {
			token.Header[header[i]] = map[string]string{"kty": "OKP", "crv": "Ed25519", "x": header[i+1]}
		}
		signed, err := token.SignedString(key)
		if err != nil {
			panic(err) // the claims are text
		}
		return signed
	}
	good, encode := signIdentity(issuer, jwt.MapClaims{"sub": "mallory"}), base64.RawURLEncoding.EncodeToString
	return map[string]string{
		"no algorithm":                   sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType),
		"the public key as a secret":     sign(jwt.SigningMethodHS256, []byte(public)),
		"the public key's text as one":   sign(jwt.SigningMethodHS256, []byte(encode(public))),
		"an empty secret":                sign(jwt.SigningMethodHS256, []byte{}),
		"a key of its own":               sign(jwt.SigningMethodEdDSA, own),
		"a key of its own in the header": sign(jwt.SigningMethodEdDSA, own, "jwk", encode(own.Public().(ed25519.PublicKey))),
		"no signature":                   good[:strings.LastIndexByte(good, '.')+1],
		"a changed signature":            good[:len(good)-6] + "AAAAAA",
		"the client of staff":            signIdentity(issuer, jwt.MapClaims{"sub": "mallory", "aud": staffClient}),
		"another client's token":         signIdentity(issuer, jwt.MapClaims{"sub": "mallory", "azp": "another"}),
		"another issuer":                 signIdentity("http://127.0.0.1", jwt.MapClaims{"sub": "mallory"}),
		"a token that has expired":       signIdentity(issuer, jwt.MapClaims{"sub": "mallory", "exp": time.Now().Add(-time.Hour).Unix()}),
		"a token of the future":          signIdentity(issuer, jwt.MapClaims{"sub": "mallory", "nbf": time.Now().Add(time.Hour).Unix()}),
		"a token without an end":         signIdentity(issuer, jwt.MapClaims{"sub": "mallory", "exp": nil}),
		"a token for years":              signIdentity(issuer, jwt.MapClaims{"sub": "mallory", "exp": time.Now().AddDate(10, 0, 0).Unix()}),
		"a token of no person":           signIdentity(issuer, jwt.MapClaims{"sub": ""}),
	}
}
