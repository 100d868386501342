// Package sandbox is the domain of test tokens: which identities a request of
// the authtoken route asks for and what their tokens say (section 4.6). The
// token command issues its tokens through it too.
//
// The package may not know HTTP or a database, has no clock of its own and
// imports no other domain. It signs, but never chooses a key.
package sandbox

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf16"

	"github.com/golang-jwt/jwt/v5"
)

// Lifetime is how long a token is good.
const Lifetime = 30 * time.Minute

// Grant is what a token says of its holder.
type Grant struct {
	ExtensionID string
	ChannelID   string
	Role        string
	OpaqueID    string
	UserID      string // empty: not shared
	Stage       string // environment in which the token is valid
}

// Anonymous returns a new opaque id of a viewer that is not logged in.
func Anonymous() string { return "A" + rand.Text()[:16] }

// LoggedIn returns the opaque id of a user.
func LoggedIn(userID string) string { return "U" + userID }

// claims is the payload of a token. Its encoding is plain ASCII and, in
// base64url, free of '-' and '_', because browser clients decode it with atob.
type claims struct {
	jwt.RegisteredClaims
	Role        string      `json:"role"`
	ChannelID   string      `json:"channel_id"`
	OpaqueID    string      `json:"opaque_user_id"`
	UserID      string      `json:"user_id,omitempty"`
	ExtensionID string      `json:"extension_id"`
	IsUnlinked  bool        `json:"is_unlinked"`
	PubsubPerms permissions `json:"pubsub_perms"`
	Stage       string      `json:"allowed_stage"`
}

// permissions are the event targets of a holder.
type permissions struct {
	Listen []string `json:"listen"`
	Send   []string `json:"send"`
}

// MarshalJSON writes '>', '?', '~' and all that is not printable ASCII as JSON
// escapes. In base64 an ASCII byte can only make one of the last two letters of
// the alphabet by its low six bits, and only those characters have such bits.
func (c claims) MarshalJSON() ([]byte, error) {
	type plain claims
	encoded, err := json.Marshal(plain(c))
	if err != nil {
		return nil, err
	}
	safe := make([]byte, 0, len(encoded))
	for _, r := range string(encoded) {
		switch {
		case r == '>' || r == '?' || r >= '~' && r <= 0xFFFF:
			safe = fmt.Appendf(safe, `\u%04x`, r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			safe = fmt.Appendf(safe, `\u%04x\u%04x`, high, low)
		default:
			safe = append(safe, byte(r))
		}
	}
	return safe, nil
}

// Issue signs a token for the grant that expires Lifetime after now.
func Issue(g Grant, secret []byte, now time.Time) (string, error) {
	perms := permissions{Listen: []string{"broadcast", "global", "whisper-" + g.OpaqueID}, Send: []string{}}
	if g.Role != "viewer" {
		perms.Send = []string{"broadcast"}
	}
	return jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		RegisteredClaims: jwt.RegisteredClaims{ExpiresAt: jwt.NewNumericDate(now.Add(Lifetime))},
		Role:             g.Role,
		ChannelID:        g.ChannelID,
		OpaqueID:         g.OpaqueID,
		UserID:           g.UserID,
		ExtensionID:      g.ExtensionID,
		IsUnlinked:       g.UserID == "",
		PubsubPerms:      perms,
		Stage:            g.Stage,
	}).SignedString(secret)
}
