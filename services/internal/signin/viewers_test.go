package signin_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/services/internal/signin"
)

// viewersWorld is a verifier of viewers, an issuer, and a clock that the test sets.
type viewersWorld struct {
	*testing.T
	*issuer
	viewers *signin.Viewers
	began   time.Time
	passed  time.Duration
}

func newViewersWorld(t *testing.T) *viewersWorld {
	w := &viewersWorld{T: t, issuer: newIssuer(t), began: time.Now()}
	w.viewers = signin.NewViewers(signin.NewClient(http.DefaultTransport, w.now), slog.New(slog.DiscardHandler))
	return w
}

func (w *viewersWorld) now() time.Time { return w.began.Add(w.passed) }

func (w *viewersWorld) pass(d time.Duration) { w.passed += d }

func (w *viewersWorld) refresh() {
	w.Helper()
	w.viewers.Refresh(w.Context(), []string{w.URL, w.URL})
}

func (w *viewersWorld) claims() jwt.MapClaims {
	return jwt.MapClaims{"iss": w.URL, "aud": "votes", "sub": "248", "exp": w.now().Add(time.Minute).Unix()}
}

func (w *viewersWorld) verify(token string) (string, error) {
	subject, _, err := w.viewers.Verify(w.URL, "votes", token)
	return subject, err
}

// signed returns a good token by the RSA key of the issuer.
func (w *viewersWorld) signed() string {
	w.Helper()
	return signWith(w.T, jwt.SigningMethodRS256, "r", w.claims(), w.rsa)
}

func (w *viewersWorld) accepts(token string) {
	w.Helper()
	if subject, err := w.verify(token); err != nil || subject != "248" {
		w.Errorf("a good token is of %q, %v", subject, err)
	}
}

func (w *viewersWorld) refuses(name, token string) {
	w.Helper()
	if subject, err := w.verify(token); err == nil {
		w.Errorf("%s is accepted, of %q", name, subject)
	}
}

func TestViewers(t *testing.T) {
	w := newViewersWorld(t)
	w.failing.Store(true)
	w.refresh()
	if _, err := w.verify(w.signed()); !errors.Is(err, signin.ErrNoKeys) {
		t.Errorf("a token before the keys are known: %v", err)
	}
	w.failing.Store(false)
	w.pass(time.Minute)
	w.refresh()
	if _, expires, err := w.viewers.Verify(w.URL, "votes", w.signed()); err != nil || expires.Unix() != w.now().Add(time.Minute).Unix() {
		t.Errorf("a good token ends at %v, %v", expires, err)
	}
	w.accepts(signWith(t, jwt.SigningMethodEdDSA, "e", w.claims(), w.edwards))
	w.viewers.Refresh(t.Context(), nil)
	w.refuses("a token of an issuer that the registry no longer names", w.signed())
}

// Nothing but a key of the issuer, with the algorithm of that key, verifies a viewer.
func TestAttacksOnViewers(t *testing.T) {
	w := newViewersWorld(t)
	w.refresh()
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&w.rsa.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	with := func(name string, value any) jwt.MapClaims {
		c := w.claims()
		c[name] = value
		return c
	}
	rs256 := func(c jwt.MapClaims) string { return signWith(t, jwt.SigningMethodRS256, "r", c, w.rsa) }
	hs256 := func(secret []byte) string { return signWith(t, jwt.SigningMethodHS256, "r", w.claims(), secret) }
	parties := with("azp", "another")
	parties["aud"] = []string{"votes", "another"}
	for name, token := range map[string]string{
		"another audience":             rs256(with("aud", "another")),
		"no audience":                  rs256(with("aud", []string{})),
		"a token for another's use":    rs256(parties),
		"another issuer":               rs256(with("iss", "https://another.example")),
		"no issuer":                    rs256(with("iss", nil)),
		"an expired token":             rs256(with("exp", w.now().Add(-time.Second).Unix())),
		"a token without an end":       rs256(with("exp", nil)),
		"a token of later":             rs256(with("nbf", w.now().Add(time.Hour).Unix())),
		"a token of no person":         rs256(with("sub", "")),
		"algorithm none":               signWith(t, jwt.SigningMethodNone, "r", w.claims(), jwt.UnsafeAllowNoneSignatureType),
		"another key":                  signWith(t, jwt.SigningMethodRS256, "r", w.claims(), other),
		"the symmetric key of the set": hs256([]byte("symmetric")),
		"the public key as a secret":   hs256(public),
		"the public key's text":        hs256(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})),
		"the modulus as a secret":      hs256(w.rsa.N.Bytes()),
		"the Edwards key as a secret":  hs256(w.edwards.Public().(ed25519.PublicKey)),
		"RS384, which is not pinned":   signWith(t, jwt.SigningMethodRS384, "r", w.claims(), w.rsa),
		"PS256, which is not pinned":   signWith(t, jwt.SigningMethodPS256, "r", w.claims(), w.rsa),
		"ES256, which is not pinned":   signWith(t, jwt.SigningMethodES256, "p", w.claims(), ellipticKey(t)),
		"a cut signature":              w.signed()[:len(w.signed())-4],
		"no token":                     "",
		"a text":                       "x.y.z",
	} {
		w.refuses(name, token)
	}
	w.accepts(w.signed())
}

func ellipticKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// No token makes the program ask an issuer. Keys come and go on the schedule.
func TestKeysOfViewersRotate(t *testing.T) {
	w := newViewersWorld(t)
	w.refresh()
	asked := w.asked.Load()
	old := w.rsa
	var err error
	if w.rsa, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	after := signWith(t, jwt.SigningMethodRS256, "next", w.claims(), w.rsa)
	w.refuses("a token of a key that is not known yet", after)
	w.pass(9 * time.Minute)
	w.refresh()
	if w.asked.Load() != asked {
		t.Error("the issuer is asked before its time")
	}
	w.accepts(signWith(t, jwt.SigningMethodRS256, "r", w.claims(), old))
	w.pass(time.Minute)
	w.refresh()
	w.accepts(signWith(t, jwt.SigningMethodRS256, "next", w.claims(), w.rsa))
	w.refuses("a token of a key that the issuer has removed", signWith(t, jwt.SigningMethodRS256, "r", w.claims(), old))
	if w.asked.Load() == asked {
		t.Error("the issuer was not asked again")
	}
}

// While an issuer fails, its keys stay for a day, and it is asked once a minute.
func TestIssuersOfViewersFail(t *testing.T) {
	w := newViewersWorld(t)
	w.refresh()
	w.failing.Store(true)
	w.pass(10 * time.Minute)
	w.refresh()
	asked := w.asked.Load()
	w.refresh()
	if w.asked.Load() != asked {
		t.Error("an issuer that fails is asked again at once")
	}
	w.accepts(w.signed())
	w.pass(24 * time.Hour)
	w.refuses("a token a day after the keys were fetched", w.signed())
	w.refresh()
	w.failing.Store(false)
	w.pass(time.Minute)
	w.refresh()
	w.accepts(w.signed())
}

// An answer that is not one with keys leaves no keys, and reaches no other address.
func TestKeysOfViewersAreBounded(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the program was sent to another address") }))
	defer elsewhere.Close()
	encode := base64.RawURLEncoding.EncodeToString
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	w := newViewersWorld(t)
	for name, keys := range map[string]any{
		"redirect":             nil,
		"no keys":              []any{},
		"a symmetric key":      []any{map[string]string{"kty": "oct", "k": encode([]byte("symmetric"))}},
		"a short key":          []any{map[string]string{"kty": "RSA", "n": encode(small.N.Bytes()), "e": encode(big.NewInt(int64(small.E)).Bytes())}},
		"a key for encryption": []any{map[string]string{"kty": "OKP", "crv": "Ed25519", "use": "enc", "x": encode(make([]byte, 32))}},
		"many keys": func() (many []any) {
			for i := range 33 {
				many = append(many, map[string]string{"kty": "OKP", "crv": "Ed25519", "kid": fmt.Sprint(i), "x": encode(make([]byte, 32))})
			}
			return many
		}(),
	} {
		w.serveKeys(func(rw http.ResponseWriter, r *http.Request) {
			if keys == nil {
				http.Redirect(rw, r, elsewhere.URL, http.StatusFound)
				return
			}
			answer(rw, map[string]any{"keys": keys})
		})
		w.pass(time.Minute) // after a failure
		asked := w.asked.Load()
		if w.refresh(); w.asked.Load() == asked {
			t.Errorf("%s: the issuer was not asked", name)
		}
		w.refuses(name, w.signed())
		w.refuses(name, signWith(t, jwt.SigningMethodHS256, "", w.claims(), []byte("symmetric")))
	}
}
