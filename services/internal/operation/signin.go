package operation

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/signin"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/pairing"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// OfferedSignIn names an issuer at which the staff of an extension can sign in.
type OfferedSignIn struct {
	Extension string `json:"extension"`
	Name      string `json:"name"`
}

// ListSignIns returns where people can sign in as staff of an extension. Without a client id it is the only
// extension of the registry: the others of a server stay unnamed.
func (s *Service) ListSignIns(clientID string) []OfferedSignIn {
	registry := s.Config.Registry()
	if all := slices.Collect(registry.Extensions()); clientID == "" && len(all) == 1 {
		clientID = all[0].ClientID
	}
	e, ok := registry.ByClientID(clientID)
	if !ok || e.SignIn == nil || s.Config.Pairing.SignIn == nil || s.Config.Environment != tenant.Production {
		return []OfferedSignIn{}
	}
	return []OfferedSignIn{{e.ClientID, e.SignIn.Name}}
}

// BeginSignIn returns the address at an extension's issuer to which a browser goes to sign in as staff,
// and what it keeps meanwhile.
func (s *Service) BeginSignIn(ctx context.Context, c *Call, clientID string) (address string, flow signin.Flow, err error) {
	_, issuer, err := s.issuerOf(c, clientID, limit.SignIns)
	if err != nil {
		return "", flow, err
	}
	return s.beginAt(ctx, issuer)
}

func (s *Service) beginAt(ctx context.Context, issuer signin.Issuer) (address string, flow signin.Flow, err error) {
	address, flow, err = s.Config.Pairing.SignIn.Begin(ctx, issuer)
	if err != nil {
		err = fault.Wrap(fault.Unavailable, err, "the issuer")
	}
	return address, flow, err
}

// FinishSignIn begins a session of a person who comes back from the issuer, and returns its credential.
func (s *Service) FinishSignIn(ctx context.Context, c *Call, clientID string, flow signin.Flow, state, code string) (credential string, err error) {
	extension, issuer, err := s.issuerOf(c, clientID, limit.StaffReturns)
	if err != nil {
		return "", err
	}
	claims, _, err := s.Config.Pairing.SignIn.Finish(ctx, issuer, flow, state, code)
	if err != nil {
		return "", errSignInFailed(err)
	}
	return s.beginSession(ctx, extension, issuer, claims)
}

// beginSession begins a session of a person with the claims of an issuer, and returns its credential.
func (s *Service) beginSession(ctx context.Context, extension *tenant.Extension, issuer signin.Issuer, claims signin.Claims) (credential string, err error) {
	channel, key, ok := staffOf(claims, extension.SignIn)
	if !ok {
		return "", fault.New(fault.Forbidden, "This person is not staff of a channel")
	}
	owner := pairing.Owner{Environment: string(s.Config.Environment), Extension: extension.ClientID}
	if key, err = s.Config.Pairing.Staff.BeginSession(ctx, pairing.Channel{Owner: owner, ID: channel}, key, s.Config.Now()); err != nil {
		return "", err
	}
	token, err := s.signToken(extension, sandbox.Grant{
		Role: string(StaffKey), ChannelID: channel, OpaqueID: personOf(issuer, claims), KeyID: key.ID, Lifetime: pairing.SessionLifetime,
	})
	return extension.ClientID + " " + token, err
}

// personOf returns the opaque id of a person: the same in all sessions, as viewers have one vote.
func personOf(issuer signin.Issuer, claims signin.Claims) string {
	sum := sha256.Sum256([]byte(issuer.URL + "\x00" + claims.Text("sub")))
	return "staff-" + base64.RawURLEncoding.EncodeToString(sum[:12])
}

// issuerOf returns an extension and where its staff signs in, within the rates of a kind.
func (s *Service) issuerOf(c *Call, clientID string, kind limit.Kind) (extension *tenant.Extension, issuer signin.Issuer, err error) {
	extension, ok := s.Config.Registry().ByClientID(clientID)
	if !ok || extension.SignIn == nil || s.Config.Pairing.SignIn == nil || s.Config.Environment != tenant.Production {
		return nil, issuer, fault.New(fault.Invalid, "The extension has no sign-in here")
	}
	if err := s.admitSignIn(c, extension, kind); err != nil {
		return nil, issuer, err
	}
	at := extension.SignIn
	return extension, signin.Issuer{
		URL: string(at.Issuer), ClientID: at.ClientID, ClientSecret: at.ClientSecret, RedirectURL: string(at.RedirectURL), Scopes: at.Scopes,
	}, nil
}

// admitSignIn takes the begin or the end of a sign-in from the rates of its kind.
func (s *Service) admitSignIn(c *Call, extension *tenant.Extension, kind limit.Kind) error {
	who := limit.Caller{Environment: string(s.Config.Environment), Extension: extension.ClientID}
	return s.admitAddress(c, who, kind, pinsOfAddress(), pinsInAll(), 1)
}

// staffOf returns the channel that a person is staff of and the rights there, by the first rule that
// fits.
func staffOf(claims signin.Claims, at *tenant.SignIn) (channel string, key pairing.StaffKey, ok bool) {
	for i, rule := range at.Staff {
		if rule.Value != "" && !claims.Has(rule.Claim, rule.Value) || claims[rule.Claim] == nil {
			continue
		}
		channel = cmp.Or(rule.Channel, claims.Text(rule.ChannelClaim))
		if channel == "" || len(channel) > contract.MaxID {
			continue
		}
		name := cmp.Or(claims.Text("preferred_username"), claims.Text("email"), claims.Text("sub"))
		key = pairing.StaffKey{Name: strings.ToValidUTF8(name[:min(len(name), contract.MaxStaffName)], ""), Scopes: rule.Scopes, Rule: at.RuleID(i)}
		if len(rule.Scopes) == 0 {
			key.Scopes, key.Broadcaster = []string{contract.ScopePolls, contract.ScopeAnswers}, true
		}
		return channel, key, true
	}
	return "", key, false
}

// EndSession ends the caller's session. A caller without one has nothing to end.
func (s *Service) EndSession(ctx context.Context, c *Call) error {
	if !c.Caller.Staff.Session {
		return nil
	}
	return s.Config.Pairing.Staff.RevokeStaffKey(ctx, c.Caller.pairingChannel(), c.Caller.Staff.ID)
}
