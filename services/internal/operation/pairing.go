package operation

import (
	"cmp"
	"context"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/pairing"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

func (c *Caller) pairingChannel() pairing.Channel {
	return pairing.Channel{Owner: pairing.Owner{Environment: string(c.Environment), Extension: c.Extension.ClientID}, ID: c.ChannelID}
}

// CreatePIN returns a PIN with which a game is paired with the caller's channel. Only servers give
// the game the rights of a server.
func (s *Service) CreatePIN(ctx context.Context, c *Call, server bool) (pin string, err error) {
	if c.Caller.ChannelID == "" {
		return "", errNoChannel()
	}
	if server && !c.Caller.IsServer() {
		return "", errRole()
	}
	by := pairing.Request{By: string(c.Caller.Role), Key: c.Caller.SigningKey, Server: server}
	return s.Config.Pairing.PINs.CreatePIN(ctx, c.Caller.pairingChannel(), by, s.Config.Now())
}

// The rates of PINs that games without a credential ask for: of one client address at an
// extension, where it is known, and of the extension.
func pinsOfAddress() limit.Rate {
	return limit.Rate{PerSecond: contract.PINsPerSecond, Burst: contract.PINsAtOnce}
}
func pinsInAll() limit.Rate { return limit.Rate{PerSecond: 50, Burst: 500} }

// OpenPIN returns a PIN of a game of an extension, which a broadcaster confirms, and the token that
// is in force from then on.
func (s *Service) OpenPIN(ctx context.Context, c *Call, identifier string) (pin, token string, err error) {
	if !s.Config.GameLink {
		return "", "", fault.New(fault.Invalid, "Games are not served here")
	}
	extension, ok := s.Config.Registry().ByClientID(identifier)
	if !ok {
		return "", "", fault.New(fault.Invalid, "No such extension found")
	}
	if err := s.admitAddress(c, limit.Caller{Environment: string(s.Config.Environment), Extension: extension.ClientID}, limit.PINs, pinsOfAddress(), pinsInAll(), 1); err != nil {
		return "", "", err
	}
	owner, from := pairing.Owner{Environment: string(s.Config.Environment), Extension: extension.ClientID}, ""
	if c.Client.IsValid() {
		from = c.Client.String()
	}
	pin, family, err := s.Config.Pairing.PINs.OpenGame(ctx, owner, from, s.Config.Now())
	if err != nil {
		return "", "", err
	}
	token, err = s.signToken(extension, sandbox.Grant{Role: sandbox.UnconfirmedGame, Family: family, OpaqueID: sandbox.NewAnonymousID()})
	return pin, token, err
}

// signToken issues a token of a game, or of the lifetime that the grant has.
func (s *Service) signToken(extension *tenant.Extension, g sandbox.Grant) (string, error) {
	now := s.Config.Now()
	secret, ok := extension.SigningSecret(s.Config.Environment, now)
	if !ok {
		return "", fault.New(fault.Invalid, "The extension has no active secret")
	}
	g.ExtensionID, g.Stage = extension.ClientID, string(s.Config.Environment)
	g.Lifetime = cmp.Or(g.Lifetime, contract.GameTokenLifetime)
	return sandbox.IssueToken(g, secret.Value, now)
}

// ConfirmPIN pairs the game that has opened a PIN with the caller's channel. A guess pairs another
// game with the own channel.
func (s *Service) ConfirmPIN(ctx context.Context, c *Call, pin string) error {
	guesses := limit.Claim{
		Kind: limit.PINs, Holder: c.Caller.extensionQuotaHolder + "\x00tried\x00" + c.Caller.ChannelID, Scope: limit.Channel,
		Rate: limit.Rate{PerSecond: contract.PINsPerSecond, Burst: contract.PINsAtOnce}, Amount: 1,
	}
	if err := s.takeRate(c.Caller.who(), guesses); err != nil {
		return err
	}
	channel := c.Caller.pairingChannel()
	family, err := s.Config.Pairing.PINs.ConfirmPIN(ctx, channel, pin, c.Caller.SigningKey, s.Config.Now())
	if err == nil {
		s.refusedPairings.Remove(pairingName{environment: channel.Environment, extension: channel.Extension, family: family})
	}
	return err
}

// HasPIN reports whether the caller's channel has a PIN or a paired game.
func (s *Service) HasPIN(ctx context.Context, c *Call) (bool, error) {
	return s.Config.Pairing.Games.Exists(ctx, c.Caller.pairingChannel(), s.Config.Now())
}

// ListGames returns the games that are paired with the caller's channel.
func (s *Service) ListGames(ctx context.Context, c *Call) ([]pairing.Game, error) {
	return s.Config.Pairing.Games.Games(ctx, c.Caller.pairingChannel(), s.Config.Now())
}

// EndGame ends the pairing of a game with the caller's channel.
func (s *Service) EndGame(ctx context.Context, c *Call, id string) error {
	return s.Config.Pairing.Games.EndGame(ctx, c.Caller.pairingChannel(), id, s.Config.Now())
}

// RevokePIN ends every PIN and pairing of the caller's channel.
func (s *Service) RevokePIN(ctx context.Context, c *Call) error {
	return s.Config.Pairing.Games.Revoke(ctx, c.Caller.pairingChannel())
}

// CreateOverlayKey adds a key to the caller's channel and returns it with its credential.
func (s *Service) CreateOverlayKey(ctx context.Context, c *Call, key pairing.OverlayKey) (made pairing.OverlayKey, credential string, err error) {
	now := s.Config.Now()
	key.ID, key.Created = pairing.NewKeyID(), now.Unix()
	if c.Caller.hasQuotas() {
		if err := s.takeBytes(c, 1); err != nil {
			return key, "", err
		}
	}
	if err := s.Config.Pairing.Overlays.AddOverlayKey(ctx, c.Caller.pairingChannel(), key, now); err != nil {
		return key, "", err
	}
	credential, err = s.signKey(c.Caller, Overlay, "overlay-", key.ID, key.Lifetime(now))
	return key, credential, err
}

// signKey returns the credential of a key of the caller's channel. The opaque id of its holders is
// a prefix and the id of the key.
func (s *Service) signKey(c *Caller, role Role, prefix, id string, lifetime time.Duration) (credential string, err error) {
	token, err := s.signToken(c.Extension, sandbox.Grant{
		Role: string(role), ChannelID: c.ChannelID, OpaqueID: prefix + id, KeyID: id, Lifetime: lifetime,
	})
	return c.Extension.ClientID + " " + token, err
}

// ListOverlayKeys returns the keys of the caller's channel, without their credentials.
func (s *Service) ListOverlayKeys(ctx context.Context, c *Call) ([]pairing.OverlayKey, error) {
	return s.Config.Pairing.Overlays.OverlayKeys(ctx, c.Caller.pairingChannel(), s.Config.Now())
}

// RevokeOverlayKey removes a key of the caller's channel.
func (s *Service) RevokeOverlayKey(ctx context.Context, c *Call, id string) error {
	return s.Config.Pairing.Overlays.RevokeOverlayKey(ctx, c.Caller.pairingChannel(), id)
}
