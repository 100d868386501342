package operation

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/sandbox"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// cachedCredentials limits the verified credentials that an environment caches. One takes some
// 300 bytes, and 1 KiB with the longest ids.
const cachedCredentials = 1 << 15

// CredentialVerifier turns Authorization headers into callers of one environment. The
// signature of a token is verified once; its expiry is checked each time.
type CredentialVerifier struct {
	environment tenant.Environment
	registry    func() *tenant.Registry
	now         func() time.Time
	validator   *jwt.Validator
	viewers     ViewerVerifier // nil: no viewers of issuers are known
	generation  atomic.Pointer[generation]
}

// generation caches the credentials verified against one registry, by the digest of
// their headers. A reload starts a new one.
type generation struct {
	registry *tenant.Registry
	verified *lru.Cache[credentialDigest, credential]
}

type credentialDigest [sha256.Size]byte

type credential struct {
	Caller  *Caller
	expires time.Time
}

// verifiedCredential is a credential that was verified just now or before.
type verifiedCredential struct {
	credential
	digest credentialDigest
	// into is nil for a credential that is cached already.
	into *generation
}

// cache caches the credential. Its caller has been admitted: what a limiter refuses
// costs no memory.
func (v verifiedCredential) cache() {
	if v.into != nil {
		v.into.verified.Add(v.digest, v.credential)
	}
}

// NewVerifier returns a verifier of the credentials of one environment.
func NewVerifier(environment tenant.Environment, registry func() *tenant.Registry, now func() time.Time) *CredentialVerifier {
	return &CredentialVerifier{
		environment: environment,
		registry:    registry,
		now:         now,
		validator:   jwt.NewValidator(jwt.WithExpirationRequired(), jwt.WithTimeFunc(now)),
	}
}

// flaw returns a reason for which a credential is refused, for the log. It is a text of the code:
// refused credentials are counted by it.
func flaw(text string) error { return fault.New(fault.Unauthenticated, text) }

func unauthenticated(err error) error {
	return fault.Wrap(fault.Unauthenticated, err, "The credential is missing, malformed, expired or not valid here")
}

// isWellFormed reports whether a header has the form <client id> <JWT>. No other
// character reaches the decoder, which ignores line breaks.
func isWellFormed(header string) bool {
	if len(header) > contract.MaxCredential {
		return false
	}
	// A bit for each character. The next one in a token is as good as random: a processor cannot
	// predict comparisons, which take four times as long.
	const (
		below64 = 1<<' ' | 1<<'-' | 1<<'.' | (1<<10-1)<<'0'
		above64 = (1<<26-1)<<('A'-64) | 1<<('_'-64) | (1<<26-1)<<('a'-64)
	)
	allowed, refused := [4]uint64{below64, above64}, uint64(0)
	for i := range len(header) {
		c := header[i]
		refused |= ^(allowed[c>>6] >> (c & 63)) & 1
	}
	return refused == 0 && strings.Count(header, " ") == 1
}

// VerifyHeader returns the caller that an Authorization header speaks for, or a fault
// of kind fault.Unauthenticated, fault.Unavailable while it cannot tell. It caches nothing.
func (v *CredentialVerifier) VerifyHeader(header string) (verifiedCredential, error) {
	found, err := v.findCaller(header)
	switch {
	case fault.KindOf(err) == fault.Unavailable:
		return verifiedCredential{}, err
	case err != nil:
		return verifiedCredential{}, unauthenticated(err)
	}
	switch left := found.expires.Sub(v.now()); {
	case left <= 0:
		return verifiedCredential{}, unauthenticated(jwt.ErrTokenExpired)
	case left > found.Caller.Limits().TokenLife && !found.Caller.isRevocable():
		return verifiedCredential{}, unauthenticated(flaw("the token is valid for too long"))
	}
	return found, nil
}

// findCaller returns the caller of a header. Credentials of viewers of issuers are not cached, so that
// they end with the keys.
func (v *CredentialVerifier) findCaller(header string) (found verifiedCredential, err error) {
	if isOfViewer(header) {
		found.credential, err = v.parseViewer(header)
		return found, err
	}
	if !isWellFormed(header) {
		return found, flaw("not of the form <client id> <JWT>")
	}
	current := v.currentGeneration()
	found.digest = sha256.Sum256([]byte(header))
	if known, ok := current.verified.Get(found.digest); ok {
		found.credential = known
		return found, nil
	}
	found.into = current
	found.credential, err = v.parseHeader(header)
	return found, err
}

// VerifyOperator returns the caller of maintenance that only some callers may do.
func (v *CredentialVerifier) VerifyOperator(header string, remote bool, access accessRule) (*Caller, error) {
	verified, err := v.VerifyHeader(header)
	if err != nil {
		return nil, err
	}
	if err := verified.Caller.checkSampleKey(remote); err != nil {
		return nil, err
	}
	if !access.allowsCaller(verified.Caller) {
		return nil, errRole()
	}
	return verified.Caller, nil
}

func (v *CredentialVerifier) currentGeneration() *generation {
	registry := v.registry()
	known := v.generation.Load()
	if known != nil && known.registry == registry {
		return known
	}
	verified, err := lru.New[credentialDigest, credential](cachedCredentials)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	fresh := &generation{registry: registry, verified: verified}
	v.generation.CompareAndSwap(known, fresh)
	return fresh
}

func (v *CredentialVerifier) parseHeader(header string) (credential, error) {
	clientID, token, _ := strings.Cut(header, " ")
	extension, ok := v.registry().ByClientID(clientID)
	if !ok {
		return credential{}, flaw("unknown client id")
	}
	token, isDevice := strings.CutPrefix(token, deviceMark)
	verify := verifyToken
	if isDevice {
		verify = verifierOfDevices(v.environment, clientID)
	}
	payload, signer, err := verify(token, extension.ActiveSecrets(v.environment, v.now()))
	if err != nil {
		return credential{}, err
	}
	c, err := parseClaims(payload)
	if err != nil {
		return credential{}, err
	}
	if err := cmp.Or(v.validator.Validate(&c), v.checkClaims(&c, clientID), c.checkDevice(isDevice)); err != nil {
		return credential{}, err
	}
	caller := &Caller{
		Extension:   extension,
		Environment: v.environment,
		Role:        roleOf(c.Role, extension),
		ChannelID:   c.ChannelID,
		OpaqueID:    c.OpaqueUserID,
		UserID:      c.UserID,
		Validated:   c.Role == string(Admin) && extension.IsAdmin(c.UserID),
		Unlinked:    c.Unlinked,
		Family:      c.Family,
		Game:        c.Game,
		KeyID:       c.KeyID,
		Weight:      c.Weight,
	}
	if c.Role == "moderator" && extension.ModeratorsAreStaff {
		caller.Scopes = []string{contract.ScopePolls, contract.ScopeAnswers}
	}
	if isDevice {
		caller.Role, caller.Poll = Device, DecodeObject(payload).Text("poll")
	}
	caller.SigningKey, caller.sampleKey = signer.ID(), signer.IsSample()
	caller.nameQuotaHolders()
	return credential{Caller: caller, expires: c.ExpiresAt.Time}, nil
}

// checkClaims refuses a token that is not for the client id and the environment, or that names no
// caller.
func (v *CredentialVerifier) checkClaims(c *tokenClaims, clientID string) error {
	switch {
	case c.ExtensionID != nil && *c.ExtensionID != clientID:
		return flaw("the token is another extension's")
	case c.AllowedStage != nil && *c.AllowedStage != string(v.environment):
		return flaw("the token is another environment's")
	case c.Role == "":
		return flaw("the token has no role")
	case c.Role == sandbox.UnconfirmedGame && c.Family == "":
		return flaw("the token of a game names no pairing")
	case max(len(c.ChannelID), len(c.OpaqueUserID), len(c.UserID)) > contract.MaxID:
		return flaw("an id in the token is too long")
	case c.Weight < 1 || c.Weight > contract.MaxVoteWeight:
		return flaw("vote_weight in the token is out of bounds")
	}
	return nil
}

// checkDevice refuses a voter id that belongs to devices in another token, and any other in theirs.
func (c *tokenClaims) checkDevice(isDevice bool) error {
	if strings.HasPrefix(c.OpaqueUserID, voting.DevicePrefix) != isDevice {
		return flaw("the voter id is a device's and the token is not, or the other way round")
	}
	return nil
}

// NamesRemoteClient reports whether a request says that it comes from another machine, whether
// or not its peer is trusted to say so.
func NamesRemoteClient(header http.Header) bool {
	for _, line := range header.Values("X-Forwarded-For") {
		for name := range strings.SplitSeq(line, ",") {
			if address, err := netip.ParseAddr(strings.TrimSpace(name)); err != nil || !address.Unmap().IsLoopback() {
				return true
			}
		}
	}
	return len(header.Values("Forwarded")) > 0
}

// checkSampleKey refuses a credential that everyone can sign for a request that comes from
// another machine, through a proxy on this one.
func (c *Caller) checkSampleKey(remote bool) error {
	if c.sampleKey && remote {
		return unauthenticated(flaw("the key is a published sample, and a proxy names a client on another machine"))
	}
	return nil
}

// roleOf maps the roles that the platform issues to those of the contract.
func roleOf(role string, extension *tenant.Extension) Role {
	switch role {
	case "viewer", "moderator":
		return Viewer
	case "broadcaster", "admin", "backend", "overlay", "staff_key":
		return Role(role)
	case sandbox.UnconfirmedGame: // it names a pairing, which has to be confirmed
		return Broadcaster
	case "external":
		return Role(extension.ExternalRole)
	}
	return ""
}
