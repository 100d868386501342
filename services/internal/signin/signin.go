// Package signin signs people in with an OpenID Connect issuer: the code flow with PKCE, a state and a
// nonce, or the device flow for terminals. It asks the issuer, checks what it answers, and tells who the
// person is there.
//
// The package keeps nothing between the beginning of a sign-in and its end: the browser brings the
// [Flow] back, the terminal its device code. [Viewers] holds public keys of issuers and nothing else. The package knows no rights, no
// server and no store, and has no clock of its own.
package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Issuer names a place where people sign in, and this program's account there.
type Issuer struct {
	URL, ClientID, ClientSecret string
	// RedirectURL is the address to which the issuer sends the browser back.
	RedirectURL string
	// Scopes are those beside openid.
	Scopes []string
}

// Flow holds the secrets that a browser keeps while its person signs in.
type Flow struct{ State, Nonce, Verifier string }

// Claims are those of an identity token.
type Claims map[string]json.RawMessage

// Has reports whether a claim is the text, or a list that has it.
func (c Claims) Has(name, value string) bool {
	return value != "" && slices.Contains(c.texts(name), value)
}

// Text returns a claim that is a text, else "".
func (c Claims) Text(name string) (text string) {
	if json.Unmarshal(c[name], &text) != nil {
		return ""
	}
	return text
}

func (c Claims) texts(name string) (list []string) {
	if text := c.Text(name); text != "" {
		return []string{text}
	}
	if json.Unmarshal(c[name], &list) != nil {
		return nil
	}
	return list
}

// Limits of what an issuer may take.
const (
	maxAnswer = 1 << 20 // bytes
	maxReason = 300     // characters of an error
	timeout   = 10 * time.Second
)

// algorithms are those that sign identity tokens. They are asymmetric: the client's secret signs none.
func algorithms() []string { return []string{oidc.RS256, oidc.ES256, oidc.EdDSA} }

// Client asks issuers.
type Client struct {
	http *http.Client
	now  func() time.Time
}

// NewClient returns a client whose requests a transport carries. It follows no redirect.
func NewClient(transport http.RoundTripper, now func() time.Time) *Client {
	return &Client{now: now, http: &http.Client{
		Transport: boundedTransport{transport}, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("the issuer redirects") },
	}}
}

// boundedTransport cuts off answers that are too long.
type boundedTransport struct{ http.RoundTripper }

func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		res.Body = boundedBody{io.LimitReader(res.Body, maxAnswer), res.Body}
	}
	return res, err
}

type boundedBody struct {
	io.Reader
	io.Closer
}

// issuerError cuts off the text of an error, which may repeat a page of the issuer.
type issuerError struct{ error }

func (e issuerError) Error() string { return fmt.Sprintf("%.*s", maxReason, e.error) }
func (e issuerError) Unwrap() error { return e.error }

// Begin returns the address at the issuer to which the browser goes, and what it keeps meanwhile.
func (c *Client) Begin(ctx context.Context, i Issuer) (address string, flow Flow, err error) {
	config, _, err := c.discover(ctx, i)
	if err != nil {
		return "", flow, err
	}
	at, err := url.Parse(config.Endpoint.AuthURL)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" {
		return "", flow, errors.New("the issuer names no page to sign in")
	}
	flow = Flow{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	return config.AuthCodeURL(flow.State, oidc.Nonce(flow.Nonce), oauth2.S256ChallengeOption(flow.Verifier)), flow, nil
}

// Finish returns the claims of a person who comes back from the issuer with a state and a code, and the
// identity token that has them.
func (c *Client) Finish(ctx context.Context, i Issuer, flow Flow, state, code string) (claims Claims, raw string, err error) {
	if flow.State == "" || subtle.ConstantTimeCompare([]byte(state), []byte(flow.State)) != 1 {
		return nil, "", errors.New("the state is not that of the browser")
	}
	config, provider, err := c.discover(ctx, i)
	if err != nil {
		return nil, "", err
	}
	tokens, err := config.Exchange(oidc.ClientContext(ctx, c.http), code, oauth2.VerifierOption(flow.Verifier))
	if err != nil {
		return nil, "", issuerError{err}
	}
	claims, raw, err = c.identify(ctx, i, provider, tokens)
	if err != nil {
		return nil, "", err
	}
	if flow.Nonce == "" || subtle.ConstantTimeCompare([]byte(claims.Text("nonce")), []byte(flow.Nonce)) != 1 {
		return nil, "", errors.New("the nonce is not that of the browser")
	}
	return claims, raw, nil
}

// identify returns the claims of the person in an answer of the issuer, and the identity token that has
// them.
func (c *Client) identify(ctx context.Context, i Issuer, provider *oidc.Provider, tokens *oauth2.Token) (claims Claims, raw string, err error) {
	raw, _ = tokens.Extra("id_token").(string)
	ctx = oidc.ClientContext(ctx, c.http)
	verifier := provider.VerifierContext(ctx, &oidc.Config{ClientID: i.ClientID, SupportedSigningAlgs: algorithms(), Now: c.now})
	token, err := verifier.Verify(ctx, raw)
	if err != nil {
		return nil, "", issuerError{err}
	}
	if err := token.Claims(&claims); err != nil {
		return nil, "", err
	}
	if party := claims.Text("azp"); token.Subject == "" || party != "" && party != i.ClientID {
		return nil, "", errors.New("the token names no person, or is another client's")
	}
	claims.dropUnverifiedEmail()
	return claims, raw, nil
}

// dropUnverifiedEmail removes an address that the issuer says it has not verified: people can give
// one that is another's. Some issuers write the boolean as a text.
func (c Claims) dropUnverifiedEmail() {
	if verified, said := c["email_verified"]; said && strings.Trim(string(verified), `"`) != "true" {
		delete(c, "email")
	}
}

func (c *Client) discover(ctx context.Context, i Issuer) (*oauth2.Config, *oidc.Provider, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, c.http), i.URL)
	if err != nil {
		return nil, nil, issuerError{err}
	}
	endpoint := provider.Endpoint()
	if endpoint.AuthStyle, err = authStyle(i, provider); err != nil {
		return nil, nil, issuerError{err}
	}
	return &oauth2.Config{
		ClientID: i.ClientID, ClientSecret: i.ClientSecret, Endpoint: endpoint, RedirectURL: i.RedirectURL,
		Scopes: append([]string{oidc.ScopeOpenID}, i.Scopes...),
	}, provider, nil
}

// authStyle returns the way in which the client authenticates. The library, if it had to find out, would try
// both ways in turn after each refusal: the issuer would get a refused code twice, and count each attempt
// of a device whose sign-in is pending.
func authStyle(i Issuer, provider *oidc.Provider) (oauth2.AuthStyle, error) {
	var described struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := provider.Claims(&described); err != nil {
		return 0, err
	}
	if i.ClientSecret == "" || described.Methods != nil && !slices.Contains(described.Methods, "client_secret_basic") {
		return oauth2.AuthStyleInParams, nil
	}
	return oauth2.AuthStyleInHeader, nil
}
