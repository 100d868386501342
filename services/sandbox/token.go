// Package sandbox is the domain of test tokens: which identities a request of the
// authtoken route names and the content of their tokens (section 4.6). The token
// command issues its tokens through it too.
//
// The package may not know HTTP or a database, has no clock of its own and
// imports no other domain. It signs, but never chooses a key.
package sandbox

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf16"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// UnconfirmedGame is the role of a token that a game gets without a credential. The token has no
// rights at the streaming platform, and here those of a broadcaster once one has confirmed it.
const UnconfirmedGame = "game"

// Grant is the content of a token.
type Grant struct {
	ExtensionID string
	ChannelID   string
	Role        string
	OpaqueID    string
	UserID      string // empty: not shared
	Stage       string // environment in which the token is valid
	// Family names the pairing that the token hangs on; empty: none.
	Family string
	// Game names the game of a family that the token hangs on; empty: none.
	Game string
	// KeyID names the overlay key or the staff key that the token is; empty: none.
	KeyID string
	// Lifetime is [contract.SandboxTokenLifetime] where it is 0.
	Lifetime time.Duration
}

// NewAnonymousID returns a new opaque id of a viewer that is not logged in.
func NewAnonymousID() string { return "A" + rand.Text()[:16] }

// UserOpaqueID returns the opaque id of a user.
func UserOpaqueID(userID string) string { return "U" + userID }

// claims is the payload of a token. Its encoding is plain ASCII and, in
// base64url, free of '-' and '_', because browser clients decode it with atob.
type claims struct {
	jwt.RegisteredClaims
	Role        string       `json:"role"`
	ChannelID   string       `json:"channel_id"`
	OpaqueID    string       `json:"opaque_user_id"`
	UserID      string       `json:"user_id,omitempty"`
	ExtensionID string       `json:"extension_id"`
	IsUnlinked  bool         `json:"is_unlinked"`
	PubsubPerms *permissions `json:"pubsub_perms,omitempty"`
	Stage       string       `json:"allowed_stage"`
	Family      string       `json:"pin_family,omitempty"`
	Game        string       `json:"pin_game,omitempty"`
	KeyID       string       `json:"key_id,omitempty"`
}

// permissions are the event targets of a token's holder.
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

// IssueToken signs a token for the grant that expires its lifetime after now.
func IssueToken(g Grant, secret []byte, now time.Time) (string, error) {
	perms := &permissions{Listen: []string{contract.TargetBroadcast, contract.TargetGlobal, contract.TargetWhisper + g.OpaqueID}, Send: []string{}}
	if g.Role != "viewer" && g.KeyID == "" {
		perms.Send = []string{contract.TargetBroadcast}
	}
	if g.Role == UnconfirmedGame {
		perms = nil
	}
	return jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		RegisteredClaims: jwt.RegisteredClaims{ExpiresAt: jwt.NewNumericDate(now.Add(cmp.Or(g.Lifetime, contract.SandboxTokenLifetime)))},
		Role:             g.Role,
		ChannelID:        g.ChannelID,
		OpaqueID:         g.OpaqueID,
		UserID:           g.UserID,
		ExtensionID:      g.ExtensionID,
		IsUnlinked:       g.UserID == "",
		PubsubPerms:      perms,
		Stage:            g.Stage,
		Family:           g.Family,
		Game:             g.Game,
		KeyID:            g.KeyID,
	}).SignedString(secret)
}
