package signin

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/errgroup"
)

// The schedule on which the keys of an issuer are fetched, and limits of what it may have.
const (
	keyPeriod  = 10 * time.Minute
	keyRetry   = time.Minute    // after a failure
	keyLife    = 24 * time.Hour // of keys that could not be fetched again
	maxKeys    = 32
	maxFetches = 8 // at a time
	minRSABits = 2048
	maxRSABits = 8192
)

// Viewers verifies tokens that make people viewers. It holds the keys of issuers, which
// it fetches on a schedule: no token makes it ask an issuer. It takes from a token only who it is
// about and when it ends.
type Viewers struct {
	client *Client
	logger *slog.Logger

	mu      sync.RWMutex
	issuers map[string]issuerKeys // by URL
}

// issuerKeys are the keys of an issuer as they were last fetched.
type issuerKeys struct {
	set     *oidc.StaticKeySet // nil: they have never been fetched
	fetched time.Time
	due     time.Time // of the next attempt
}

// ErrNoKeys means that the keys of an issuer have not been fetched yet: a token may be good.
var ErrNoKeys = errors.New("the issuer's keys have not been fetched yet")

// NewViewers returns a verifier that knows no keys before its first [Viewers.Refresh].
func NewViewers(client *Client, logger *slog.Logger) *Viewers {
	return &Viewers{client: client, logger: logger, issuers: map[string]issuerKeys{}}
}

// Verify returns the subject of an issuer's token for an audience, and when the token ends. It makes no
// requests. Before the first keys of an issuer the error is ErrNoKeys.
func (v *Viewers) Verify(issuer, audience, token string) (subject string, expires time.Time, err error) {
	v.mu.RLock()
	keys := v.issuers[issuer]
	v.mu.RUnlock()
	if keys.set == nil {
		return "", expires, ErrNoKeys
	}
	if v.client.now().Sub(keys.fetched) > keyLife {
		return "", expires, errors.New("the issuer's keys are not known")
	}
	verifier := oidc.NewVerifier(issuer, keys.set, &oidc.Config{
		ClientID: audience, SupportedSigningAlgs: []string{oidc.RS256, oidc.EdDSA}, Now: v.client.now,
	})
	found, err := verifier.Verify(context.Background(), token) // which nothing waits for
	if err != nil {
		return "", expires, err
	}
	var claims Claims
	if err := found.Claims(&claims); err != nil {
		return "", expires, err
	}
	if party := claims.Text("azp"); found.Subject == "" || party != "" && party != audience {
		return "", expires, errors.New("the token names no person, or is another client's")
	}
	return found.Subject, found.Expiry, nil
}

// Refresh fetches the keys of the issuers that are due, and forgets those of all others. One goroutine
// calls it, again and again.
func (v *Viewers) Refresh(ctx context.Context, issuers []string) {
	now := v.client.now()
	var due []string
	v.mu.Lock()
	maps.DeleteFunc(v.issuers, func(issuer string, _ issuerKeys) bool { return !slices.Contains(issuers, issuer) })
	for _, issuer := range issuers {
		if !slices.Contains(due, issuer) && !now.Before(v.issuers[issuer].due) {
			due = append(due, issuer)
		}
	}
	v.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(maxFetches)
	for _, issuer := range due {
		group.Go(func() error { v.refresh(ctx, issuer, now); return nil })
	}
	_ = group.Wait() // failures are logged
}

// refresh fetches the keys of an issuer. After a failure those that are known stay.
func (v *Viewers) refresh(ctx context.Context, issuer string, now time.Time) {
	keys, err := v.client.fetchKeys(ctx, issuer)
	if ctx.Err() != nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	known := v.issuers[issuer]
	if err != nil {
		v.logger.Warn("the keys of an issuer of viewers were not fetched; those that are known stay for a day",
			"issuer", issuer, "error", issuerError{err}.Error())
		known.due = now.Add(keyRetry)
	} else {
		known = issuerKeys{&oidc.StaticKeySet{PublicKeys: keys}, now, now.Add(keyPeriod)}
	}
	v.issuers[issuer] = known
}

// fetchKeys returns the keys of an issuer that verify tokens.
func (c *Client) fetchKeys(ctx context.Context, issuer string) (usable []crypto.PublicKey, err error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, c.http), issuer)
	if err != nil {
		return nil, err
	}
	var described struct {
		KeysURL string `json:"jwks_uri"`
	}
	if err := provider.Claims(&described); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, described.KeysURL, nil)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the issuer answers %s for its keys", response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(&set); err != nil {
		return nil, fmt.Errorf("the issuer's keys: %w", err)
	}
	for _, raw := range set.Keys {
		var key jose.JSONWebKey // of a kind that is not known: it is another's
		if json.Unmarshal(raw, &key) == nil && verifies(key) {
			usable = append(usable, key.Key)
		}
	}
	if len(usable) == 0 || len(usable) > maxKeys {
		return nil, fmt.Errorf("the issuer has %d keys for RS256 and EdDSA, not 1 to %d", len(usable), maxKeys)
	}
	return usable, nil
}

// verifies reports whether a key is for signatures of RS256 or EdDSA. A key has one algorithm, and a
// symmetric key has none of them.
func verifies(key jose.JSONWebKey) bool {
	algorithm := ""
	switch public := key.Key.(type) {
	case *rsa.PublicKey:
		if bits := public.N.BitLen(); bits < minRSABits || bits > maxRSABits {
			return false
		}
		algorithm = oidc.RS256
	case ed25519.PublicKey:
		algorithm = oidc.EdDSA
	}
	return algorithm != "" && (key.Algorithm == "" || key.Algorithm == algorithm) && (key.Use == "" || key.Use == "sig")
}
