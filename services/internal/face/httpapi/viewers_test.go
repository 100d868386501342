package httpapi_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/signin"
)

const viewersRegistry = `
- clientID: OIDC
  ownerUserID: "1000"
  secrets: [{value: b2lkYy1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM=}]
  viewerIssuers:
  - {issuer: https://id.example, audience: votes, channels: ["77"]}
  - {issuer: https://school.example, audience: votes, channels: ["77", "88"]}
`

// madeUp are issuers whose tokens are texts. Package signin verifies those of real ones.
type madeUp struct{ end time.Time }

func (v madeUp) Verify(issuer, audience, token string) (string, time.Time, error) {
	subject, ok := map[string]string{
		"https://id.example votes id.ada": "ada", "https://id.example votes id.grace": "grace", "https://school.example votes school.ada": "ada",
	}[issuer+" "+audience+" "+token]
	if !ok {
		return "", time.Time{}, errors.New("refused")
	}
	return subject, v.end, nil
}

// unread are issuers whose keys have not been fetched, but for one.
type unread struct{ madeUp }

func (v unread) Verify(issuer, audience, token string) (string, time.Time, error) {
	if issuer == "https://school.example" {
		return "", time.Time{}, signin.ErrNoKeys
	}
	return v.madeUp.Verify(issuer, audience, token)
}

// While the keys of an issuer are not known, a credential may be good, and its holder asks again.
func TestViewersOfAnIssuerThatIsNotRead(t *testing.T) {
	a := newAPI(t, func(s *apiSettings) { s.Viewers = unread{madeUp{time.Now().Add(time.Hour)}} })
	a.reload(registryFile + viewersRegistry)
	for credential, status := range map[string]int{"OIDC/77/id.ada": 200, "OIDC/77/school.ada": 503, "OIDC/88/school.ada": 503, "OIDC/99/school.ada": 401} {
		if got := a.ofIssuer(credential)("GET", "/vote", ""); got.status != status || (got.header.Get("Retry-After") != "") != (status == 503) {
			t.Errorf("%s: %d, Retry-After %q", credential, got.status, got.header.Get("Retry-After"))
		}
	}
}

func newViewersAPI(t *testing.T) *api {
	a := newAPI(t, func(s *apiSettings) { s.Viewers = madeUp{time.Now().Add(time.Hour)} })
	a.reload(registryFile + viewersRegistry)
	return a
}

// ofIssuer returns what sends requests of an issuer's viewer.
func (a *api) ofIssuer(credential string) func(method, path, body string) answer {
	return a.with("OIDC " + credential)
}

func TestViewersOfIssuers(t *testing.T) {
	a := newViewersAPI(t)
	ada := a.ofIssuer("OIDC/77/id.ada")
	ada("POST", "/vote?id=p", `{"value":1}`).is(200)
	ada("POST", "/vote?id=p", `{"value":2}`).is(200)
	if got := a.ofIssuer("OIDC/77/id.grace")("POST", "/vote?id=p", `{"value":2}`).is(200).field("count"); got != "2" {
		t.Errorf("two viewers have %s votes", got)
	}
	if got := a.ofIssuer("OIDC/77/school.ada")("POST", "/vote?id=p", `{"value":2}`).is(200).field("count"); got != "3" {
		t.Errorf("the same subject at two issuers is one viewer: %s votes", got)
	}
	if got := a.ofIssuer("OIDC/88/school.ada")("GET", "/vote?id=p", "").is(200).field("count"); got != "0" {
		t.Errorf("another channel has %s votes", got)
	}
	backend := identity{extension: "OIDC", key: "oidc-key-of-more-than-32-bytes-0123", role: "backend", opaque: "B"}
	log := a.with(backend.header(t))("GET", "/vote_logs?id=p", "").is(200).body
	if strings.Count(log, `"opaque":"O`) != 4 || strings.Contains(log, `"user"`) || strings.Contains(log, `"ada"`) {
		t.Errorf("the log has the viewers as %s", log)
	}
	a.with(backend.header(t))("POST", "/vote_config", `{"id":"accounts","config":{"loggedInOnly":true}}`).is(200)
	ada("POST", "/vote?id=accounts", `{"value":1}`).is(400)
	ada("GET", "/events", "").is(200)
}

// A channel and an issuer go together only where the registry says so, in production and while the token
// is good.
func TestAttacksOnViewersOfIssuers(t *testing.T) {
	a := newViewersAPI(t)
	good := "OIDC OIDC/77/id.ada"
	a.with(good)("GET", "/vote", "").is(200)
	for name, header := range map[string]string{
		"a channel that the issuer is not listed for": "OIDC OIDC/88/id.ada",
		"a channel that no issuer is listed for":      "OIDC OIDC/99/id.ada",
		"no channel":                                  "OIDC OIDC//id.ada",
		"another extension":                           "OIDC ext/77/id.ada",
		"no extension":                                "OIDC none/77/id.ada",
		"a token of no issuer":                        "OIDC OIDC/77/x.y.z",
		"no token":                                    "OIDC OIDC/77/",
		"a further part":                              "OIDC OIDC/77/id.ada/x",
		"one part less":                               "OIDC OIDC/id.ada",
		"the scheme in small letters":                 "oidc OIDC/77/id.ada",
		"a token of an issuer alone":                  "OIDC id.ada",
		"a line break":                                "OIDC OIDC/77/id\n.ada",
		"a long token":                                "OIDC OIDC/77/" + strings.Repeat("x", 4096),
		"the mark of a device":                        "OIDC OIDC/77/device.id.ada",
		"the scheme before a credential":              "OIDC " + viewer().header(t),
	} {
		if got := a.send("GET", "/v1/vote", "", "Authorization", header); got.status != 401 {
			t.Errorf("%s: %d", name, got.status)
		}
	}
	a.send("GET", "/sandbox/v1/vote", "", "Authorization", good).is(401)

	// Under each scheme the other's tokens are worth nothing.
	owner := identity{extension: "OIDC", key: "oidc-key-of-more-than-32-bytes-0123", role: "admin", opaque: "U1000", user: "1000"}.header(t)
	a.with(owner)("GET", "/vote_logs", "").is(200)
	_, token, _ := strings.Cut(owner, " ")
	a.ofIssuer("OIDC/77/"+token)("GET", "/vote", "").is(401)
	a.send("GET", "/v1/vote", "", "Authorization", "OIDC id.ada").is(401)

	a.skew.Store(int64(time.Hour))
	a.with(good)("GET", "/vote", "").is(401)
	a.skew.Store(0)
	a.reload(registryFile + strings.Replace(viewersRegistry, `audience: votes, channels: ["77"]`, `audience: votes, channels: ["78"]`, 1))
	a.with(good)("GET", "/vote", "").is(401)
}

// A token that is good for longer than the extension allows is refused.
func TestLongTokensOfIssuers(t *testing.T) {
	a := newAPI(t, func(s *apiSettings) { s.Viewers = madeUp{time.Now().Add(721 * time.Hour)} })
	a.reload(registryFile + viewersRegistry)
	a.ofIssuer("OIDC/77/id.ada")("GET", "/vote", "").is(401)
}

// A viewer of an issuer may do what viewers may, and nothing more, on every route.
func TestRightsOfViewersOfIssuers(t *testing.T) {
	a := newViewersAPI(t)
	tried := 0
	for _, o := range operation.Table() {
		if o.Public || strings.Contains(o.Audience(), "viewer") {
			continue
		}
		for _, path := range o.Paths {
			tried++
			a.ofIssuer("OIDC/77/id.ada")(o.Method, path, `{}`).refused(403, refusedRole)
		}
	}
	if tried < 20 {
		t.Errorf("%d routes are tried", tried)
	}
}

// What an issuer writes into a token beside the subject counts for nothing, as does the text of an
// extension's token that an issuer signs.
func TestClaimsOfIssuersAreIgnored(t *testing.T) {
	encode := base64.RawURLEncoding.EncodeToString
	forged := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode([]byte(`{"sub":"ada","role":"admin","user_id":"1000","channel_id":"88","opaque_user_id":"U1000","key_id":"k"}`)) + ".x"
	a := newAPI(t, func(s *apiSettings) { s.Viewers = forgedAt{forged} })
	a.reload(registryFile + viewersRegistry)
	mallory := a.ofIssuer("OIDC/77/" + forged)
	mallory("POST", "/vote?id=p", `{"value":1}`).is(200)
	mallory("GET", "/vote_logs?id=p", "").refused(403, refusedRole)
	mallory("DELETE", "/vote?id=p", "").refused(403, refusedRole)
	mallory("POST", "/staff_keys", `{"name":"x","scopes":["polls"]}`).refused(403, refusedRole)
	if got := mallory("GET", "/user_info", "").is(200); got.field("registered") != "false" || strings.Contains(got.body, "user_id") {
		t.Errorf("the caller is %s", got.body)
	}
	a.send("GET", "/v1/vote", "", "Authorization", "OIDC "+forged).is(401)
	a.send("GET", "/v1/vote", "", "Authorization", "ext "+forged).is(401)

	// The key of an extension makes no viewer of an issuer, nor the other way round.
	claims := jwt.MapClaims{"iss": "https://id.example", "aud": "votes", "sub": "ada", "exp": time.Now().Add(time.Minute).Unix()}
	a.ofIssuer("OIDC/77/"+sign(t, jwt.SigningMethodHS256, claims, []byte("oidc-key-of-more-than-32-bytes-0123")))("GET", "/vote", "").is(401)
}

// forgedAt knows the subject of one token.
type forgedAt struct{ token string }

func (f forgedAt) Verify(_, _, token string) (string, time.Time, error) {
	if token != f.token {
		return "", time.Time{}, errors.New("refused")
	}
	return "ada", time.Now().Add(time.Minute), nil
}
