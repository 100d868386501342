package httpapi_test

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// credential is a header for the extension "ext" whose claims were changed. A
// claim changed to nil is left out.
func credential(t *testing.T, key string, change jwt.MapClaims) string {
	t.Helper()
	claims := viewer().claims()
	for name, value := range change {
		claims[name] = value
		if value == nil {
			delete(claims, name)
		}
	}
	return "ext " + sign(t, jwt.SigningMethodHS256, claims, []byte(key))
}

func TestCredentials(t *testing.T) {
	a := newAPI(t)
	good := viewer().header(t)
	token := strings.TrimPrefix(good, "ext ")
	with := func(name string, value any) string {
		return credential(t, productionKey, jwt.MapClaims{name: value})
	}
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	claims, key := viewer().claims(), []byte(productionKey)
	for name, test := range map[string]struct {
		header string
		status int
	}{
		"good":                    {good, 200},
		"none":                    {"", 401},
		"client id alone":         {"ext", 401},
		"token alone":             {token, 401},
		"bearer":                  {"Bearer " + token, 401},
		"unknown client id":       {"nobody " + token, 401},
		"app id":                  {"app " + token, 401},
		"client id in upper case": {"EXT " + token, 401},
		"another's client id":     {"other " + token, 401},
		"two spaces":              {"ext  " + token, 401},
		"something after it":      {good + " x", 401},
		"cut off":                 {good[:len(good)-2], 401},
		"changed":                 {strings.Replace(good, ".", "x.", 1), 401},
		"not a token":             {"ext a.b.c", 401},
		"no algorithm":            {"ext " + sign(t, jwt.SigningMethodNone, claims, jwt.UnsafeAllowNoneSignatureType), 401},
		"HS384":                   {"ext " + sign(t, jwt.SigningMethodHS384, claims, key), 401},
		"HS512":                   {"ext " + sign(t, jwt.SigningMethodHS512, claims, key), 401},
		"RS256":                   {"ext " + sign(t, jwt.SigningMethodRS256, claims, private), 401},
		"key not decoded":         {credential(t, "cHJvZHVjdGlvbi1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=", nil), 401},
		"older key":               {credential(t, oldKey, nil), 200},
		"key not yet active":      {credential(t, nextKey, nil), 401},
		"sandbox key":             {credential(t, sandboxKey, nil), 401},
		"expired":                 {with("exp", time.Now().Add(-time.Minute).Unix()), 401},
		"expires now":             {with("exp", time.Now().Unix()), 401},
		"expires in a fraction":   {with("exp", float64(time.Now().Unix())+3600.5), 200},
		"expires far from now":    {with("exp", 1e15), 401},
		"expires in a month":      {with("exp", time.Now().Add(720*time.Hour-time.Minute).Unix()), 200},
		"expires after a month":   {with("exp", time.Now().Add(720*time.Hour+time.Minute).Unix()), 401},
		"expires beyond numbers":  {with("exp", 1e300), 401},
		"no expiry":               {with("exp", nil), 401},
		"expiry is zero":          {with("exp", 0), 401},
		"expiry is text":          {with("exp", "9999999999"), 401},
		"expiry is a date":        {with("exp", "2099-01-01T00:00:00Z"), 401},
		"expiry is null":          {with("exp", json.RawMessage("null")), 401},
		"expiry is true":          {with("exp", true), 401},
		"role is null":            {with("role", json.RawMessage("null")), 401},
		"user is null":            {with("user_id", json.RawMessage("null")), 401},
		"stage is null":           {with("allowed_stage", json.RawMessage("null")), 401},
		"a tab between":           {"ext\t" + token, 401},
		"padded":                  {good + "=", 401},
		"another signature":       {good[:strings.LastIndex(good, ".")+1], 401},
		"not before tomorrow":     {with("nbf", time.Now().Add(24*time.Hour).Unix()), 401},
		"no role":                 {with("role", nil), 401},
		"empty role":              {with("role", ""), 401},
		"role is a number":        {with("role", 1), 401},
		"unknown role":            {with("role", "king"), 403},
		"role is case sensitive":  {with("role", "Viewer"), 403},
		"moderator":               {with("role", "moderator"), 200},
		"external":                {with("role", "external"), 403},
		"same extension id":       {with("extension_id", "ext"), 200},
		"empty extension id":      {with("extension_id", ""), 401},
		"other extension id":      {with("extension_id", "other"), 401},
		"app id as extension id":  {with("extension_id", "app"), 401},
		"same stage":              {with("allowed_stage", "production"), 200},
		"other stage":             {with("allowed_stage", "sandbox"), 401},
		"empty stage":             {with("allowed_stage", ""), 401},
		"unknown stage":           {with("allowed_stage", "Production"), 401},
		"channel is a number":     {with("channel_id", 77), 401},
		"user not shared":         {with("user_id", nil), 200},
		"user is empty":           {with("user_id", ""), 200},
		"user is a number":        {with("user_id", 5), 401},
		"weight":                  {with("vote_weight", 100), 200},
		"no weight at all":        {with("vote_weight", 0), 401},
		"too much weight":         {with("vote_weight", 101), 401},
		"half a weight":           {with("vote_weight", 1.5), 401},
		"weight is text":          {with("vote_weight", "2"), 401},
		"weight is null":          {with("vote_weight", json.RawMessage("null")), 401},
		"more than we know":       {with("pubsub_perms", map[string]any{"listen": []string{"broadcast"}}), 200},
		"names in other case":     {credential(t, productionKey, jwt.MapClaims{"role": nil, "Role": "admin"}), 401},
		"no override by case":     {with("ROLE", "king"), 200},
	} {
		t.Run(name, func(t *testing.T) {
			a.send("GET", "/v1/vote", "", "Authorization", test.header).is(test.status)
		})
	}
}

// A token with a weight counts as often in the polls that say so, in its holder's own vote alone.
func TestWeightOfToken(t *testing.T) {
	a := newAPI(t)
	heavy := credential(t, productionKey, jwt.MapClaims{"vote_weight": 5})
	a.as(owner(), "POST", "/vote_config", configOf("w", `{"weightedVotes":true}`)).is(200)
	vote := func(id, credential, want string) {
		t.Helper()
		if got := a.send("POST", "/v1/vote?id="+id, `{"value":1}`, "Authorization", credential).is(200).body; !strings.Contains(got, `"count":`+want) {
			t.Errorf("a vote in %s: %s, want %s", id, got, want)
		}
	}
	vote("w", heavy, "5")
	vote("w", heavy, "5")
	vote("other", heavy, "1")
	if got := a.as(stranger(), "POST", "/vote?id=w", `{"value":1}`).is(200).body; !strings.Contains(got, `"count":6`) {
		t.Errorf("a vote beside it: %s", got)
	}
	if got := a.as(backend(), "POST", "/votes?id=w", `{"votes":[{"opaque_user_id":"U8","value":1,"vote_weight":9}]}`).is(200).body; !strings.Contains(got, `"count":7`) {
		t.Errorf("one of several votes: %s", got)
	}
}

// A token's header must name the algorithm HS256, whatever the signature is.
func TestForgedAlgorithms(t *testing.T) {
	a := newAPI(t)
	claims, err := json.Marshal(viewer().claims())
	if err != nil {
		t.Fatal(err)
	}
	forge := func(header string, signed bool) string {
		token := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString(claims) + "."
		if !signed {
			return "ext " + token
		}
		mac := hmac.New(sha256.New, []byte(productionKey))
		mac.Write([]byte(token[:len(token)-1]))
		return "ext " + token + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	}
	a.send("GET", "/v1/vote", "", "Authorization", forge(`{"alg":"HS256"}`, true)).is(200)
	for _, header := range []string{
		`{"alg":"HS256"}`, `{"alg":"none"}`, `{"alg":"None"}`, `{"alg":"NONE","typ":"JWT"}`, `{"alg":""}`, `{}`,
	} {
		a.send("GET", "/v1/vote", "", "Authorization", forge(header, false)).is(401)
	}
	for _, header := range []string{
		`{"alg":"none"}`, `{"alg":"hs256"}`, `{"alg":"HS384"}`, `{"alg":"HS512"}`, `{"alg":"RS256"}`, `{"alg":"ES256"}`, `{"alg":"PS256"}`,
		`{"alg":"EdDSA"}`, `{"alg":""}`, `{"alg":null}`, `{"alg":["HS256"]}`, `{"typ":"JWT"}`, `{}`, `[]`, `null`, ``, `x`,
	} {
		a.send("GET", "/v1/vote", "", "Authorization", forge(header, true)).is(401)
	}
}

// A verified token is remembered; its expiry is not forgotten for that.
func TestRememberedTokenExpires(t *testing.T) {
	a := newAPI(t)
	header := viewer().header(t)
	a.send("GET", "/v1/vote", "", "Authorization", header).is(200)
	a.send("GET", "/v1/vote", "", "Authorization", header).is(200)
	a.skew.Store(int64(2 * time.Hour))
	a.send("GET", "/v1/vote", "", "Authorization", header).is(401)
	a.skew.Store(0)
	a.send("GET", "/v1/vote", "", "Authorization", header).is(200)
}

func TestKeyBecomesActive(t *testing.T) {
	a := newAPI(t)
	header := credential(t, nextKey, jwt.MapClaims{"exp": time.Date(2099, 1, 3, 0, 0, 0, 0, time.UTC).Unix()})
	a.send("GET", "/v1/vote", "", "Authorization", header).is(401)
	a.skew.Store(int64(time.Until(time.Date(2099, 1, 2, 0, 0, 0, 0, time.UTC))))
	a.send("GET", "/v1/vote", "", "Authorization", header).is(200)
}

// A reload drops the cache: what a removed key signed, or what an admin who is none
// any more may do, is not remembered.
func TestReloadForgetsVerifiedTokens(t *testing.T) {
	a := newAPI(t)
	old, admin := credential(t, oldKey, nil), listed().header(t)
	a.send("GET", "/v1/vote", "", "Authorization", old).is(200)
	a.send("GET", "/v1/vote_logs", "", "Authorization", admin).is(200)
	a.reload(`extensions: [{clientID: ext, ownerUserID: "1000", secrets: [{value: cHJvZHVjdGlvbi1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}]`)
	a.send("GET", "/v1/vote", "", "Authorization", old).is(401)
	a.send("GET", "/v1/vote_logs", "", "Authorization", admin).is(403)
	a.reload(`extensions: []`)
	a.send("GET", "/v1/vote", "", "Authorization", admin).is(401)
}

func TestEnvironmentsShareNothing(t *testing.T) {
	a := newAPI(t)
	production := viewer().header(t)
	box := identity{key: sandboxKey, role: "viewer", opaque: "U5", user: "5"}.header(t)
	a.send("POST", "/v1/vote", `{"value":1}`, "Authorization", production).is(200)
	a.send("POST", "/v1/viewer_state", `{"a":1}`, "Authorization", production).is(200)
	a.send("GET", "/v1/vote", "", "Authorization", box).is(401)
	a.send("GET", "/sandbox/v1/vote", "", "Authorization", production).is(401)

	got := a.send("GET", "/sandbox/v1/vote", "", "Authorization", box).is(200)
	if got.field("count") != "0" || got.field("vote") != "" {
		t.Errorf("the sandbox sees %s", got.body)
	}
	a.send("GET", "/sandbox/v1/viewer_state", "", "Authorization", box).want(200, "{}")
}

func TestExtensionsShareNothing(t *testing.T) {
	a := newAPI(t)
	other := identity{extension: "other", key: otherKey, role: "viewer", opaque: "U5", user: "5"}
	for _, id := range []string{"default", "global-1"} {
		a.as(viewer(), "POST", "/vote?id="+id, `{"value":1}`).is(200)
		if got := a.as(other, "GET", "/vote?id="+id, ""); got.field("count") != "0" {
			t.Errorf("the other extension sees %s", got.body)
		}
	}
}

// An external caller is a backend where the extension says so, and nothing more.
func TestExternalRole(t *testing.T) {
	a := newAPI(t)
	external := identity{extension: "other", key: otherKey, role: "external", opaque: "E"}
	a.as(external, "GET", "/vote_logs", "").is(200)
	a.as(external, "POST", "/config/extension", "{}").is(403)
}

// A published key signs for clients on this machine alone, also behind a proxy on it.
func TestSampleKeysAreLocal(t *testing.T) {
	a := newSampleAPI(t)
	token := owner().in("/v1").header(t)
	for _, test := range []struct {
		name, value string
		status      int
	}{
		{"X-Forwarded-For", "127.0.0.1", 200},
		{"X-Forwarded-For", "::1, 127.0.0.2", 200},
		{"X-Forwarded-For", "8.8.8.8", 401},
		{"X-Forwarded-For", "127.0.0.1, 8.8.8.8", 401},
		{"X-Forwarded-For", "10.0.0.7", 401},
		{"X-Forwarded-For", "unknown", 401},
		{"Forwarded", "for=8.8.8.8", 401},
		{"X-Other", "8.8.8.8", 200},
	} {
		got := a.send("GET", "/v1/extension_hidden_state", "", "Authorization", token, test.name, test.value)
		if got.status != test.status {
			t.Errorf("%s: %s: %d %s, want %d", test.name, test.value, got.status, got.body, test.status)
		}
	}
	own := newAPI(t)
	own.send("GET", "/v1/extension_hidden_state", "", "Authorization", owner().header(t), "X-Forwarded-For", "8.8.8.8").is(200)
}
