// Package tenant is the extension registry: which extensions exist, who owns
// them, which keys verify and sign their tokens, which origins and limits they
// have. It reads the registry file and reloads it when it changes.
//
// A [Registry] is immutable, so a request that took one sees one consistent
// registry to its end. The package knows no HTTP and no tokens, and never puts
// a secret into an error or a log line.
package tenant

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// Environment separates the keys and the data of an extension; two environments
// share nothing.
type Environment string

// The environments.
const (
	Production Environment = "production"
	Sandbox    Environment = "sandbox"
)

// ParseEnvironment returns the environment of that name.
func ParseEnvironment(name string) (Environment, error) {
	switch environment := Environment(name); environment {
	case Production, Sandbox:
		return environment, nil
	}
	return "", fmt.Errorf("unknown environment %q: it is %q or %q", name, Production, Sandbox)
}

// Secret is a key that verifies and signs the tokens of an extension in one
// environment.
type Secret struct {
	// Value is the decoded key. The holder does not change it.
	Value []byte
	// ActiveFrom is the time from which the key is valid; the zero time: always.
	ActiveFrom time.Time

	id   string
	macs *sync.Pool // of [hash.Hash]: to begin an HMAC with the key costs as much as to sign a token
}

// NewSecret returns a key that is valid at any time.
func NewSecret(value []byte) Secret { return newSecret(value, time.Time{}) }

func newSecret(value []byte, activeFrom time.Time) Secret {
	sum := sha256.Sum256(append([]byte("acclaim key id\x00"), value...))
	return Secret{Value: value, ActiveFrom: activeFrom, id: hex.EncodeToString(sum[:8]), macs: new(sync.Pool)}
}

// HasSigned reports whether a signature is the HMAC-SHA256 of a message under the key.
func (s Secret) HasSigned(message string, signature []byte) bool {
	mac, ok := s.macs.Get().(hash.Hash)
	if !ok {
		mac = hmac.New(sha256.New, s.Value)
	}
	defer s.macs.Put(mac)
	mac.Reset()
	_, _ = io.WriteString(mac, message) // a hash takes everything
	var sum [sha256.Size]byte
	return hmac.Equal(mac.Sum(sum[:0]), signature)
}

// IsSample reports whether this project has published the key.
func (s Secret) IsSample() bool { return bytes.HasPrefix(s.Value, []byte(contract.SampleKeyPrefix)) }

// ID names the key without giving it away: records of what was issued under it have the ID.
func (s Secret) ID() string { return s.id }

// String hides the value.
func (s Secret) String() string { return "secret" }

// Extension is one tenant. It is immutable.
type Extension struct {
	ClientID     string
	AppIDs       []string
	OwnerUserID  string
	AdminUserIDs []string
	// ExternalRole is the role that tokens with the platform's role "external"
	// have: "" (they are refused) or "backend".
	ExternalRole string
	// ModeratorsAreStaff gives tokens with the platform's role "moderator" the rights of a staff
	// key with all scopes, beside those of a viewer.
	ModeratorsAreStaff bool
	// SignIn lets staff of production sign in with accounts; nil: with tokens and keys alone.
	SignIn *SignIn
	// ViewerIssuers are those whose tokens make people viewers in production. Their names are not empty.
	ViewerIssuers []contract.RegisteredViewerIssuer
	// GlobalPolls is the least of the roles that configure, modify and reset polls and
	// questions of all channels: "broadcaster", "admin" or "backend".
	GlobalPolls string
	// ViewersCreateGlobal lets a viewer's first vote bring a poll of all channels into
	// being, likewise answers.
	ViewersCreateGlobal bool

	settings map[Environment]settings
}

// String returns the client id, and so keeps secrets out of logs.
func (e *Extension) String() string { return e.ClientID }

// ActiveSecrets returns the secrets that verify a token at the given time, the
// newest first.
func (e *Extension) ActiveSecrets(environment Environment, now time.Time) []Secret {
	secrets := e.settings[environment].secrets
	for i, secret := range secrets {
		if !secret.ActiveFrom.After(now) {
			return secrets[i:len(secrets):len(secrets)]
		}
	}
	return nil
}

// SigningSecret returns the newest secret that is active at the given time; of
// two that became active together, the one listed first. It returns false when
// none is active.
func (e *Extension) SigningSecret(environment Environment, now time.Time) (Secret, bool) {
	active := e.ActiveSecrets(environment, now)
	if len(active) == 0 {
		return Secret{}, false
	}
	return active[0], true
}

// KeyIDs returns the ids of the active secrets, the newest first.
func (e *Extension) KeyIDs(environment Environment, now time.Time) (ids []string) {
	for _, s := range e.ActiveSecrets(environment, now) {
		ids = append(ids, s.ID())
	}
	return ids
}

// ActiveSecret returns the secret of that id if it is active.
func (e *Extension) ActiveSecret(environment Environment, id string, now time.Time) (Secret, bool) {
	active := e.ActiveSecrets(environment, now)
	at := slices.IndexFunc(active, func(s Secret) bool { return s.ID() == id })
	if at < 0 {
		return Secret{}, false
	}
	return active[at], true
}

// IsAdmin reports whether a user is the owner of the extension or one of its
// admins. A caller without a user id never is.
func (e *Extension) IsAdmin(userID string) bool {
	return userID != "" && (userID == e.OwnerUserID || slices.Contains(e.AdminUserIDs, userID))
}

// AllowsOrigin reports whether a browser page of that origin may read answers
// meant for this extension.
func (e *Extension) AllowsOrigin(environment Environment, origin string) bool {
	return e.settings[environment].origins.allowsOrigin(origin)
}

// Limits returns the limits of the extension, defaults filled in.
func (e *Extension) Limits(environment Environment) Limits {
	return e.settings[environment].limits
}

// Retention returns how long what the extension stores is kept.
func (e *Extension) Retention(environment Environment) Retention {
	return e.settings[environment].retention
}

// Registry is the set of all extensions at one time. It is immutable.
type Registry struct {
	extensions []*Extension
	byClientID map[string]*Extension
	byAppID    map[string]*Extension
	origins    map[Environment]originSet

	shortKeys, sampleKeys []string
}

// ShortKeys returns the fields that hold keys of less than 32 bytes, each after its
// client id.
func (r *Registry) ShortKeys() []string { return r.shortKeys }

// SampleKeys returns the fields that hold keys which this project has published.
func (r *Registry) SampleKeys() []string { return r.sampleKeys }

// Extensions yields all extensions in the order of the file.
func (r *Registry) Extensions() iter.Seq[*Extension] { return slices.Values(r.extensions) }

// ByClientID returns the extension with that client id.
func (r *Registry) ByClientID(clientID string) (*Extension, bool) {
	extension, ok := r.byClientID[clientID]
	return extension, ok
}

// ByAppID returns the extension that lists that app id.
func (r *Registry) ByAppID(appID string) (*Extension, bool) {
	extension, ok := r.byAppID[appID]
	return extension, ok
}

// Resolve returns the extension that an id names, as an app id first and as a
// client id second: clients put the client id where an app id belongs.
func (r *Registry) Resolve(id string) (*Extension, bool) {
	if extension, ok := r.byAppID[id]; ok {
		return extension, true
	}
	return r.ByClientID(id)
}

// AllowsOrigin reports whether any extension allows the origin: the rule for
// answers that carry no verified credential.
func (r *Registry) AllowsOrigin(environment Environment, origin string) bool {
	return r.origins[environment].allowsOrigin(origin)
}
