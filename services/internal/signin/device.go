package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Refusal is why the device flow (RFC 8628) does not sign a person in, as a code of OAuth.
type Refusal string

// The refusals. A sign-in that is Pending, and one of an issuer that is Unreached, may succeed later.
const (
	Pending   Refusal = "authorization_pending"
	SlowDown  Refusal = "slow_down"
	Denied    Refusal = "access_denied"
	Expired   Refusal = "expired_token"
	Unoffered Refusal = "unsupported_grant_type"
	Unreached Refusal = "temporarily_unavailable"
)

// Error implements error.
func (r Refusal) Error() string { return string(r) }

// DeviceFlow is a sign-in that a person finishes in any browser, with the user code. The device code is a
// secret of the terminal.
type DeviceFlow struct {
	UserCode, DeviceCode string
	// VerificationURI is the page that takes the user code. VerificationURIComplete has it already; it may be empty.
	VerificationURI, VerificationURIComplete string
	// Interval is the time between two attempts to finish, Lifetime that of both codes.
	Interval, Lifetime time.Duration
}

const (
	deviceGrant    = "urn:ietf:params:oauth:grant-type:device_code"
	deviceInterval = 5 * time.Second // of issuers that name none
)

// BeginDevice returns the codes of a new sign-in. The error is a [Refusal].
func (c *Client) BeginDevice(ctx context.Context, i Issuer) (flow DeviceFlow, err error) {
	config, _, err := c.discoverDevices(ctx, i)
	if err != nil {
		return flow, err
	}
	if config.Endpoint.DeviceAuthURL == "" {
		return flow, fmt.Errorf("%w: the issuer has no device_authorization_endpoint", Unoffered)
	}
	begun, err := c.authorizeDevice(ctx, i, config)
	if err != nil {
		return flow, err
	}
	flow = DeviceFlow{
		UserCode: begun.UserCode, DeviceCode: begun.DeviceCode, VerificationURI: begun.VerificationURI,
		VerificationURIComplete: begun.VerificationURIComplete, Interval: deviceInterval, Lifetime: begun.Expiry.Sub(c.now()),
	}
	if begun.Interval > 0 {
		flow.Interval = time.Duration(begun.Interval) * time.Second
	}
	if flow.UserCode == "" || flow.DeviceCode == "" || !isPage(flow.VerificationURI) || flow.Lifetime <= 0 {
		return DeviceFlow{}, fmt.Errorf("%w: the issuer's answer lacks a code, a page or a time", Unreached)
	}
	if !isPage(flow.VerificationURIComplete) {
		flow.VerificationURIComplete = ""
	}
	return flow, nil
}

// authorizeDevice asks the issuer for the codes, as the client. The library authenticates the client at the
// token endpoint alone. The secret is in the header where that is possible: dex writes one in the body into the
// address of its next page.
func (c *Client) authorizeDevice(ctx context.Context, i Issuer, config *oauth2.Config) (*oauth2.DeviceAuthResponse, error) {
	client, parameters := *c.http, []oauth2.AuthCodeOption(nil)
	switch {
	case config.Endpoint.AuthStyle == oauth2.AuthStyleInHeader:
		client.Transport = clientTransport{client.Transport, i}
	case i.ClientSecret != "":
		parameters = append(parameters, oauth2.SetAuthURLParam("client_secret", i.ClientSecret))
	}
	begun, err := config.DeviceAuth(oidc.ClientContext(ctx, &client), parameters...)
	switch {
	case isRefused(err):
		return nil, fmt.Errorf("%w: %w", Unoffered, issuerError{err})
	case err != nil:
		return nil, fmt.Errorf("%w: %w", Unreached, issuerError{err})
	}
	return begun, nil
}

// FinishDevice asks the issuer once for a device code, and returns the claims of the person who has signed
// in. An error that is no [Refusal] ends the sign-in.
func (c *Client) FinishDevice(ctx context.Context, i Issuer, deviceCode string) (Claims, error) {
	config, provider, err := c.discoverDevices(ctx, i)
	if err != nil {
		return nil, err
	}
	// DeviceAccessToken of the library would wait and ask again, and hold the request for as long.
	tokens, err := config.Exchange(oidc.ClientContext(ctx, c.http), "", oauth2.SetAuthURLParam("grant_type", deviceGrant),
		oauth2.SetAuthURLParam("device_code", deviceCode), oauth2.SetAuthURLParam("client_id", i.ClientID))
	if err == nil {
		claims, _, err := c.identify(ctx, i, provider, tokens)
		return claims, err
	}
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		if code := Refusal(answer.ErrorCode); slices.Contains([]Refusal{Pending, SlowDown, Denied, Expired}, code) {
			return nil, code
		}
	}
	if isRefused(err) {
		return nil, issuerError{err}
	}
	return nil, fmt.Errorf("%w: %w", Unreached, issuerError{err})
}

// isRefused reports whether an issuer has understood a request and refuses it.
func isRefused(err error) bool {
	answer, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return false
	}
	status := answer.Response.StatusCode
	return status < http.StatusInternalServerError && status != http.StatusTooManyRequests
}

func isPage(address string) bool {
	at, err := url.Parse(address)
	return err == nil && (at.Scheme == "https" || at.Scheme == "http") && at.Host != ""
}

// discoverDevices is discover for the device flow.
func (c *Client) discoverDevices(ctx context.Context, i Issuer) (*oauth2.Config, *oidc.Provider, error) {
	config, provider, err := c.discover(ctx, i)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", Unreached, err)
	}
	config.RedirectURL = "" // no browser comes back
	return config, provider, nil
}

// clientTransport authenticates the program as a client of the issuer (RFC 6749, section 2.3.1).
type clientTransport struct {
	http.RoundTripper
	issuer Issuer
}

// RoundTrip implements [http.RoundTripper].
func (t clientTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.SetBasicAuth(url.QueryEscape(t.issuer.ClientID), url.QueryEscape(t.issuer.ClientSecret))
	return t.RoundTripper.RoundTrip(r)
}
