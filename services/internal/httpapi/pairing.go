package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/pairing"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// Pairing is the part of package pairing that credentials and routes use.
type Pairing interface {
	CreatePIN(ctx context.Context, c pairing.Channel, role string, now time.Time) (pin string, err error)
	OpenGame(ctx context.Context, o pairing.Owner, now time.Time) (pin, family string, err error)
	ConfirmPIN(ctx context.Context, c pairing.Channel, pin string, now time.Time) error
	Exists(ctx context.Context, c pairing.Channel, now time.Time) (bool, error)
	Revoke(ctx context.Context, c pairing.Channel) error
	Resolve(ctx context.Context, c pairing.Channel, family string) (channel string, err error)
	AddOverlayKey(ctx context.Context, c pairing.Channel, k pairing.OverlayKey, now time.Time) error
	OverlayKeys(ctx context.Context, c pairing.Channel, now time.Time) ([]pairing.OverlayKey, error)
	RevokeOverlayKey(ctx context.Context, c pairing.Channel, id string) error
	ResolveOverlayKey(ctx context.Context, c pairing.Channel, id string, now time.Time) (pairing.OverlayKey, error)
}

// pairingRoutes returns the routes of PINs, with which a streamer pairs a game with the
// channel.
func pairingRoutes() []Route {
	owner := allowRoles(Broadcaster)
	return []Route{
		{Method: http.MethodPost, Path: "/gamelink/token", access: staff(), handle: (*API).postGameToken},
		{Method: http.MethodPost, Path: "/gamelink/pin", access: staff(), handle: (*API).postGameToken},
		{Method: http.MethodPost, Path: "/pin", public: true, handle: (*API).postPIN},
		{Method: http.MethodDelete, Path: "/pin", access: owner, handle: (*API).deletePIN},
		{Method: http.MethodPost, Path: "/validate_pin", access: owner, handle: (*API).postValidatePIN},
		{Method: http.MethodGet, Path: "/pin_token_exists", access: owner, handle: (*API).getPINTokenExists},
	}
}

// resolveFamily returns the caller of a credential that hangs on the pairing of a game: a
// broadcaster of the channel that the game is paired with, as long as it is.
func (a *API) resolveFamily(ctx context.Context, c *Caller) (*Caller, error) {
	if c.Family == "" {
		return c, nil
	}
	if a.config.Pairing == nil {
		return nil, unauthenticated(fault.New(fault.Unauthenticated, "no pairings are known here"))
	}
	channel, err := a.config.Pairing.Resolve(ctx, c.pairingChannel(), c.Family)
	if fault.KindOf(err) == fault.Unauthenticated {
		err = unauthenticated(err)
	}
	if err != nil {
		return nil, err
	}
	if channel == c.ChannelID {
		return c, nil
	}
	paired := *c
	paired.ChannelID, paired.UserID, paired.OpaqueID = channel, channel, sandbox.UserOpaqueID(channel)
	return &paired, nil
}

func (c *Caller) pairingChannel() pairing.Channel {
	return pairing.Channel{Owner: pairing.Owner{Environment: string(c.Environment), Extension: c.Extension.ClientID}, ID: c.ChannelID}
}

// openPIN is the answer to the routes that create a PIN.
type openPIN struct {
	Token   string `json:"token"`
	PIN     string `json:"pin"`
	Expires int    `json:"expires_in,omitempty"` // seconds
}

func (a *API) postGameToken(w http.ResponseWriter, r *apiRequest) error {
	if r.caller.ChannelID == "" {
		return fault.New(fault.Invalid, "The JWT names no channel")
	}
	pin, err := a.config.Pairing.CreatePIN(r.Context(), r.caller.pairingChannel(), string(r.caller.Role), a.config.Now())
	if err != nil {
		return err
	}
	return writeValue(w, openPIN{pin, pin, int(pairing.PINLifetime.Seconds())})
}

// The rates of PINs that games without a credential ask for: of one client address, where
// it is known, and in all.
func pinsOfAddress() tenant.Rate { return tenant.Rate{PerSecond: 1, Burst: 20} }
func pinsInAll() tenant.Rate     { return tenant.Rate{PerSecond: 50, Burst: 500} }

func (a *API) postPIN(w http.ResponseWriter, r *apiRequest) error {
	body := decodeObject(r.body)
	identifier := body.text("identifier")
	if body.err != nil {
		return body.err
	}
	extension, ok := a.config.Registry().ByClientID(identifier)
	if !ok {
		return fault.New(fault.Invalid, "No such extension found")
	}
	if err := a.admitAddress(r, "pin", pinsOfAddress(), pinsInAll()); err != nil {
		return err
	}
	owner := pairing.Owner{Environment: string(a.config.Environment), Extension: extension.ClientID}
	pin, family, err := a.config.Pairing.OpenGame(r.Context(), owner, a.config.Now())
	if err != nil {
		return err
	}
	token, err := a.signToken(extension, sandbox.Grant{Role: string(Broadcaster), Family: family, OpaqueID: sandbox.NewAnonymousID()})
	if err != nil {
		return err
	}
	return writeValue(w, openPIN{Token: token, PIN: pin})
}

// signToken issues a token of a game, or of the lifetime that the grant has.
func (a *API) signToken(extension *tenant.Extension, g sandbox.Grant) (string, error) {
	now := a.config.Now()
	secret, ok := extension.SigningSecret(a.config.Environment, now)
	if !ok {
		return "", fault.New(fault.Invalid, "The extension has no active secret")
	}
	g.ExtensionID, g.Stage = extension.ClientID, string(a.config.Environment)
	g.Lifetime = cmp.Or(g.Lifetime, pairing.TokenLifetime)
	return sandbox.IssueToken(g, secret.Value, now)
}

// admitAddress takes a token from the buckets of the client's address and of all, or refuses
// with fault.RateLimited.
func (a *API) admitAddress(r *apiRequest, what string, own, all tenant.Rate) error {
	if client, ok := a.config.Proxies.clientOf(r.Request); ok {
		if !a.limiters.bucketNamed(tokenBucket{identity: what + "\x00" + ClientNetwork(client).String(), rate: own}).Allow() {
			return fault.New(fault.RateLimited, "Too many requests; nothing was stored")
		}
	}
	if !a.limiters.bucketNamed(tokenBucket{identity: what, rate: all}).Allow() {
		return fault.New(fault.RateLimited, "Too many requests; nothing was stored")
	}
	return nil
}

func (a *API) postValidatePIN(w http.ResponseWriter, r *apiRequest) error {
	body := decodeObject(r.body)
	pin := body.text("pin")
	if body.err != nil {
		return body.err
	}
	// A guess pairs another game with the own channel.
	if !a.limiters.bucketOf(r.caller, "validate_pin\x00"+r.caller.ChannelID, tenant.Rate{PerSecond: 1, Burst: 20}).Allow() {
		return fault.New(fault.RateLimited, "Too many requests; nothing was stored")
	}
	return writeDone(w, a.config.Pairing.ConfirmPIN(r.Context(), r.caller.pairingChannel(), pin, a.config.Now()))
}

func (a *API) getPINTokenExists(w http.ResponseWriter, r *apiRequest) error {
	exists, err := a.config.Pairing.Exists(r.Context(), r.caller.pairingChannel(), a.config.Now())
	if err != nil {
		return err
	}
	return writeValue(w, map[string]bool{"exists": exists})
}

func (a *API) deletePIN(w http.ResponseWriter, r *apiRequest) error {
	return writeDone(w, a.config.Pairing.Revoke(r.Context(), r.caller.pairingChannel()))
}
