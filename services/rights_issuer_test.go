package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// rightsIssuer is an OpenID Connect issuer of viewers.
type rightsIssuer struct {
	*httptest.Server
	key ed25519.PrivateKey
}

func newRightsIssuer(t *testing.T) *rightsIssuer {
	t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	i := &rightsIssuer{key: key}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { // a description with the keys
		_ = json.NewEncoder(w).Encode(map[string]any{ // to a program that reads it
			"issuer": i.URL, "jwks_uri": i.URL,
			"keys": []map[string]string{{"kty": "OKP", "crv": "Ed25519", "x": base64.RawURLEncoding.EncodeToString(public)}},
		})
	}))
	t.Cleanup(i.Close)
	return i
}

// header returns the credential of a viewer of a channel. The token claims the rights of an admin.
func (i *rightsIssuer) header(channel string) string {
	claims := jwt.MapClaims{
		"iss": i.URL, "aud": "votes", "sub": "ada", "exp": time.Now().Add(time.Hour).Unix(),
		"role": "admin", "user_id": "1000", "channel_id": "2", "opaque_user_id": "U1000",
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims).SignedString(i.key)
	if err != nil {
		panic(err) // claims always encode
	}
	return "OIDC main/" + channel + "/" + token
}

// awaitIssuer waits until each service has fetched the keys of the issuer.
func (w *rightsWorld) awaitIssuer() {
	w.Helper()
	for _, request := range []struct{ method, target string }{
		{http.MethodGet, "/user_info"}, {http.MethodGet, "/vote"}, {http.MethodGet, "/rank_config"}, {http.MethodPost, "/accumulate?id=awaited"},
	} {
		w.await(func() bool {
			status, _ := w.call("production", request.method, request.target, w.issuer.header("1"), "{}")
			return status != http.StatusUnauthorized
		})
	}
}
