package tenant

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// settings are the settings of an extension for one environment.
type settings struct {
	secrets   []Secret // newest first
	origins   originSet
	limits    Limits
	retention Retention
	sinks     []Sink
}

// overrideSettings returns base with what the block sets laid over it. Secrets and sinks are
// never those of base.
func (b environmentBlock) overrideSettings(base settings, owner string, report reportFunc) settings {
	base.secrets = decodeSecrets(b.Secrets, report)
	base.sinks = decodeSinks(b.Sinks, owner, report)
	base.limits = b.Limits.overrideLimits(base.limits, report.at("limits"))
	base.retention = b.Retention.overrideRetention(base.retention, report.at("retention"))
	for i, pattern := range b.AllowedOrigins {
		if err := checkOrigin(pattern); err != nil {
			report(fmt.Sprintf("allowedOrigins[%d]", i), "%v", err)
		}
	}
	if len(b.AllowedOrigins) > 0 {
		base.origins = newOrigins(b.AllowedOrigins)
	}
	return base
}

// decodeSecrets returns the secrets, the newest first.
func decodeSecrets(blocks []secretBlock, report reportFunc) []Secret {
	secrets := make([]Secret, 0, len(blocks))
	for i, block := range blocks {
		secret, err := block.decodeSecret()
		if err != nil {
			report(fmt.Sprintf("secrets[%d]", i), "%v", err)
			continue
		}
		secrets = append(secrets, secret)
	}
	slices.SortStableFunc(secrets, func(a, b Secret) int { return b.ActiveFrom.Compare(a.ActiveFrom) })
	return secrets
}

const (
	// shortKeyBytes is the length that HS256 asks for (RFC 7518, 3.2). A shorter key is
	// used and reported.
	shortKeyBytes = 32
)

// webhookPrefix may precede a secret, as Standard Webhooks writes those of webhooks.
const webhookPrefix = "whsec_"

// ParseSecret returns the secret that a text in base64 holds. Its errors never repeat the text.
func ParseSecret(text string) (Secret, error) { return secretBlock{Value: text}.decodeSecret() }

// decodeSecret returns the secret. Its errors never repeat what was written.
func (b secretBlock) decodeSecret() (Secret, error) {
	value, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(b.Value, webhookPrefix))
	if err != nil {
		return Secret{}, errors.New("is not base64")
	}
	switch {
	case len(value) == 0:
		return Secret{}, errors.New("is empty")
	case len(value) < contract.MinKeyBytes:
		return Secret{}, fmt.Errorf("is weak: it has less than %d bytes", contract.MinKeyBytes)
	}
	if b.ActiveFrom == "" {
		return newSecret(value, time.Time{}), nil
	}
	activeFrom, err := time.Parse(time.RFC3339, b.ActiveFrom)
	if err != nil {
		return Secret{}, errors.New("activeFrom is not an RFC 3339 time")
	}
	return newSecret(value, activeFrom), nil
}
