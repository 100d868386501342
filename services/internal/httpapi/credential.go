package httpapi

import (
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// cachedCredentials is how many verified credentials a process remembers.
const cachedCredentials = 1 << 16

// claims are what the tokens of this contract carry.
type claims struct {
	jwt.RegisteredClaims
	Role, ChannelID, OpaqueUserID, UserID string
	// Claims of which an empty one is not the same as none.
	ExtensionID, AllowedStage *string
}

// UnmarshalJSON reads claims as strictly as a body: by their exact names and
// types. Those that nobody here asks for may be anything.
func (c *claims) UnmarshalJSON(payload []byte) error {
	o := decodeObject(payload)
	*c = claims{
		RegisteredClaims: jwt.RegisteredClaims{ExpiresAt: o.date("exp"), NotBefore: o.date("nbf")},
		Role:             o.text("role"),
		ChannelID:        o.text("channel_id"),
		OpaqueUserID:     o.text("opaque_user_id"),
		UserID:           o.text("user_id"),
		ExtensionID:      o.claimed("extension_id"),
		AllowedStage:     o.claimed("allowed_stage"),
	}
	return o.err
}

// claimed returns the string member of that name, nil when there is none.
func (o *object) claimed(name string) *string {
	if !o.has(name) {
		return nil
	}
	s := o.text(name)
	return &s
}

// date returns the time of that name in Unix seconds, nil when there is none.
func (o *object) date(name string) *jwt.NumericDate {
	raw, ok := o.members[name]
	if !ok {
		return nil
	}
	var date jwt.NumericDate
	if raw[0] == '"' || json.Unmarshal(raw, &date) != nil {
		o.fail()
	}
	return &date
}

// verifier turns Authorization headers into callers of one environment. The
// signature of a token is verified once; its expiry is checked each time.
type verifier struct {
	environment tenant.Environment
	registry    func() *tenant.Registry
	now         func() time.Time
	parser      *jwt.Parser
	generation  atomic.Pointer[generation]
}

// generation is what was verified against one registry. A reload begins another.
type generation struct {
	registry *tenant.Registry
	verified *lru.Cache[string, credential]
}

type credential struct {
	caller  *Caller
	expires time.Time
}

func newVerifier(environment tenant.Environment, registry func() *tenant.Registry, now func() time.Time) *verifier {
	return &verifier{
		environment: environment,
		registry:    registry,
		now:         now,
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
			jwt.WithExpirationRequired(),
			jwt.WithTimeFunc(now),
		),
	}
}

func unauthenticated(err error) error {
	return fault.Wrap(fault.Unauthenticated, err, "The credential is missing, malformed, expired or not valid here")
}

// verify returns the caller that an Authorization header speaks for, or a fault
// of kind fault.Unauthenticated.
func (v *verifier) verify(header string) (*Caller, error) {
	verified := v.current().verified
	known, ok := verified.Get(header)
	if !ok {
		var err error
		if known, err = v.parse(header); err != nil {
			return nil, unauthenticated(err)
		}
		// The header's memory may be shared with the rest of the request.
		verified.Add(strings.Clone(header), known)
	}
	if !v.now().Before(known.expires) {
		return nil, unauthenticated(jwt.ErrTokenExpired)
	}
	return known.caller, nil
}

func (v *verifier) current() *generation {
	registry := v.registry()
	known := v.generation.Load()
	if known != nil && known.registry == registry {
		return known
	}
	verified, err := lru.New[string, credential](cachedCredentials)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	fresh := &generation{registry: registry, verified: verified}
	v.generation.CompareAndSwap(known, fresh)
	return fresh
}

func (v *verifier) parse(header string) (credential, error) {
	clientID, token, ok := strings.Cut(header, " ")
	if !ok {
		return credential{}, errors.New("not of the form <client id> <JWT>")
	}
	extension, ok := v.registry().ByClientID(clientID)
	if !ok {
		return credential{}, errors.New("unknown client id")
	}
	var c claims
	if _, err := v.parser.ParseWithClaims(token, &c, v.keys(extension)); err != nil {
		return credential{}, err
	}
	switch {
	case c.ExtensionID != nil && *c.ExtensionID != clientID:
		return credential{}, errors.New("the token is another extension's")
	case c.AllowedStage != nil && *c.AllowedStage != string(v.environment):
		return credential{}, errors.New("the token is another environment's")
	case c.Role == "":
		return credential{}, errors.New("the token has no role")
	case max(len(c.ChannelID), len(c.OpaqueUserID), len(c.UserID)) > maxID:
		return credential{}, errors.New("an id in the token is too long")
	}
	return credential{
		caller: &Caller{
			Extension:   extension,
			Environment: v.environment,
			Role:        roleOf(c.Role, extension),
			ChannelID:   strings.Clone(c.ChannelID),
			OpaqueID:    strings.Clone(c.OpaqueUserID),
			UserID:      strings.Clone(c.UserID),
			Validated:   c.Role == string(Admin) && extension.IsAdmin(c.UserID),
		},
		expires: c.ExpiresAt.Time,
	}, nil
}

// keys returns the secrets of which any may have signed the token.
func (v *verifier) keys(extension *tenant.Extension) jwt.Keyfunc {
	return func(*jwt.Token) (any, error) {
		var keys []jwt.VerificationKey
		for _, secret := range extension.ActiveSecrets(v.environment, v.now()) {
			keys = append(keys, secret.Value)
		}
		if len(keys) == 0 {
			return nil, errors.New("no secret is active")
		}
		return jwt.VerificationKeySet{Keys: keys}, nil
	}
}

// roleOf maps the roles that the platform issues to those of the contract.
func roleOf(role string, extension *tenant.Extension) Role {
	switch role {
	case "viewer", "moderator":
		return Viewer
	case "broadcaster", "admin", "backend":
		return Role(role)
	case "external":
		return Role(extension.ExternalRole)
	}
	return ""
}
