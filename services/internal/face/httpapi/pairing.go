package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/pairing"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// Pairing is the part of package pairing that credentials and routes use.
type Pairing interface {
	CreatePIN(ctx context.Context, c pairing.Channel, by pairing.Request, now time.Time) (pin string, err error)
	OpenGame(ctx context.Context, o pairing.Owner, from string, now time.Time) (pin, family string, err error)
	ConfirmPIN(ctx context.Context, c pairing.Channel, pin, key string, now time.Time) (family string, err error)
	Games(ctx context.Context, c pairing.Channel, now time.Time) ([]pairing.Game, error)
	EndGame(ctx context.Context, c pairing.Channel, id string, now time.Time) error
	Exists(ctx context.Context, c pairing.Channel, now time.Time) (bool, error)
	Revoke(ctx context.Context, c pairing.Channel) error
	Resolve(ctx context.Context, c pairing.Channel, t pairing.Token, keys []string) (channel string, err error)
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
		{Method: http.MethodGet, Path: "/gamelink/games", access: staff(), handle: (*API).getGames},
		{Method: http.MethodDelete, Path: "/gamelink/games", access: staff(), handle: (*API).deleteGame},
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
	channel, err := a.resolvePairing(ctx, c)
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

// resolvePairing returns the channel of a caller's pairing. It looks for one that was refused
// once a second at most, as anyone gets tokens of pairings that no broadcaster confirms.
func (a *API) resolvePairing(ctx context.Context, c *Caller) (string, error) {
	now := a.config.Now()
	name := pairingName{string(c.Environment), c.Extension.ClientID, c.ChannelID, c.Family, c.Game}
	if until, ok := a.refusedPairings.Get(name); ok && now.Before(until) {
		return "", fault.New(fault.Unauthenticated, "The pairing has ended")
	}
	channel, err := a.config.Pairing.Resolve(ctx, c.pairingChannel(), pairing.Token{Family: c.Family, Game: c.Game}, c.Extension.KeyIDs(c.Environment, now))
	if fault.KindOf(err) == fault.Unauthenticated {
		a.refusedPairings.Add(name, now.Add(time.Second))
	}
	return channel, err
}

// pairingName names what a token hangs on.
type pairingName struct{ environment, extension, channel, family, game string }

// knownPairings is the number of refused pairings that a process remembers. The least recently
// used is dropped.
const knownPairings = 1 << 14

func newRefusedPairings() *lru.Cache[pairingName, time.Time] {
	refused, err := lru.New[pairingName, time.Time](knownPairings)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	return refused
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
	by, err := r.pairingRequest()
	if err != nil {
		return err
	}
	pin, err := a.config.Pairing.CreatePIN(r.Context(), r.caller.pairingChannel(), by, a.config.Now())
	if err != nil {
		return err
	}
	return writeValue(w, openPIN{pin, pin, int(pairing.PINLifetime.Seconds())})
}

// pairingRequest reads who asks for a PIN, and for which rights. Any body but an object with
// server: true asks for those of a broadcaster.
func (r *apiRequest) pairingRequest() (pairing.Request, error) {
	by := pairing.Request{By: string(r.caller.Role), Key: r.caller.SigningKey}
	var asked struct{ Server bool }
	_ = json.Unmarshal(r.body, &asked) // the body is ignored otherwise
	if asked.Server && !r.caller.IsServer() {
		return by, errRole()
	}
	by.Server = asked.Server
	return by, nil
}

// The rates of PINs that games without a credential ask for: of one client address at an
// extension, where it is known, and of the extension.
func pinsOfAddress() tenant.Rate { return tenant.Rate{PerSecond: 1, Burst: 20} }
func pinsInAll() tenant.Rate     { return tenant.Rate{PerSecond: 50, Burst: 500} }

func (a *API) postPIN(w http.ResponseWriter, r *apiRequest) error {
	if !a.config.GameLink {
		return fault.New(fault.Invalid, "Games are not served here")
	}
	body := decodeObject(r.body)
	identifier := body.text("identifier")
	if body.err != nil {
		return body.err
	}
	extension, ok := a.config.Registry().ByClientID(identifier)
	if !ok {
		return fault.New(fault.Invalid, "No such extension found")
	}
	if err := a.admitAddress(r, "pin\x00"+extension.ClientID, pinsOfAddress(), pinsInAll()); err != nil {
		return err
	}
	owner := pairing.Owner{Environment: string(a.config.Environment), Extension: extension.ClientID}
	from := ""
	if client, ok := a.config.Proxies.clientOf(r.Request); ok {
		from = ClientNetwork(client).String()
	}
	pin, family, err := a.config.Pairing.OpenGame(r.Context(), owner, from, a.config.Now())
	if err != nil {
		return err
	}
	token, err := a.signToken(extension, sandbox.Grant{Role: sandbox.UnconfirmedGame, Family: family, OpaqueID: sandbox.NewAnonymousID()})
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
	c := r.caller.pairingChannel()
	family, err := a.config.Pairing.ConfirmPIN(r.Context(), c, pin, r.caller.SigningKey, a.config.Now())
	if err == nil {
		a.refusedPairings.Remove(pairingName{environment: c.Environment, extension: c.Extension, family: family})
	}
	return writeDone(w, err)
}

func (a *API) getPINTokenExists(w http.ResponseWriter, r *apiRequest) error {
	exists, err := a.config.Pairing.Exists(r.Context(), r.caller.pairingChannel(), a.config.Now())
	if err != nil {
		return err
	}
	return writeValue(w, map[string]bool{"exists": exists})
}

// gameList is the answer to GET /gamelink/games.
type gameList struct {
	Games []pairing.Game `json:"games"`
}

func (a *API) getGames(w http.ResponseWriter, r *apiRequest) error {
	games, err := a.config.Pairing.Games(r.Context(), r.caller.pairingChannel(), a.config.Now())
	if err != nil {
		return err
	}
	return writeValue(w, gameList{games})
}

func (a *API) deleteGame(w http.ResponseWriter, r *apiRequest) error {
	return writeDone(w, a.config.Pairing.EndGame(r.Context(), r.caller.pairingChannel(), r.URL.Query().Get("id"), a.config.Now()))
}

func (a *API) deletePIN(w http.ResponseWriter, r *apiRequest) error {
	return writeDone(w, a.config.Pairing.Revoke(r.Context(), r.caller.pairingChannel()))
}
