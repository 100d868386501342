package gamelink

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/pairing"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// identity is the side that a connection speaks for.
type identity struct {
	channel string
	role    string // of the credential that the rights come from
	family  string // empty: those of jwt alone
	jwt     string
	issued  time.Time // of jwt, where it has a family
}

// isServer reports whether the connection may do what only servers may.
func (i *identity) isServer() bool { return i != nil && (i.role == "admin" || i.role == "backend") }

// authentication is the data of the answer to authenticate. Every member is always there.
type authentication struct {
	JWT     string `json:"jwt"`
	Refresh string `json:"refresh"`
	Name    string `json:"twitch_name"`
	ID      string `json:"twitch_id"`
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
	if i.family != "" && c.server.options.Now().Sub(i.issued) > pairing.TokenLifetime/2 {
		token, err := c.issue(i.channel, i.family)
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
	c.mu.Lock()
	server := c.identity.isServer()
	c.mu.Unlock()
	if !server {
		return "", errNotServer()
	}
	token, err := c.issue(channel, "")
	return c.extension.ClientID + " " + token, err
}

// issue returns a token of a broadcaster that hangs on a family.
func (c *connection) issue(channel, family string) (string, error) {
	now := c.server.options.Now()
	secret, ok := c.extension.SigningSecret(c.server.options.Environment, now)
	if !ok {
		return "", fault.New(fault.Invalid, "The extension has no active secret")
	}
	return sandbox.IssueToken(sandbox.Grant{
		ExtensionID: c.extension.ClientID, Stage: string(c.server.options.Environment),
		Role: "broadcaster", ChannelID: channel, UserID: channel, OpaqueID: sandbox.UserOpaqueID(channel),
		Family: family, Lifetime: pairing.TokenLifetime,
	}, secret.Value, now)
}

// authenticate replaces the identity. Failures that are not the client's close the connection:
// after any error the Unity client forgets its refresh token.
func (c *connection) authenticate(r *gameRequest) (any, error) {
	d := r.data
	id, pin, refresh, token := d.text("client_id"), d.text("pin"), d.text("refresh"), d.text("jwt")
	if len(d.text("game_id")) > 256 || d.err != nil {
		return nil, errors.Join(d.err, fault.New(fault.Invalid, "game_id is too long"))
	}
	if named, ok := c.server.find(id); !ok || named.ClientID != c.extension.ClientID {
		return nil, fault.New(fault.Invalid, "client_id is not the extension of the address")
	}
	next, grant, err := c.identify(pin, refresh, token)
	if err == nil {
		err = c.adopt(next)
	}
	if err != nil {
		return nil, c.failAuthentication(err)
	}
	return authentication{next.jwt, grant.Refresh, next.channel, next.channel}, nil
}

// identify returns the identity of the first credential that is not empty, and a refresh token.
func (c *connection) identify(pin, refresh, token string) (next *identity, grant pairing.Grant, err error) {
	now := c.server.options.Now()
	switch {
	case pin != "":
		grant, err = c.server.options.Pairing.UsePIN(c.ctx, c.owner(), pin, now)
		if fault.KindOf(err) == fault.Invalid {
			c.countWrongPIN()
		}
	case refresh != "":
		grant, err = c.server.options.Pairing.UseRefresh(c.ctx, c.owner(), refresh, now)
	case token != "":
		return c.authenticateToken(token)
	default:
		err = fault.New(fault.Invalid, "pin, refresh and jwt are all missing")
	}
	if err != nil {
		return nil, grant, err
	}
	next = &identity{channel: grant.Channel, role: grant.Role, family: grant.Family, issued: now}
	next.jwt, err = c.issue(grant.Channel, grant.Family)
	return next, grant, err
}

// failAuthentication returns the client's error, and closes the connection after any other.
func (c *connection) failAuthentication(err error) error {
	if errorEntry(err).Status >= 429 {
		c.end(websocket.StatusTryAgainLater, "try again later")
	}
	return err
}

// authenticateToken returns the identity of a JWT, which the API verifies.
func (c *connection) authenticateToken(token string) (*identity, pairing.Grant, error) {
	before := c.identity
	claims := tokenClaims(token)
	next := &identity{jwt: token, channel: claims.Channel, role: claims.Role}
	c.setIdentity(next)
	_, err := c.call(context.WithValue(c.ctx, verifying{}, true), "GET", "/user_info", nil)
	c.setIdentity(before)
	if err != nil {
		if isStatus(err, 401) || isStatus(err, 403) {
			err = fault.New(fault.Invalid, "The JWT is invalid or has expired")
		}
		return nil, pairing.Grant{}, err
	}
	if claims.Family != "" { // the token of a game that showed its PIN names no channel
		channel := pairing.Channel{Owner: c.owner(), ID: claims.Channel}
		if claims.Channel, err = c.server.options.Pairing.Resolve(c.ctx, channel, claims.Family); err != nil {
			return nil, pairing.Grant{}, err
		}
		next.channel = claims.Channel
	}
	grant := pairing.Grant{Channel: claims.Channel}
	if claims.Role == "broadcaster" || next.isServer() {
		if claims.Channel == "" {
			return nil, grant, fault.New(fault.Invalid, "The JWT names no channel")
		}
		channel := pairing.Channel{Owner: c.owner(), ID: claims.Channel}
		if grant, err = c.server.options.Pairing.IssueRefresh(c.ctx, channel, claims.Role, c.server.options.Now()); err != nil {
			return nil, grant, err
		}
	} else {
		grant.Refresh = "none" // an empty one turns off reconnecting
	}
	c.setExpiry(time.Unix(int64(claims.Expires), 0))
	return next, grant, nil
}

// verifying marks the context of the request that verifies a JWT, whose refusal ends nothing.
type verifying struct{}

type plainClaims struct {
	Channel string  `json:"channel_id"`
	Role    string  `json:"role"`
	Family  string  `json:"pin_family"`
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
func (c *connection) adopt(next *identity) error {
	if next.family != "" && c.expiry != nil {
		c.expiry.Stop()
	}
	if c.identity != nil && c.identity.channel != next.channel {
		c.closeSubscriptions()
		c.unwatch()
	}
	if !next.isServer() {
		c.endMatchFeeds()
	}
	c.setIdentity(next)
	c.stranger.Release()
	if next.family == "" {
		return nil
	}
	return c.watchPairing()
}

// countWrongPIN closes the connection of a client that guesses.
func (c *connection) countWrongPIN() {
	c.wrong++
	admitted := !c.client.IsValid() || c.server.admitGuess(c.client)
	if c.wrong < 5 && admitted {
		return
	}
	wait := time.NewTimer(guessDelay)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-c.ctx.Done():
	}
	c.end(websocket.StatusPolicyViolation, "too many wrong PINs")
}
