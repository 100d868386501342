package operation

import (
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// signedHeader returns a header for the extension ext with changed claims.
func signedHeader(t testing.TB, change func(*jwt.Token)) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"exp": time.Now().Add(time.Hour).Unix(), "role": "viewer", "channel_id": "1", "opaque_user_id": "U1",
	})
	change(token)
	signed, err := token.SignedString([]byte("production-key-of-more-than-32-bytes-0123456"))
	if err != nil {
		t.Fatal(err)
	}
	return "ext " + signed
}

func newTestVerifier(t testing.TB) *CredentialVerifier {
	t.Helper()
	registry, err := tenant.Parse([]byte(`extensions: [{clientID: ext, secrets: [{value: cHJvZHVjdGlvbi1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	return NewVerifier(tenant.Production, func() *tenant.Registry { return registry }, time.Now)
}

// A token has one spelling, so that it has one place in the cache.
func TestOtherSpellingsOfATokenAreRefused(t *testing.T) {
	v := newTestVerifier(t)
	good := signedHeader(t, func(*jwt.Token) {})
	if _, err := v.VerifyHeader(good); err != nil {
		t.Fatal(err)
	}
	signature := strings.LastIndex(good, ".") + 1
	last := good[len(good)-1]
	for name, header := range map[string]string{
		"line feed":       good[:signature+1] + "\n" + good[signature+1:],
		"carriage return": good[:signature+1] + "\r" + good[signature+1:],
		"line end":        good + "\n",
		"trailing bits":   good[:len(good)-1] + string(last+1),
		"tab":             strings.Replace(good, " ", "\t", 1),
		"no-break space":  strings.Replace(good, " ", "\u00a0", 1),
		"too long": signedHeader(t, func(token *jwt.Token) {
			token.Claims.(jwt.MapClaims)["more"] = strings.Repeat("x", contract.MaxCredential)
		}),
		"crit": signedHeader(t, func(token *jwt.Token) { token.Header["crit"] = []string{"exp"} }),
	} {
		if _, err := v.VerifyHeader(header); err == nil {
			t.Errorf("%s: %.40q… is accepted", name, header)
		}
	}
}

// Verifying alone costs no memory that lasts: the limiter has to admit the caller first.
func TestOnlyAdmittedCredentialsAreCached(t *testing.T) {
	v := newTestVerifier(t)
	good := signedHeader(t, func(*jwt.Token) {})
	verified, err := v.VerifyHeader(good)
	if err != nil {
		t.Fatal(err)
	}
	if n := v.currentGeneration().verified.Len(); n != 0 {
		t.Errorf("%d credentials are cached before their callers are admitted", n)
	}
	verified.cache()
	again, err := v.VerifyHeader(good)
	if err != nil || again.Caller != verified.Caller || again.into != nil {
		t.Errorf("an admitted credential is verified again: %+v, %v", again, err)
	}
}

func TestDoubledClaimsAreRefused(t *testing.T) {
	for payload, want := range map[string]bool{
		`{"exp":1,"role":"viewer"}`:             true,
		`{"exp":1,"exp":9999999999}`:            false,
		`{"role":"viewer","r\u006fle":"admin"}`: false,
		`{"a":{"exp":1},"exp":2}`:               true,
	} {
		if _, err := parseClaims([]byte(payload)); (err == nil) != want {
			t.Errorf("%s: %v", payload, err)
		}
	}
}
