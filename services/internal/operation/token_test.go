package operation

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// The headers that are not decoded are those that they seem to be.
func TestUsualTokenHeaders(t *testing.T) {
	for segment, want := range map[string]string{algorithmFirst: `{"alg":"HS256","typ":"JWT"}`, typeFirst: `{"typ":"JWT","alg":"HS256"}`} {
		if header, err := decodeSegment(segment); err != nil || string(header) != want {
			t.Errorf("%s is %s, %v, want %s", segment, header, err, want)
		}
	}
}

// Of each character, a header may have it in a token or not, and one space.
func TestCharactersOfCredentials(t *testing.T) {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
	for c := range 256 {
		text := string([]byte{byte(c)})
		for header, want := range map[string]bool{
			"ext " + text + "A": strings.Contains(allowed, text),
			text + "ext A.B.C":  strings.Contains(allowed, text),
			"ext" + text + "A":  c == ' ',
			"ext A" + text:      strings.Contains(allowed, text),
		} {
			if got := isWellFormed(header); got != want {
				t.Errorf("%q: %t", header, got)
			}
		}
	}
}

// Tokens are accepted as the library's parser accepts them, but for claims of other names or
// types, which it accepts.
func TestTokensAreVerifiedAsByTheLibrary(t *testing.T) {
	v := newTestVerifier(t)
	key := []byte("production-key-of-more-than-32-bytes-0123456")
	library := jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired(), jwt.WithStrictDecoding(), jwt.WithTimeFunc(v.now))
	segment := base64.RawURLEncoding.EncodeToString
	sign := func(header, claims string) string {
		signed := segment([]byte(header)) + "." + segment([]byte(claims))
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(signed))
		return signed + "." + segment(mac.Sum(nil))
	}
	const good = `{"alg":"HS256","typ":"JWT"}`
	now := time.Now().Unix()
	claims := func(more string) string {
		return fmt.Sprintf(`{"role":"viewer","channel_id":"1","opaque_user_id":"U1"%s}`, more)
	}
	soon := claims(fmt.Sprintf(`,"exp":%d`, now+600))
	token := sign(good, soon)
	parts := strings.Split(token, ".")
	tokens := map[string]string{
		"good": token, "empty": "", "dots": "..", "one part": parts[0], "two parts": parts[0] + "." + parts[1],
		"four parts": token + "." + parts[2], "a dot before": "." + token, "no signature": parts[0] + "." + parts[1] + ".",
		"cut signature": token[:len(token)-2], "other claims": parts[0] + "." + segment([]byte(claims(`,"exp":9999999999`))) + "." + parts[2],
		"padding": parts[0] + "." + parts[1] + "=." + parts[2],
	}
	for _, header := range []string{
		`{"alg":"none"}`, `{"alg":"HS384"}`, `{"alg":"hs256"}`, `{"alg":null}`, `{"alg":256}`, `{}`, `null`, `[]`, `{"alg":"HS256"`,
		`{"alg":"none","alg":"HS256"}`, `{"alg":"HS256","alg":"none"}`, `{"ALG":"HS256"}`, ` {"alg":"HS\u003256","kid":{"a":[]}} `, "",
	} {
		tokens["header "+header] = sign(header, soon)
	}
	for _, more := range []string{
		``, `,"exp":null`, `,"exp":[]`, fmt.Sprintf(`,"exp":%d`, now-1), fmt.Sprintf(`,"exp":%d.5`, now+1),
		fmt.Sprintf(`,"exp":%d.0e0`, now+600), `,"exp":0`, `,"exp":-1`, fmt.Sprintf(`,"exp":%d,"nbf":%d`, now+600, now+300),
		fmt.Sprintf(`,"exp":%d,"nbf":%d`, now+600, now-300),
	} {
		tokens["claims "+more] = sign(good, claims(more))
	}
	accepted := 0
	for name, token := range tokens {
		_, libraryErr := library.ParseWithClaims(token, &jwt.RegisteredClaims{}, func(*jwt.Token) (any, error) { return key, nil })
		_, err := v.parseHeader("ext " + token)
		if (err == nil) != (libraryErr == nil) {
			t.Errorf("%s: %v, and the library says %v", name, err, libraryErr)
		}
		if err == nil {
			accepted++
		}
	}
	for _, more := range []string{`,"exp":"9999999999"`, `,"exp":9999999999,"nbf":"1"`, `,"EXP":9999999999`} {
		if _, err := v.parseHeader("ext " + sign(good, claims(more))); err == nil {
			t.Errorf("claims of another name or type are accepted: %s", more)
		}
	}
	if accepted < 5 {
		t.Errorf("only %d tokens are accepted", accepted)
	}
}
