package harness

import (
	"maps"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Sign returns the value of an Authorization header for an extension: a token with the claims,
// which is good for an hour unless they say otherwise.
func Sign(extension string, key []byte, claims jwt.MapClaims) (string, error) {
	all := jwt.MapClaims{"exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(all, claims)
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, all).SignedString(key)
	return extension + " " + token, err
}
