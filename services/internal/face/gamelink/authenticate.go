package gamelink

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/operation"

	"github.com/coder/websocket"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/pairing"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// identity is the side that a connection speaks for.
type identity struct {
	channel string
	server  bool // may act for every channel of the extension
	// ownsGlobal reports whether hidden results of the polls of all channels are shown.
	ownsGlobal bool
	pairing    pairing.Token // empty: the rights are those of jwt alone
	key        string        // id of the key that the pairing ends with
	jwt        string
	issued     time.Time // of jwt, where there is a pairing
}

// authentication is the data of the answer to authenticate. Every member is always there.
type authentication struct {
	JWT     string `json:"jwt"`
	Refresh string `json:"refresh"`
	Name    string `json:"twitch_name"`
	ID      string `json:"twitch_id"`
}

// identifyCaller returns the caller of an Authorization header.
func (c *connection) identifyCaller(header string) (*operation.Caller, error) {
	return c.server.options.Operations.Identify(c.ctx, header, operation.NamesRemoteClient(c.request.Header))
}

func (c *connection) owner() pairing.Owner {
	return pairing.Owner{Environment: string(c.server.options.Environment), Extension: c.extension.ClientID}
}

// credential returns the Authorization header of the connection's requests. A connection by PIN
// or refresh token outlives its first token.
func (c *connection) credential() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.identity
	if i == nil {
		return "", refuse(403, "The connection is not authenticated")
	}
	if i.pairing.Family != "" && c.server.options.Now().Sub(i.issued) > contract.GameTokenLifetime/2 {
		token, err := c.issue(i.channel, i.pairing, i.key)
		if err != nil {
			return "", err
		}
		renewed := *i
		renewed.jwt, renewed.issued = token, c.server.options.Now()
		c.identity = &renewed
		i = c.identity
	}
	return c.extension.ClientID + " " + i.jwt, nil
}

// otherChannel is the key of a context's channel.
type otherChannel struct{}

// inChannel returns a context whose calls are those of the broadcaster of a channel, which
// servers may name.
func inChannel(ctx context.Context, channel string) context.Context {
	return context.WithValue(ctx, otherChannel{}, channel)
}

// credentialFor returns the Authorization header of a request with the context. A token for
// another channel never leaves the process.
func (c *connection) credentialFor(ctx context.Context) (string, error) {
	channel, ok := ctx.Value(otherChannel{}).(string)
	if !ok {
		return c.credential()
	}
	if !c.speaksFor().server {
		return "", errNotServer()
	}
	token, err := c.issue(channel, pairing.Token{}, "")
	return c.extension.ClientID + " " + token, err
}

// speaksFor returns the identity in force, one without rights before authentication.
func (c *connection) speaksFor() identity {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.identity == nil {
		return identity{}
	}
	return *c.identity
}

// keyIDs returns the ids of the extension's active keys, none once it has been removed.
func (c *connection) keyIDs() []string {
	extension, ok := c.server.options.Registry().ByClientID(c.extension.ClientID)
	if !ok {
		return nil
	}
	return extension.KeyIDs(c.server.options.Environment, c.server.options.Now())
}

// issue returns a token of a broadcaster that hangs on a pairing. The key of the pairing signs
// it, so that it ends with that key; without one the newest does.
func (c *connection) issue(channel string, hangsOn pairing.Token, keyID string) (string, error) {
	now, environment := c.server.options.Now(), c.server.options.Environment
	extension, ok := c.server.options.Registry().ByClientID(c.extension.ClientID)
	if !ok {
		return "", fault.New(fault.Unauthenticated, "The extension is gone")
	}
	secret, ok := extension.SigningSecret(environment, now)
	if keyID != "" {
		secret, ok = extension.ActiveSecret(environment, keyID, now)
	}
	if !ok {
		return "", fault.New(fault.Unauthenticated, "The key of the pairing has been removed")
	}
	return sandbox.IssueToken(sandbox.Grant{
		ExtensionID: c.extension.ClientID, Stage: string(environment),
		Role: "broadcaster", ChannelID: channel, UserID: channel, OpaqueID: sandbox.UserOpaqueID(channel),
		Family: hangsOn.Family, Game: hangsOn.Game, Lifetime: contract.GameTokenLifetime,
	}, secret.Value, now)
}

// authenticate replaces the identity. Failures that are not the client's close the connection:
// after any error the Unity client forgets its refresh token.
func (c *connection) authenticate(r *gameRequest) (any, error) {
	d := r.data
	id, pin, refresh, token := d.text("client_id"), d.text("pin"), d.text("refresh"), d.text("jwt")
	if len(d.text("game_id")) > contract.MaxID || d.err != nil {
		return nil, errors.Join(d.err, fault.New(fault.Invalid, "game_id is too long"))
	}
	if named, ok := c.server.find(id); !ok || named.ClientID != c.extension.ClientID {
		return nil, fault.New(fault.Invalid, "client_id is not the extension of the address")
	}
	next, caller, grant, err := c.identify(pin, refresh, token)
	if err == nil {
		err = c.adopt(next, caller)
	}
	if err != nil {
		if c.caller != nil {
			c.countFailure(true)
		}
		return nil, c.failAuthentication(err)
	}
	return authentication{next.jwt, grant.Refresh, next.channel, next.channel}, nil
}

// identify returns the identity of the first credential that is not empty, its caller, and a
// refresh token.
func (c *connection) identify(pin, refresh, token string) (next *identity, caller *operation.Caller, grant pairing.Grant, err error) {
	now := c.server.options.Now()
	switch {
	case pin != "":
		grant, err = c.server.options.Pairing.UsePIN(c.ctx, c.owner(), pin, c.keyIDs(), now)
	case refresh != "":
		grant, err = c.server.options.Pairing.UseRefresh(c.ctx, c.owner(), refresh, c.keyIDs(), now)
	case token != "":
		return c.authenticateToken(token)
	default:
		err = fault.New(fault.Invalid, "pin, refresh and jwt are all missing")
	}
	if err != nil {
		return nil, nil, grant, err
	}
	next = &identity{channel: grant.Channel, server: grant.Server, pairing: pairing.Token{Family: grant.Family, Game: grant.Game}, key: grant.Key, issued: now}
	if next.jwt, err = c.issue(grant.Channel, next.pairing, next.key); err == nil {
		caller, err = c.identifyCaller(c.extension.ClientID + " " + next.jwt)
	}
	return next, caller, grant, err
}

// failAuthentication returns the client's error, and closes the connection after any other.
func (c *connection) failAuthentication(err error) error {
	if errorEntry(err).Status >= 429 {
		c.end(websocket.StatusTryAgainLater, "try again later")
	}
	return err
}

// authenticateToken returns the identity of a JWT of staff, and its caller.
func (c *connection) authenticateToken(token string) (*identity, *operation.Caller, pairing.Grant, error) {
	caller, err := c.identifyCaller(c.extension.ClientID + " " + token)
	switch {
	case fault.KindOf(err) == fault.Unauthenticated:
		return nil, nil, pairing.Grant{}, fault.New(fault.Invalid, "The JWT is invalid or has expired")
	case err != nil:
		return nil, nil, pairing.Grant{}, err
	case !caller.IsStaff():
		return nil, nil, pairing.Grant{}, errNotStaff()
	case caller.ChannelID == "":
		return nil, nil, pairing.Grant{}, fault.New(fault.Invalid, "The JWT names no channel")
	}
	next := &identity{jwt: token, channel: caller.ChannelID, server: caller.IsServer()}
	channel := pairing.Channel{Owner: c.owner(), ID: next.channel}
	// What the refresh token is worth does not depend on the role: a broadcaster's rights.
	by := pairing.Request{By: string(caller.Role), Key: caller.SigningKey}
	grant, err := c.server.options.Pairing.IssueRefresh(c.ctx, channel, by, c.server.options.Now())
	if err == nil {
		c.setExpiry(time.Unix(int64(tokenClaims(token).Expires), 0))
	}
	return next, caller, grant, err
}

type plainClaims struct {
	Expires float64 `json:"exp"`
}

// tokenClaims reads the claims of a token without verifying them.
func tokenClaims(token string) (claims plainClaims) {
	parts := strings.Split(token, ".")
	if len(parts) == 3 {
		if payload, err := base64.RawURLEncoding.DecodeString(parts[1]); err == nil {
			_ = json.Unmarshal(payload, &claims) // what is wrong is refused by the API
		}
	}
	return claims
}

func (c *connection) setIdentity(i *identity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.identity = i
}

func (c *connection) setExpiry(at time.Time) {
	if c.expiry != nil {
		c.expiry.Stop()
	}
	c.expiry = time.AfterFunc(at.Sub(c.server.options.Now()), func() { c.end(closedRevoked, "the credential has expired") })
}

// adopt puts an identity in force.
func (c *connection) adopt(next *identity, caller *operation.Caller) error {
	next.ownsGlobal = caller.OwnsGlobal()
	if next.pairing.Family != "" && c.expiry != nil {
		c.expiry.Stop()
	}
	if c.identity != nil && (c.identity.channel != next.channel || c.identity.ownsGlobal && !next.ownsGlobal) {
		c.closeSubscriptions()
		c.unwatch()
	}
	if !next.server {
		c.endMatchFeeds()
	}
	c.setIdentity(next)
	c.caller, c.failures = caller, 0
	c.socket.SetReadLimit(contract.MaxGameMessage + 1) // receive refuses more with a reason
	c.server.strangers.remove(c)
	if next.pairing.Family == "" {
		return nil
	}
	return c.watchPairing()
}

// countFailure closes the connection of a client that guesses credentials, or that has many
// requests refused before it authenticates.
func (c *connection) countFailure(credential bool) {
	if credential {
		c.failures++
	} else {
		c.refused++
	}
	admitted := !credential || !c.client.IsValid() || c.server.admitGuess(c.extension.ClientID, c.client)
	if c.failures < contract.MaxGuesses && c.refused < contract.MaxRefused && admitted {
		return
	}
	wait := time.NewTimer(contract.GuessDelay)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-c.ctx.Done():
	}
	c.end(websocket.StatusPolicyViolation, "too many refused requests")
}

// recheck closes the connection of a credential that is no longer in force: its key or its
// extension has been removed, or its pairing has ended. A store that does not answer ends
// nothing.
func (c *connection) recheck() {
	c.mu.Lock()
	authenticated := c.identity != nil
	c.mu.Unlock()
	if !authenticated {
		return
	}
	header, err := c.credential()
	if err == nil {
		var caller *operation.Caller
		if caller, err = c.identifyCaller(header); err == nil && !caller.IsStaff() {
			err = fault.New(fault.Unauthenticated, "the role is no game's")
		}
	}
	if fault.KindOf(err) == fault.Unauthenticated {
		c.end(closedRevoked, "the credential has ended")
	}
}
