package operation

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/signin"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// viewerScheme begins the credential of a viewer of an OpenID Connect issuer:
//
//	OIDC <client id>/<channel>/<token of the issuer>
//
// No other credential has a slash. So what verifies a token does not depend on the token, even where an
// extension is called OIDC.
const viewerScheme = "OIDC "

// isOfViewer reports whether a header has the form of the credential of an issuer's viewer.
func isOfViewer(header string) bool {
	return strings.HasPrefix(header, viewerScheme) && strings.Count(header, "/") == 2 && isWellFormed(strings.ReplaceAll(header, "/", "."))
}

// parseViewer returns the credential of an issuer's viewer. The role is always that of a viewer, and the
// channel is one that the extension lists for the issuer.
func (v *CredentialVerifier) parseViewer(header string) (credential, error) {
	parts := strings.Split(strings.TrimPrefix(header, viewerScheme), "/")
	clientID, channel, token := parts[0], parts[1], parts[2]
	extension, ok := v.registry().ByClientID(clientID)
	switch {
	case !ok:
		return credential{}, flaw("unknown client id")
	case v.viewers == nil || v.environment != tenant.Production:
		return credential{}, flaw("no viewers of issuers are known here")
	}
	var later error // not nil: an issuer whose keys are not known yet may have signed the token
	for _, trusted := range extension.ViewerIssuers {
		if !slices.Contains(trusted.Channels, channel) {
			continue
		}
		issuer := string(trusted.Issuer)
		subject, expires, err := v.viewers.Verify(issuer, trusted.Audience, token)
		if errors.Is(err, signin.ErrNoKeys) {
			later = fault.Wrap(fault.Unavailable, err, "an issuer of viewers")
		}
		if err != nil {
			continue // it may be of another one
		}
		caller := &Caller{
			Extension: extension, Environment: v.environment, Role: Viewer, ChannelID: channel, OpaqueID: viewerID(issuer, subject),
		}
		caller.nameQuotaHolders()
		return credential{caller, expires}, nil
	}
	return credential{}, cmp.Or(later, flaw("no issuer of the channel has signed the token"))
}

// viewerID returns the opaque id of an issuer's viewer, which is the same in all channels. It begins as no
// id of the platform does. No address has the zero byte.
func viewerID(issuer, subject string) string {
	sum := sha256.Sum256([]byte(issuer + "\x00" + subject))
	return "O" + base64.RawURLEncoding.EncodeToString(sum[:24])
}
