package client

import (
	"cmp"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Credentials returns values of the header Authorization, the best one first. The client
// tries the next one where the service answers 401: while keys are rotated, it may not know
// the newest yet.
type Credentials func() ([]string, error)

// UseToken returns the credentials of a caller that has a value of the header Authorization,
// such as an overlay key or what `acclaim token` prints.
func UseToken(value string) Credentials {
	return func() ([]string, error) { return []string{value}, nil }
}

// tokenLifetime is long enough for a service whose clock is ten minutes ahead. One whose
// clock is behind accepts a token at once: it has no time at which it begins.
const tokenLifetime = 15 * time.Minute

// Signer signs tokens as an extension's back end does. A subscription ends with its token
// and begins again with another one.
type Signer struct {
	ClientID string           // of the extension
	Keys     [][]byte         // of the extension, decoded
	Role     string           // default backend
	Channel  string           // empty for the whole extension
	UserID   string           // needed by the roles broadcaster and admin
	Now      func() time.Time // default [time.Now]
}

// Credentials signs one token with each key.
func (s Signer) Credentials() (values []string, err error) {
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	claims := jwt.MapClaims{
		"exp":          now().Add(tokenLifetime).Unix(),
		"role":         cmp.Or(s.Role, "backend"),
		"channel_id":   s.Channel,
		"extension_id": s.ClientID,
	}
	if s.UserID != "" {
		claims["user_id"] = s.UserID
	}
	for _, key := range s.Keys {
		token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(key)
		if err != nil {
			return nil, err
		}
		values = append(values, s.ClientID+" "+token)
	}
	return values, nil
}
