package operation

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// verifyToken returns the claims of a JWT and the one of the secrets that has signed it. Each
// token has one spelling, and nothing of it is decoded before its signature is verified but the
// header. It does not use [jwt.Parser], which decodes the claims twice and does not say which
// secret it was.
func verifyToken(token string, secrets []tenant.Secret) (claims []byte, signer tenant.Secret, err error) {
	end := strings.LastIndexByte(token, '.')
	header, payload, ok := strings.Cut(token[:max(end, 0)], ".")
	if !ok {
		return nil, signer, jwt.ErrTokenMalformed
	}
	if err := checkTokenHeader(header); err != nil {
		return nil, signer, err
	}
	signature, err := decodeSegment(token[end+1:])
	if err != nil {
		return nil, signer, err
	}
	for _, signer := range secrets {
		if signer.HasSigned(token[:end], signature) {
			claims, err = decodeSegment(payload)
			return claims, signer, err
		}
	}
	return nil, signer, jwt.ErrTokenSignatureInvalid
}

// The headers {"alg":"HS256","typ":"JWT"} and {"typ":"JWT","alg":"HS256"} of nearly all tokens.
const (
	algorithmFirst = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
	typeFirst      = "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9"
)

// checkTokenHeader refuses a header of another algorithm, or with extensions of JOSE that a
// recipient must understand.
func checkTokenHeader(segment string) error {
	if segment == algorithmFirst || segment == typeFirst {
		return nil
	}
	header, err := decodeSegment(segment)
	if err != nil {
		return err
	}
	o := DecodeObject(header)
	switch algorithm := o.Text("alg"); {
	case o.Err != nil:
		return jwt.ErrTokenMalformed
	case algorithm != jwt.SigningMethodHS256.Alg():
		return jwt.ErrTokenUnverifiable
	case o.Has("crit"):
		return flaw("the token demands an extension of JOSE")
	}
	return nil
}

// decodeSegment decodes a part of a token, which has one spelling.
func decodeSegment(segment string) ([]byte, error) {
	return base64.RawURLEncoding.Strict().DecodeString(segment)
}

// tokenClaims holds the claims of the contract's tokens.
type tokenClaims struct {
	jwt.RegisteredClaims
	Role, ChannelID, OpaqueUserID, UserID string
	Unlinked                              bool
	// Family and Game are the pairing and the game that the token hangs on.
	Family, Game string
	// KeyID is the overlay key or the staff key that the token is.
	KeyID string
	// Weight counts each vote of the holder so often, 1 without the claim.
	Weight int64
	// Claims for which empty and missing differ.
	ExtensionID, AllowedStage *string
}

// parseClaims reads claims as strictly as a body: by their exact names and types, and each once.
// Other claims may have any type.
func parseClaims(payload []byte) (tokenClaims, error) {
	o := DecodeObject(payload)
	if o.members.HasDoubled() {
		o.failDecoding()
	}
	unlinked, _ := o.raw("is_unlinked")
	c := tokenClaims{
		RegisteredClaims: jwt.RegisteredClaims{ExpiresAt: o.date("exp"), NotBefore: o.date("nbf")},
		Role:             o.Text("role"),
		ChannelID:        o.Text("channel_id"),
		OpaqueUserID:     o.Text("opaque_user_id"),
		UserID:           o.Text("user_id"),
		Unlinked:         string(unlinked) == "true",
		Family:           o.Text("pin_family"),
		Game:             o.Text("pin_game"),
		KeyID:            o.Text("key_id"),
		Weight:           o.Integer("vote_weight", 1),
		ExtensionID:      o.optionalText("extension_id"),
		AllowedStage:     o.optionalText("allowed_stage"),
	}
	return c, o.Err
}

// optionalText returns the string member of that name, nil when there is none.
func (o *Object) optionalText(name string) *string {
	if !o.Has(name) {
		return nil
	}
	s := o.Text(name)
	return &s
}

// date returns the time of that name in Unix seconds, nil when there is none.
func (o *Object) date(name string) *jwt.NumericDate {
	raw, ok := o.raw(name)
	if !ok {
		return nil
	}
	if seconds, err := strconv.ParseInt(string(raw), 10, 54); err == nil { // as most are; a double has it exactly
		return jwt.NewNumericDate(time.Unix(seconds, 0))
	}
	var date jwt.NumericDate
	if raw[0] == '"' || json.Unmarshal(raw, &date) != nil {
		o.failDecoding()
	}
	return &date
}
